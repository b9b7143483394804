import { type IsGone, type Lease, Leases } from '../kernel/leases';
import { OpenedOnce } from './opened-once';

/** Leases that are opened when they are first needed: most processes and threads never need them. */
export class LazyLeases extends Leases {
  readonly #leases: OpenedOnce<Leases>;

  constructor(open: () => Promise<Leases>) {
    super();
    this.#leases = new OpenedOnce(open);
  }

  async lease(...args: Parameters<Leases['lease']>): Promise<Lease | undefined> {
    return await (await this.#leases.open()).lease(...args);
  }

  async owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]> {
    return await (await this.#leases.open()).owners(prefix, now, ttl, isGone);
  }

  async release(lease: Lease): Promise<void> {
    await (await this.#leases.open()).release(lease);
  }

  async close(): Promise<void> {
    await this.#leases.close((leases) => leases.close());
  }
}
