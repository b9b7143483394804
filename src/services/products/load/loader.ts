import { randomUUID } from 'node:crypto';
import { type Directory } from '../../../network/directory';
import { type Position } from '../../../kernel/event';
import { EngineUnavailable, type EventLog } from '../../../kernel/event-log';
import { type BodyFormat } from '../../../wire/api/format';
import { type FeedImport, isLargeRemoval, type Tally } from '../../../domain/products/feed';
import { appendBody } from './append/append-body';
import { CLOSE_BYTES, FeedWriter } from './append/feed-writer';
import { mappedIn } from './append/mapped-content';
import { type FingerprintCache } from './fingerprints/fingerprint-cache';
import { type Fingerprints } from '../../../domain/products/fingerprints';
import { JsonBody } from './ingest/json-body';
import { type LoadFault } from './ingest/load-faults';
import { ProductIntake, type Validate } from './ingest/product-intake';
import { Spool } from './ingest/spool';
import { XmlBody } from './ingest/xml-body';

export interface LoadRequest {
  readonly feedId: number;
  readonly mode: FeedImport['mode'];
  readonly format: BodyFormat;
  /** Validation uses a directory at least as current as this. */
  readonly directoryPosition: Position;
  /** Checks and counts everything, and stores nothing. */
  readonly dryRun?: boolean | undefined;
}

/** What a load or a deletion has done. */
export interface Loaded {
  /** Its id, as in the load report; absent if nothing was stored. */
  readonly loadId?: string;
  readonly counts: Tally & Pick<FeedImport, 'refused'>;
  readonly position: Position;
  /** Product events appended. */
  readonly changes: number;
}

/** The result of a load: everything but the products of `faults` is stored. */
export interface LoadResult extends Loaded {
  readonly faults: readonly LoadFault[];
  /** How many more faults there are. */
  readonly moreFaults: number;
  /** Names of the posted fields that were ignored. */
  readonly ignoredFields: readonly string[];
  /** As `FeedImport`. */
  readonly largeRemoval: boolean;
}

/** What a load uses until it has ended, in bytes, beside the chunks that are on their way to it. */
export interface LoadUse {
  readonly memory: number;
  /** On disk. */
  readonly space: number;
}

export interface LoaderOptions {
  readonly log: EventLog;
  readonly fingerprints: FingerprintCache;
  /** Where bodies are spooled that are too large for memory. */
  readonly spoolFolder: string;
  readonly directory: Directory;
  /** Waits until the directory has reached a position; raises `EngineUnavailable` after a timeout. */
  readonly reached: (position: Position) => Promise<unknown>;
  readonly now: () => Date;
  /** Validates in other threads. */
  readonly validate?: Validate | undefined;
}

interface Load {
  /** Also the id of the event that closes it. */
  readonly id: string;
  readonly request: LoadRequest;
  readonly started: number;
  readonly spool: Spool;
  readonly intake: ProductIntake;
  readonly body: JsonBody | XmlBody;
}

/** Faults in the event of a load; the answer lists more. */
const MAX_FAULTS_STORED = 1000;
/** Size limit of everything else in that event. */
const BESIDE_FAULTS = 2048;

/**
 * Loads bodies of posted products into feeds, and deletes products. A load is opened, written to in chunks, and
 * finished; nothing is appended before that. Loads of one feed are appended one after the other, those of different
 * feeds at a time. Raises `PF_210` for a malformed body, `EngineUnavailable` for an unavailable engine.
 */
export class Loader {
  /** Loads whose bodies are being received. */
  private readonly receiving = new Map<string, Load>();
  /** Loads that are being appended. */
  private readonly appending = new Set<Promise<unknown>>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: LoaderOptions) {}

  /** Starts a load; `write` takes its body. */
  async open(request: LoadRequest): Promise<string> {
    const { directory, fingerprints, now, reached, spoolFolder, validate } = this.options;
    const { feedId, format } = request;
    await reached(request.directoryPosition);
    await fingerprints.warm(feedId);
    const prints = (): Fingerprints | undefined => {
      const cached = fingerprints.peek(feedId);
      // Bytes posted before a category was removed might be refused today.
      return cached?.removals === directory.categories.removals ? cached : undefined;
    };
    const knowsCategory = (id: string): boolean => directory.category(id) !== undefined;
    const spool = new Spool(spoolFolder);
    const intake = new ProductIntake({ format, spool, prints, knowsCategory, validate });
    const body = format === 'json' ? new JsonBody(intake) : new XmlBody(intake);
    const id = randomUUID();
    this.receiving.set(id, { id, request, started: now().getTime(), spool, intake, body });
    return id;
  }

  /** Takes the next bytes of the body. */
  async write(id: string, chunk: Uint8Array): Promise<LoadUse> {
    const { body, intake, spool } = this.loadOf(id);
    body.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    await intake.ready();
    return { memory: intake.memory, space: spool.space };
  }

  /** The body is complete: decides and appends. */
  async finish(id: string): Promise<LoadResult> {
    const load = this.loadOf(id);
    this.receiving.delete(id);
    const result = this.finishLoad(load);
    this.appending.add(result);
    return await result.finally(() => this.appending.delete(result));
  }

  /** Discards a load whose body was broken off. */
  async abort(id: string): Promise<void> {
    const load = this.receiving.get(id);
    this.receiving.delete(id);
    await load?.spool.close();
  }

  /** Deletes products of a feed (Document 1, Delete products); ignores unknown ids. */
  async remove(feedId: number, which: readonly string[] | 'all', dryRun = false): Promise<Loaded> {
    const importId = randomUUID();
    return this.options.fingerprints.use(feedId, async (state) => {
      const writer = this.writerFor(feedId, state, dryRun);
      for (const sourceProductId of which === 'all' ? state.listedIds() : new Set(which)) {
        await writer.add({ kind: 'delist', product: { sourceProductId } });
      }
      await writer.settle(({ removed }) => {
        if (removed === 0) return undefined;
        return { type: 'ProductsDeleted', data: { removed, at: this.options.now().toISOString(), importId } };
      });
      const isStored = writer.tally.removed > 0 && !dryRun;
      return await this.loaded(writer, 0, isStored ? importId : undefined);
    });
  }

  /** Breaks off loads between two appends, and saves fingerprints for the next start. */
  async close(): Promise<void> {
    this.stopping.abort();
    for (const id of [...this.receiving.keys()]) await this.abort(id);
    await Promise.allSettled(this.appending);
    await this.options.fingerprints.close();
  }

  private async finishLoad(load: Load): Promise<LoadResult> {
    try {
      load.body.end();
      await load.intake.complete();
      return await this.options.fingerprints.use(load.request.feedId, (prints) => this.append(load, prints));
    } finally {
      await load.spool.close();
    }
  }

  private async append(load: Load, prints: Fingerprints): Promise<LoadResult> {
    const { request, intake, spool } = load;
    prints.forgetPostedBefore(this.options.directory.categories.removals);
    const { feedId, mode, dryRun } = request;
    const before = prints.listed;
    const writer = this.writerFor(feedId, prints, dryRun);
    await appendBody({ spool, intake, writer, state: prints }, mode);
    await writer.settle((tally) => ({ type: 'FeedImported', data: this.importOf(load, tally, before) }));
    const { faults, ignored } = intake;
    return {
      ...(await this.loaded(writer, faults.products, dryRun === true ? undefined : load.id)),
      faults: faults.listed,
      moreFaults: faults.more,
      ignoredFields: ignored.listed().map(({ field }) => field),
      largeRemoval: isLargeRemoval(mode, before, writer.tally),
    };
  }

  /** `loadId` is absent if nothing was stored. */
  private async loaded(
    { tally, position }: FeedWriter,
    refused: number,
    loadId: string | undefined,
  ): Promise<Loaded> {
    const { new: listed, revised, repriced, removed } = tally;
    return {
      ...(loadId === undefined ? {} : { loadId }),
      counts: { ...tally, refused },
      position: position ?? (await this.options.log.head()),
      changes: loadId === undefined ? 0 : listed + revised + repriced + removed,
    };
  }

  /** `before`: how many products the feed had. */
  private importOf({ id, intake, request, started }: Load, tally: Tally, before: number): FeedImport {
    const now = this.options.now();
    const { listed, more, products } = intake.faults;
    let room = CLOSE_BYTES - BESIDE_FAULTS;
    const fits = (part: object): boolean =>
      (room -= Buffer.byteLength(JSON.stringify(part)) + ','.length) > 0;
    const ignoredFields = intake.ignored.listed().filter(fits);
    const faults = listed
      .slice(0, MAX_FAULTS_STORED)
      .map(({ code, message, sourceProductId }) => ({
        code,
        ...(sourceProductId === undefined ? {} : { sourceProductId }),
        message,
      }))
      .filter(fits);
    const moreFaults = more + listed.length - faults.length;
    return {
      importId: id,
      mode: request.mode,
      at: now.toISOString(),
      durationMs: now.getTime() - started,
      ...tally,
      refused: products,
      faults,
      ...(moreFaults === 0 ? {} : { moreFaults }),
      ...(ignoredFields.length === 0 ? {} : { ignoredFields }),
      ...(isLargeRemoval(request.mode, before, tally) ? { largeRemoval: true } : {}),
    };
  }

  private writerFor(feedId: number, state: Fingerprints, dryRun?: boolean): FeedWriter {
    const { directory, log, now } = this.options;
    const feed = directory.feed(feedId);
    const at = now().toISOString();
    return new FeedWriter(log, feedId, state, at, this.stopping.signal, {
      dryRun,
      currency: (feed && directory.currencyOf(feed)) ?? '',
      currencyAt: (position) => directory.currencies.ofFeed(feedId, position),
      isMapped: mappedIn(feedId, directory),
    });
  }

  private loadOf(id: string): Load {
    const load = this.receiving.get(id);
    if (load === undefined) throw new EngineUnavailable('the load was aborted');
    return load;
  }
}
