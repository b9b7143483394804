import { type estypes } from '@elastic/elasticsearch';
import { EngineUnavailable } from '../../kernel/event-log';
import { isLeaseActive, type Lease } from '../../kernel/read-store';
import { type Connection, type Request } from './connection';
import { NoSuchIndex, Refused } from './failure';

/** A lease as it is kept, and what its next change has to name. */
interface Held {
  readonly lease: Lease;
  readonly seen: { readonly if_seq_no: number; readonly if_primary_term: number };
}

/** The small index of what has no generations: leases, and the numbers that generations are given. */
export class Control {
  private made: Promise<void> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly index: string,
  ) {}

  /** A number greater than all before: how often an entry has been written, which is never removed. */
  async nextNumber(collection: string): Promise<number> {
    await this.make();
    const { _version: version } = await this.ask((client, options) =>
      client.index({ index: this.index, id: `generations of ${collection}`, document: {} }, options),
    );
    return version;
  }

  /** Each change names what it has seen: of several at once, one succeeds, and the others look again. */
  async lease(name: string, owner: string, now: number, ttl: number): Promise<Lease | undefined> {
    await this.make();
    for (;;) {
      const held = await this.read(name);
      if (held !== undefined && held.lease.owner !== owner && isLeaseActive(held.lease, now, ttl))
        return undefined;
      const lease = { name, owner, expires: now + ttl };
      if (await this.replace(held, lease)) return lease;
    }
  }

  async holder(name: string, now: number, ttl: number): Promise<string | undefined> {
    await this.make();
    const lease = (await this.read(name))?.lease;
    return lease !== undefined && isLeaseActive(lease, now, ttl) ? lease.owner : undefined;
  }

  async release(lease: Lease): Promise<void> {
    await this.make();
    const held = await this.read(lease.name);
    if (held?.lease.owner !== lease.owner || held.lease.expires !== lease.expires) return;
    // Who has changed it meanwhile has taken it, or renewed it and means to keep it.
    await this.replace(held, { ...lease, expires: 0 });
  }

  private async read(name: string): Promise<Held | undefined> {
    try {
      const { _source, _seq_no, _primary_term } = await this.ask((client, options) =>
        client.get<Lease>({ index: this.index, id: idOf(name) }, options),
      );
      if (_source === undefined || _seq_no === undefined || _primary_term === undefined) return undefined;
      return { lease: _source, seen: { if_seq_no: _seq_no, if_primary_term: _primary_term } };
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return undefined;
      throw error;
    }
  }

  /** False when it has been changed since it was read. */
  private async replace(held: Held | undefined, lease: Lease): Promise<boolean> {
    const seen: Partial<estypes.IndexRequest> = held?.seen ?? { op_type: 'create' };
    try {
      await this.ask((client, options) =>
        client.index({ index: this.index, id: idOf(lease.name), document: lease, ...seen }, options),
      );
      return true;
    } catch (error) {
      if (error instanceof Refused && error.status === 409) return false;
      throw error;
    }
  }

  /** Should somebody have removed the index, it is made again next time. */
  private async ask<Answer>(request: Request<Answer>): Promise<Answer> {
    try {
      return await this.connection.ask(request);
    } catch (error) {
      if (!(error instanceof NoSuchIndex)) throw error;
      this.made = undefined;
      throw new EngineUnavailable('the read store is not available: its index of leases has been removed');
    }
  }

  private make(): Promise<void> {
    this.made ??= this.create().catch((error: unknown) => {
      this.made = undefined;
      throw error;
    });
    return this.made;
  }

  private async create(): Promise<void> {
    const settings = { number_of_shards: 1, auto_expand_replicas: '0-1' };
    try {
      await this.connection.ask((client, options) =>
        client.indices.create({ index: this.index, settings, mappings: { dynamic: false } }, options),
      );
    } catch (error) {
      if (!(error instanceof Refused) || error.type !== 'resource_already_exists_exception') throw error;
    }
  }
}

function idOf(lease: string): string {
  return `lease ${lease}`;
}
