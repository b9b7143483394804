import { type estypes } from '@elastic/elasticsearch';
import { EngineUnavailable } from '../../kernel/event-log';
import { isLeaseActive, type Lease } from '../../kernel/leases';
import { type Connection, type Request } from './connection';
import { NoSuchIndex, Refused } from './failure';

/** A lease, and the version that its next change must match. */
interface StoredLease {
  readonly lease: Lease;
  readonly version: { readonly if_seq_no: number; readonly if_primary_term: number };
}

/** The control index, for what has no generations: leases, and the counters of generation numbers. */
export class Control {
  private created: Promise<void> | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly index: string,
  ) {}

  /** A number greater than all before: the version of a document that is written for each and never deleted. */
  async nextNumber(collection: string): Promise<number> {
    await this.ensureIndex();
    const { _version: number } = await this.ask((client, options) =>
      client.index({ index: this.index, id: `generations of ${collection}`, document: {} }, options),
    );
    return number;
  }

  /** Optimistic locking: of several concurrent changes one succeeds, and the others read again. */
  async lease(name: string, owner: string, now: number, ttl: number): Promise<Lease | undefined> {
    await this.ensureIndex();
    for (;;) {
      const current = await this.read(name);
      if (current !== undefined && current.lease.owner !== owner && isLeaseActive(current.lease, now, ttl))
        return undefined;
      const lease = { name, owner, expires: now + ttl };
      if (await this.replace(current, lease)) return lease;
    }
  }

  async holder(name: string, now: number, ttl: number): Promise<string | undefined> {
    await this.ensureIndex();
    const lease = (await this.read(name))?.lease;
    return lease !== undefined && isLeaseActive(lease, now, ttl) ? lease.owner : undefined;
  }

  async release(lease: Lease): Promise<void> {
    await this.ensureIndex();
    const current = await this.read(lease.name);
    if (current?.lease.owner !== lease.owner || current.lease.expires !== lease.expires) return;
    // On a conflict, the lease was renewed or acquired by another owner meanwhile: leave it.
    await this.replace(current, { ...lease, expires: 0 });
  }

  private async read(name: string): Promise<StoredLease | undefined> {
    try {
      const { _source, _seq_no, _primary_term } = await this.ask((client, options) =>
        client.get<Lease>({ index: this.index, id: idOf(name) }, options),
      );
      if (_source === undefined || _seq_no === undefined || _primary_term === undefined) return undefined;
      return { lease: _source, version: { if_seq_no: _seq_no, if_primary_term: _primary_term } };
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return undefined;
      throw error;
    }
  }

  /** False if the lease has changed since `current` was read. */
  private async replace(current: StoredLease | undefined, lease: Lease): Promise<boolean> {
    const version: Partial<estypes.IndexRequest> = current?.version ?? { op_type: 'create' };
    try {
      await this.ask((client, options) =>
        client.index({ index: this.index, id: idOf(lease.name), document: lease, ...version }, options),
      );
      return true;
    } catch (error) {
      if (error instanceof Refused && error.status === 409) return false;
      throw error;
    }
  }

  /** If the index was removed, the next call creates it again. */
  private async ask<Answer>(request: Request<Answer>): Promise<Answer> {
    try {
      return await this.connection.ask(request);
    } catch (error) {
      if (!(error instanceof NoSuchIndex)) throw error;
      this.created = undefined;
      throw new EngineUnavailable('the read store is not available: its index of leases has been removed');
    }
  }

  private ensureIndex(): Promise<void> {
    this.created ??= this.create().catch((error: unknown) => {
      this.created = undefined;
      throw error;
    });
    return this.created;
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
