import { setImmediate as nextRound } from 'node:timers/promises';
import { type estypes } from '@elastic/elasticsearch';
import { type Position, START } from '../../kernel/event';
import { EngineUnavailable } from '../../kernel/event-log';
import { isLeaseActive, type Lease, Watch } from '../../kernel/leases';
import {
  type ElasticConnection,
  failureOf,
  type IndexContext,
  NoSuchIndex,
  RefusedRequest,
  type Request,
} from './connection';
import { type Clock } from '../../runtime/clock';
import { batchesOf } from '../../runtime/concurrency';
import { type Write } from '../../kernel/read-store';
import { nameOf } from './layout';

/** The end of a lease that was released. */
const RELEASED = 0;

/** A lease, and the version that its next change must match. */
interface StoredLease {
  readonly lease: Lease;
  readonly version: { readonly if_seq_no: number; readonly if_primary_term: number };
}

/** The control index, for what has no generations: leases, and the counters of generation numbers. */
export class Control {
  private created: Promise<void> | undefined;
  /** Leases by the versions of their documents: the system clocks of machines say nothing about each other. */
  private readonly watch: Watch<string>;

  constructor(
    private readonly connection: ElasticConnection,
    private readonly index: string,
    private readonly clock: Clock,
  ) {
    this.watch = new Watch(() => clock.monotonic());
  }

  /** A number greater than all before: the version of a document that is written for each and never deleted. */
  async nextNumber(collection: string): Promise<number> {
    await this.ensureIndex();
    const { _version: number } = await this.ask((client, options) =>
      client.index({ index: this.index, id: `generations of ${collection}`, document: {} }, options),
    );
    return number;
  }

  /** Optimistic locking: of several concurrent changes one succeeds, and the others read again. */
  async lease(name: string, owner: string, now: () => number, ttl: number): Promise<Lease | undefined> {
    await this.ensureIndex();
    for (;;) {
      const current = await this.look(name);
      const { lease: { owner: holder, expires } = { owner, expires: RELEASED } } = current ?? {};
      if (holder !== owner && expires !== RELEASED && this.watch.unchangedMs(name) < ttl) return undefined;
      const lease = { name, owner, expires: now() + ttl };
      if (await this.replace(current, lease)) return lease;
    }
  }

  async holder(name: string, now: number, ttl: number): Promise<string | undefined> {
    await this.ensureIndex();
    const lease = (await this.look(name))?.lease;
    if (lease === undefined || lease.expires === RELEASED) return undefined;
    // Until it was seen to be renewed, the clock of its owner is all there is.
    const isRenewed = this.watch.hasChanged(name);
    const isActive = isRenewed ? this.watch.unchangedMs(name) < ttl : isLeaseActive(lease, now, ttl);
    return isActive ? lease.owner : undefined;
  }

  async release(lease: Lease): Promise<void> {
    await this.ensureIndex();
    const current = await this.read(lease.name);
    if (current?.lease.owner !== lease.owner || current.lease.expires !== lease.expires) return;
    // On a conflict, the lease was renewed or acquired by another owner meanwhile: leave it.
    await this.replace(current, { ...lease, expires: RELEASED });
  }

  private async look(name: string): Promise<StoredLease | undefined> {
    const asked = this.clock.monotonic();
    const current = await this.read(name);
    if (current !== undefined) this.watch.saw(name, JSON.stringify(current.version), asked);
    return current;
  }

  private async read(name: string): Promise<StoredLease | undefined> {
    try {
      const { _source, _seq_no, _primary_term } = await this.ask((client, options) =>
        client.get<Lease>({ index: this.index, id: idOf(name) }, options),
      );
      if (_source === undefined || _seq_no === undefined || _primary_term === undefined) return undefined;
      return { lease: _source, version: { if_seq_no: _seq_no, if_primary_term: _primary_term } };
    } catch (error) {
      if (error instanceof RefusedRequest && error.status === 404) return undefined;
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
      if (error instanceof RefusedRequest && error.status === 409) return false;
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
    const settings = { number_of_shards: 1, auto_expand_replicas: '0-1' };
    const request = { index: this.index, settings, mappings: { dynamic: false } };
    this.created ??= this.connection.createIndex(request).catch((error: unknown) => {
      this.created = undefined;
      throw error;
    });
    return this.created;
  }
}

function idOf(lease: string): string {
  return `lease ${lease}`;
}

/** A request about to be sent, and the answer to each of its items. */
interface PendingRequest<Item, Answer> {
  readonly items: Item[];
  readonly answers: Promise<readonly (Answer | Error)[]>;
}

/** Sends what is asked in the same round of the event loop as one request. */
class SharedRequests<Item, Answer> {
  /** By `retryMs`. */
  private readonly pending = new Map<number, PendingRequest<Item, Answer>>();

  /**
   * `send` answers each item, or returns why it failed. For a single item, it raises failures that are to be retried.
   */
  constructor(
    private readonly send: (items: readonly Item[], retryMs: number) => Promise<readonly (Answer | Error)[]>,
  ) {}

  async ask(item: Item, retryMs: number): Promise<Answer> {
    const { items, answers } = this.pending.get(retryMs) ?? this.enqueue(retryMs);
    const at = items.push(item) - 1;
    const answer = (await answers)[at] as Answer | Error;
    if (!(answer instanceof Error)) return answer;
    if (answer instanceof NoSuchIndex) throw answer;
    // Retried alone, so that the others need not wait for it.
    const [alone] = (await this.send([item], retryMs)) as [Answer | Error];
    if (alone instanceof Error) throw alone;
    return alone;
  }

  private enqueue(retryMs: number): PendingRequest<Item, Answer> {
    const items: Item[] = [];
    const answers = nextRound().then(() => {
      this.pending.delete(retryMs);
      return this.send(items, retryMs);
    });
    const pending = { items, answers };
    this.pending.set(retryMs, pending);
    return pending;
  }
}

/** A checkpoint. No document was written after `written`. */
interface StoredCheckpoint {
  readonly position: Position;
  readonly written: Position;
}

/** Indices per request: their names are in one line of HTTP, which may have 4,096 bytes. */
const REFRESHED = 20;

/**
 * Reads and writes checkpoints, and refreshes up to them, several read models in one request: waiting for a position
 * polls and refreshes all of them, and most events move all of them, but write documents of few.
 */
export class Checkpoints {
  private readonly reads = new SharedRequests((aliases: readonly string[], retryMs) =>
    this.read(aliases, retryMs),
  );
  private readonly writes = new SharedRequests(
    (checkpoints: readonly (StoredCheckpoint & { readonly alias: string })[], retryMs) =>
      this.store(checkpoints, retryMs),
  );
  private readonly refreshes = new SharedRequests((aliases: readonly string[], retryMs) =>
    this.refreshAll(aliases, retryMs),
  );
  /** By alias: the last checkpoint that was written with documents, unless others have been written since. */
  private readonly written = new Map<string, Position>();
  /** By alias: the checkpoint that was read last, and its index. */
  private readonly seen = new Map<string, StoredCheckpoint & { readonly index: string }>();
  /** By index: up to which `written` its documents are visible. */
  private readonly visible = new Map<string, Position>();

  constructor(private readonly connection: ElasticConnection) {}

  /** How far the log has been projected; undefined if not at all. */
  async of({ alias, retryMs }: IndexContext): Promise<Position | undefined> {
    const found = await this.reads.ask(alias, retryMs);
    if (found !== undefined) this.seen.set(alias, found);
    return found?.position;
  }

  /** Call it before documents are written. */
  writesDocuments({ alias }: IndexContext): void {
    this.written.delete(alias);
  }

  /** `isAlone`: no documents are written with it. */
  async write({ alias, retryMs }: IndexContext, position: Position, isAlone: boolean): Promise<void> {
    const written = isAlone ? (this.written.get(alias) ?? position) : position;
    await this.writes.ask({ alias, position, written }, retryMs);
    this.written.set(alias, written);
  }

  /** `upTo`: a position up to which documents are written, with the checkpoint of the last one. */
  async refresh(context: IndexContext, upTo?: Position): Promise<void> {
    const { alias, retryMs } = context;
    if (upTo !== undefined && (this.seen.get(alias)?.position ?? START) < upTo) await this.of(context);
    const seen = this.seen.get(alias);
    const { index = '', written = START } = seen ?? {};
    const isVisible = (this.visible.get(index) ?? '') >= written;
    if (upTo !== undefined && isVisible) return;
    await this.refreshes.ask(alias, retryMs);
    if (seen !== undefined && !isVisible) this.visible.set(index, written);
  }

  private async read(
    aliases: readonly string[],
    retryMs: number,
  ): Promise<readonly ((StoredCheckpoint & { readonly index: string }) | undefined | Error)[]> {
    const request = {
      docs: aliases.map((alias) => ({ _index: alias, _id: CHECKPOINT })),
      // With the id, so that no entry of the list is empty and omitted.
      filter_path: ['docs._id', 'docs._index', 'docs._source', 'docs.error'],
    };
    return await this.connection.ask(async (client, options) => {
      const { docs } = await client.mget<CheckpointEntry>(request, options);
      return docs.map((entry) => {
        if ('error' in entry)
          return raisedAlone(failureOf({ status: 500, type: entry.error.type, reason: '' }), aliases);
        if (entry._source === undefined) return undefined;
        const { version: position, body: written = position } = entry._source;
        return { index: entry._index, position, written };
      });
    }, retryMs);
  }

  private async refreshAll(
    aliases: readonly string[],
    retryMs: number,
  ): Promise<readonly (undefined | Error)[]> {
    const all = [...new Set(aliases)];
    try {
      for (let at = 0; at < all.length; at += REFRESHED) {
        const index = all.slice(at, at + REFRESHED);
        await this.connection.ask((client, options) => client.indices.refresh({ index }, options), retryMs);
      }
      return aliases.map(() => undefined);
    } catch (error) {
      // One of several does not exist, it is not known which: each is refreshed alone.
      if (error instanceof NoSuchIndex && all.length > 1) return aliases.map(() => new Error(error.message));
      throw error;
    }
  }

  private async store(
    checkpoints: readonly (StoredCheckpoint & { readonly alias: string })[],
    retryMs: number,
  ): Promise<readonly (undefined | Error)[]> {
    const operations = checkpoints.flatMap(({ alias, ...checkpoint }) => checkpointIn(alias, checkpoint));
    return await this.connection.ask(async (client, options) => {
      const failures = await bulkFailures(client.bulk(bulkOf(operations), options));
      return checkpoints.map((_, at) => failures[at] && raisedAlone(failures[at], checkpoints));
    }, retryMs);
  }
}

/** The failure of one of several items; raises that of a single one, unless its index does not exist. */
function raisedAlone(failure: Error, items: readonly unknown[]): Error {
  if (failure instanceof NoSuchIndex || items.length > 1) return failure;
  throw failure;
}

/**
 * Limits of one bulk request: documents, characters. Requests are sent one after the other, and the next is prepared
 * while the server works on one. Measured: two at a time leave the server twice as many segments to merge and cost half
 * as much again; requests of a quarter of the size cost a fifth more, as each waits for the disk.
 */
const BULK = { count: 1_000, size: 4_000_000 } as const;

/** The name of the checkpoint's entry; `nameOf` never returns it. */
const CHECKPOINT = 'checkpoint';

/** One operation of a bulk request, as its two lines. */
type BulkOperation = readonly [action: string, source: string];

/**
 * Writes a batch. Each operation uses its log position as external version, so the order and
 * repetition of writes do not matter, and a version conflict counts as success.
 *
 * A removal writes a tombstone, an entry that no query finds, for the lifetime of the generation. The server itself
 * would forget the version of a deletion after a minute or at a restart, and an older write would undo the deletion. A
 * removal that may be forgotten is remembered here too.
 */
export async function writeBatch(context: IndexContext, writes: readonly Write[]): Promise<void> {
  const { layout } = context;
  const newest = new Map<string, Write>();
  for (const write of writes) {
    if ('put' in write) layout.check(write.put);
    const id = 'put' in write ? write.put.id : write.remove;
    if (write.version >= (newest.get(id)?.version ?? '')) newest.set(id, write);
  }
  function* operations(): Generator<BulkOperation> {
    for (const [id, write] of newest)
      yield [
        action(nameOf(id), write.version),
        'put' in write ? layout.source(write.put, write.version) : tombstone(write.version),
      ];
  }
  let sending = Promise.resolve();
  for (const bulk of batchesOf(operations(), BULK, ([, source]) => source.length)) {
    await sending;
    sending = send(context, bulk);
    // A failure is raised by the `await` above or below. Neither is reached if preparing the next request fails.
    sending.catch(() => undefined);
  }
  await sending;
}

/** Versions exceed the integers of JavaScript, so their digits are written as text. */
function action(name: string, version: Position, index = ''): string {
  const digits = version.replace(/^0+(?=\d)/, '');
  return `{"index":{${index}"_id":${JSON.stringify(name)},"version":${digits},"version_type":"external_gte"}}`;
}

/** An entry without an id, which no query finds. */
function tombstone(version: Position): string {
  return JSON.stringify({ version });
}

/**
 * A checkpoint as an entry without an id, which no query finds. Other fields would need a mapping; former
 * programs wrote no `body`.
 */
interface CheckpointEntry {
  readonly version: Position;
  readonly body?: Position;
}

/** Stores a checkpoint in the index of an alias. */
function checkpointIn(alias: string, { position, written }: StoredCheckpoint): BulkOperation {
  const entry: CheckpointEntry = { version: position, body: written };
  return [action(CHECKPOINT, position, `"_index":${JSON.stringify(alias)},`), JSON.stringify(entry)];
}

/** Sends operations; retries only those that failed because the server is busy. */
async function send({ alias, ask }: IndexContext, operations: readonly BulkOperation[]): Promise<void> {
  let left = operations;
  await ask(async (client, options) => {
    const failed = await bulkFailures(client.bulk({ index: alias, ...bulkOf(left.flat()) }, options));
    if (failed.length === 0) return;
    left = left.filter((_, at) => failed[at] !== undefined);
    const failures = failed.filter((failure) => failure !== undefined);
    const worst = failures.find((failure) => !(failure instanceof EngineUnavailable)) ?? failures[0];
    if (worst !== undefined) throw worst;
  });
}

/** A bulk request. If an alias is gone, its generation was dropped: it is not recreated as an index. */
function bulkOf(operations: string[]): estypes.BulkRequest {
  return { require_alias: true, operations, filter_path: ['errors', 'items.*.status', 'items.*.error'] };
}

/** Why operations of a bulk request have failed, each at its place; empty if none has. */
async function bulkFailures(answer: Promise<estypes.BulkResponse>): Promise<readonly (Error | undefined)[]> {
  const { errors, items } = await answer;
  if (!errors) return [];
  return items.map(({ index }) => (isDone(index) ? undefined : failureOf(serverErrorOf(index))));
}

/** Written, or older than the stored version. */
function isDone(item: estypes.BulkResponseItem | undefined): boolean {
  return item !== undefined && (item.status < 300 || item.status === 409);
}

function serverErrorOf(item: estypes.BulkResponseItem | undefined): Parameters<typeof failureOf>[0] {
  const { status = 500, error } = item ?? {};
  return { status, type: error?.type ?? 'unknown', reason: error?.reason ?? 'no reason given' };
}
