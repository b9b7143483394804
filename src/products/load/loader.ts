import { randomUUID } from 'node:crypto';
import { type Position } from '../../kernel/event';
import { type Directory } from '../../directory/directory';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { type FeedImport } from '../feed';
import { type BodyFormat } from '../../wire/format';
import { type BodyReader } from './body';
import { type Tally } from './batch';
import { CLOSE_BYTES, FeedWriter } from './feed-writer';
import { type Feeds } from './feeds';
import { type Fingerprints } from './fingerprints';
import { JsonBody } from './json-body';
import { Receiver, type Validate } from './receiver';
import { type LoadFault } from './validate';
import { Spool } from './spool';
import { storeReceived } from './storing';
import { XmlBody } from './xml-body';

export interface LoadRequest {
  readonly feedId: number;
  readonly mode: FeedImport['mode'];
  readonly format: BodyFormat;
  /** What the caller knew of the directory is known to the check too. */
  readonly directoryPosition: Position;
}

/** What became of a load: everything but the products of `faults` is stored. */
export interface Loaded {
  readonly faults: readonly LoadFault[];
  /** Faults that are not listed any more. */
  readonly moreFaults: number;
  readonly position: Position;
  /** Product events appended. */
  readonly changes: number;
}

export interface LoaderOptions {
  readonly log: EventLog;
  readonly feeds: Feeds;
  /** Where bodies are held that are too large for memory. */
  readonly spoolFolder: string;
  readonly directory: Directory;
  /** Waits until the directory has seen a position; raises `EngineUnavailable` when that takes too long. */
  readonly reached: (position: Position) => Promise<unknown>;
  readonly now: () => Date;
  /** Reads products in other threads. */
  readonly validate?: Validate | undefined;
}

interface Load {
  readonly request: LoadRequest;
  readonly started: number;
  readonly spool: Spool;
  readonly receiver: Receiver;
  readonly reader: BodyReader;
}

/** Faults that an import's event names; the answer names more. */
const FAULTS_KEPT = 1000;
/** Most bytes of what else is in that event. */
const BESIDE_FAULTS = 2048;

/**
 * Loads bodies of posted products into feeds, and deletes products. A load is opened, given its body in chunks, and
 * finished; nothing is appended before that. Loads of one feed then take turns, those of different feeds go on side
 * by side. Bodies that cannot be read raise `PF_210`, engines that do not answer `EngineUnavailable`.
 */
export class Loader {
  /** Those that bodies are being received for. */
  private readonly loads = new Map<string, Load>();
  /** Those that are being stored. */
  private readonly storing = new Set<Promise<unknown>>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: LoaderOptions) {}

  /** Starts a load; its body comes by `write`. */
  async open(request: LoadRequest): Promise<string> {
    const { feeds, spoolFolder, validate } = this.options;
    await this.options.reached(request.directoryPosition);
    await feeds.warm(request.feedId);
    const spool = new Spool(spoolFolder);
    const prints = this.hintsOf(request.feedId);
    const { knowsCategory } = this;
    const receiver = new Receiver({ format: request.format, spool, prints, knowsCategory, validate });
    const reader = request.format === 'json' ? new JsonBody(receiver) : new XmlBody(receiver);
    const id = randomUUID();
    this.loads.set(id, { request, started: this.options.now().getTime(), spool, receiver, reader });
    return id;
  }

  /** Takes the next bytes of the body. */
  async write(id: string, chunk: Uint8Array): Promise<void> {
    await this.loadOf(id).reader.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  }

  /** The body is complete: decides and appends. */
  async finish(id: string): Promise<Loaded> {
    const load = this.loadOf(id);
    this.loads.delete(id);
    const stored = this.storeWhole(load);
    this.storing.add(stored);
    return await stored.finally(() => this.storing.delete(stored));
  }

  /** Forgets a load whose body has broken off. */
  async abort(id: string): Promise<void> {
    const load = this.loads.get(id);
    this.loads.delete(id);
    await load?.spool.close();
  }

  /** Deletes products of a feed (Document 1, Delete products); ids that are not there are passed over. */
  async remove(
    feedId: number,
    which: readonly string[] | 'all',
  ): Promise<{ position: Position; changes: number }> {
    return this.options.feeds.use(feedId, async (prints) => {
      const writer = this.writerFor(feedId, prints);
      for (const sourceProductId of which === 'all' ? prints.listedIds() : new Set(which)) {
        await writer.add({ kind: 'delisted', product: { sourceProductId } });
      }
      await writer.settle(({ removed }) => {
        if (removed === 0) return undefined;
        return { type: 'ProductsDeleted', data: { removed, at: this.options.now().toISOString() } };
      });
      const position = writer.position ?? (await this.options.log.head());
      return { position, changes: writer.tally.removed };
    });
  }

  /** Breaks loads off between two appends, and saves what makes the next start fast. */
  async close(): Promise<void> {
    this.stopping.abort();
    for (const id of [...this.loads.keys()]) await this.abort(id);
    await Promise.allSettled(this.storing);
    await this.options.feeds.close();
  }

  /** Fingerprints whose bytes would be taken today as they were then. */
  private hintsOf(feedId: number): Fingerprints | undefined {
    const prints = this.options.feeds.peek(feedId);
    return prints?.removals === this.options.directory.categories.removals ? prints : undefined;
  }

  private readonly knowsCategory = (id: string): boolean => this.options.directory.category(id) !== undefined;

  private async storeWhole(load: Load): Promise<Loaded> {
    try {
      load.reader.end();
      await load.receiver.complete();
      return await this.options.feeds.use(load.request.feedId, (prints) => this.store(load, prints));
    } finally {
      await load.spool.close();
    }
  }

  private async store(load: Load, prints: Fingerprints): Promise<Loaded> {
    const { request, receiver } = load;
    prints.forgetPostedBefore(this.options.directory.categories.removals);
    const writer = this.writerFor(request.feedId, prints);
    await storeReceived({ ...load, prints, writer }, request.mode);
    await writer.settle((tally) => ({ type: 'FeedImported', data: this.importOf(load, tally) }));
    const { new: listed, revised, repriced, removed } = writer.tally;
    return {
      faults: receiver.faults,
      moreFaults: receiver.moreFaults,
      position: writer.position ?? (await this.options.log.head()),
      changes: listed + revised + repriced + removed,
    };
  }

  private importOf(load: Load, tally: Tally): FeedImport {
    const { receiver, request, started } = load;
    const now = this.options.now();
    let room = CLOSE_BYTES - BESIDE_FAULTS;
    const faults = receiver.faults.slice(0, FAULTS_KEPT).map(({ code, message, sourceProductId }) => ({
      code,
      ...(sourceProductId === undefined ? {} : { sourceProductId }),
      message,
    }));
    const kept = faults.filter(
      (fault) => (room -= Buffer.byteLength(JSON.stringify(fault)) + ','.length) > 0,
    );
    const moreFaults = receiver.moreFaults + receiver.faults.length - kept.length;
    return {
      importId: randomUUID(),
      mode: request.mode,
      at: now.toISOString(),
      durationMs: now.getTime() - started,
      ...tally,
      refused: receiver.refused,
      faults: kept,
      ...(moreFaults === 0 ? {} : { moreFaults }),
    };
  }

  private writerFor(feedId: number, prints: Fingerprints): FeedWriter {
    return new FeedWriter(
      this.options.log,
      feedId,
      prints,
      this.options.now().toISOString(),
      this.stopping.signal,
    );
  }

  private loadOf(id: string): Load {
    const load = this.loads.get(id);
    if (load === undefined) throw new EngineUnavailable('the load was aborted');
    return load;
  }
}
