import { join } from 'node:path';
import { emptyTally, type FeedImport, isLargeRemoval, type Tally } from '../../../domain/products/feed';
import { isHeld, type Shrink } from '../../../domain/products/feed-source';
import { type Fingerprints } from '../../../domain/products/fingerprints';
import { type Position } from '../../../kernel/event';
import { EngineUnavailable, type EventLog } from '../../../kernel/event-log';
import { type BodyCost } from '../../../http/posted-body';
import { defined } from '../../../kernel/values';
import { type Directory } from '../../../network/directory';
import { type FollowedDirectory } from '../../../network/follower';
import { type Clock } from '../../../runtime/clock';
import { LOAD_SECONDS } from '../../../runtime/metrics';
import { CLOSE_BYTES, FeedWriter, mappedIn, MAX_CONFLICTS, OVERTAKEN, plus } from './feed-writer';
import { type FeedLock, FingerprintCache } from './fingerprint-cache';
import { type LoadFault } from '../product-check';
import { type FeedTerms } from './ingest/columns';
import { type ColumnOptions, type FeedBody, feedBody, type FeedFormat } from './ingest/feed-body';
import { ProductIntake, type Validate } from './ingest/product-intake';
import { type RepeatedProduct, Spool, type SpooledProduct } from './ingest/spool';

export interface LoadRequest {
  readonly feedId: number;
  readonly mode: FeedImport['mode'];
  readonly format: FeedFormat;
  /** What a body of any format has if it has rows; by default CSV. */
  readonly rows?: 'tsv' | undefined;
  readonly columns?: ColumnOptions | undefined;
  /** It is a file: what is declared of its encoding, as `encodingNamed` returns it. */
  readonly file?: { readonly encoding: string | undefined };
  /** Validation uses a directory at least as current as this. */
  readonly directoryPosition: Position;
  /** Checks and counts everything, and stores nothing. */
  readonly dryRun?: boolean | undefined;
  /** It is of the feed's source: what would remove more than half of the feed, and more than `accepted`, is held. */
  readonly source?: { readonly accepted: number };
}

/** What a load or a deletion has done. */
export interface LoadedFeed {
  /** Its id, as in the load report; absent if nothing was stored. */
  readonly loadId?: string;
  readonly counts: Tally & Pick<FeedImport, 'refused'>;
  readonly position: Position;
  /** Product events appended. */
  readonly changes: number;
}

/** The result of a load: everything but the products of `faults` is stored. */
export interface LoadResult extends LoadedFeed {
  readonly faults: readonly LoadFault[];
  readonly moreFaults: number;
  readonly ignoredFields: readonly string[];
  readonly largeRemoval: boolean;
  /** It was not stored, since it would have removed so much. */
  readonly held?: Shrink;
}

interface LoaderParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly fingerprints: FingerprintCache;
  /** Where bodies are spooled that are too large for memory. */
  readonly spoolFolder: string;
  readonly directory: Directory;
  /** Waits until the directory has reached a position; raises `EngineUnavailable` after a timeout. */
  readonly reached: (position: Position) => Promise<unknown>;
  readonly validate?: Validate | undefined;
}

interface Load {
  /** Also the id of the event that closes it. */
  readonly id: string;
  readonly request: LoadRequest;
  readonly started: number;
  /** Monotonic. */
  readonly began: number;
  readonly spool: Spool;
  readonly intake: ProductIntake;
  readonly body: FeedBody;
  readonly terms: FeedTerms;
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
  private readonly receiving = new Map<string, Load>();
  private readonly appending = new Set<Promise<unknown>>();
  private readonly stopping = new AbortController();

  constructor(private readonly parts: LoaderParts) {}

  /** Starts a load; `write` takes its body. */
  async open(request: LoadRequest): Promise<string> {
    const { clock, directory, fingerprints: cache, reached, spoolFolder, validate } = this.parts;
    const { feedId } = request;
    await reached(request.directoryPosition);
    await cache.warm(feedId);
    const fingerprints = (): Fingerprints | undefined => {
      const cached = cache.peek(feedId);
      // Bytes posted before a category was removed might be refused today.
      return cached?.removals === directory.categories.removals ? cached : undefined;
    };
    const knowsCategory = (id: string): boolean => directory.category(id) !== undefined;
    const spool = new Spool(clock, spoolFolder);
    const intake = new ProductIntake({ spool, fingerprints, knowsCategory, validate });
    const terms = { currency: this.currencyOf(feedId), now: clock.now().getTime() };
    const body = feedBody({ ...request, terms }, intake);
    const id = clock.uuid();
    this.receiving.set(id, {
      id,
      request,
      started: clock.wall(),
      began: clock.monotonic(),
      spool,
      intake,
      body,
      terms,
    });
    return id;
  }

  async write(id: string, chunk: Uint8Array): Promise<BodyCost> {
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
    const loaded = await result.finally(() => this.appending.delete(result));
    LOAD_SECONDS.observe((this.parts.clock.monotonic() - load.began) / 1000, {});
    return loaded;
  }

  /** Discards a load whose body was broken off. */
  async abort(id: string): Promise<void> {
    const load = this.receiving.get(id);
    this.receiving.delete(id);
    await load?.spool.close();
  }

  /** Deletes products of a feed (Document 1, Delete products); ignores unknown ids. */
  async remove(feedId: number, which: readonly string[] | 'all', dryRun = false): Promise<LoadedFeed> {
    const importId = this.parts.clock.uuid();
    return this.parts.fingerprints.use(feedId, async (fingerprints) => {
      const { tally, position } = await this.untilAlone(
        feedId,
        fingerprints,
        dryRun,
        async (writer, before) => {
          if (which === 'all') writer.commit();
          for (const sourceProductId of which === 'all' ? fingerprints.listedIds() : new Set(which)) {
            await writer.add({ kind: 'delist', product: { sourceProductId } });
          }
          await writer.settle((own) => {
            const { removed } = plus(before, own);
            if (removed === 0 || writer.isOvertaken) return undefined;
            return {
              type: 'ProductsDeleted',
              data: { removed, at: this.parts.clock.now().toISOString(), importId },
            };
          });
        },
      );
      const isStored = tally.removed > 0 && !dryRun;
      return await this.loaded({ tally, position }, 0, isStored ? importId : undefined);
    });
  }

  /** Breaks off loads between two appends, and saves fingerprints for the next start. */
  async close(): Promise<void> {
    this.stopping.abort();
    for (const id of [...this.receiving.keys()]) await this.abort(id);
    await Promise.allSettled(this.appending);
    await this.parts.fingerprints.close();
  }

  private async finishLoad(load: Load): Promise<LoadResult> {
    try {
      load.body.end();
      await load.intake.complete();
      return await this.parts.fingerprints.use(
        load.request.feedId,
        (fingerprints) => this.append(load, fingerprints),
        load.intake.products,
      );
    } finally {
      await load.spool.close();
    }
  }

  private async append(load: Load, fingerprints: Fingerprints): Promise<LoadResult> {
    const { request, intake, spool } = load;
    fingerprints.forgetPostedBefore(this.parts.directory.categories.removals);
    const { feedId, mode, dryRun, source } = request;
    if ('terms' in intake.written && load.terms.currency !== this.currencyOf(feedId))
      throw new EngineUnavailable('the currency of the program has changed during the load');
    const listed = fingerprints.listed;
    const held = source && heldBy(load, fingerprints, source.accepted);
    if (held !== undefined) return await this.notStored(load, held);
    const { tally, position } = await this.untilAlone(
      feedId,
      fingerprints,
      dryRun,
      async (writer, before) => {
        await appendBody({ spool, intake, writer, fingerprints }, mode);
        await writer.settle((own) =>
          writer.isOvertaken
            ? undefined
            : { type: 'FeedImported', data: this.importOf(load, together(before, own), listed) },
        );
      },
    );
    const { faults, ignored } = intake;
    return {
      ...(await this.loaded({ tally, position }, faults.products, dryRun === true ? undefined : load.id)),
      faults: faults.listed,
      moreFaults: faults.more,
      ignoredFields: ignored.listed().map(({ field }) => field),
      largeRemoval: isLargeRemoval(mode, listed, tally),
    };
  }

  private async notStored({ intake: { faults, ignored } }: Load, held: Shrink): Promise<LoadResult> {
    return {
      ...(await this.loaded({ tally: emptyTally(), position: undefined }, faults.products, undefined)),
      faults: faults.listed,
      moreFaults: faults.more,
      ignoredFields: ignored.listed().map(({ field }) => field),
      largeRemoval: false,
      held,
    };
  }

  /**
   * Decides and appends everything, again and again until no other writer has appended meanwhile: so loads of one feed
   * have the same effect as one after the other, whoever overtakes whom. `pass` gets what was counted before it.
   */
  private async untilAlone(
    feedId: number,
    fingerprints: Fingerprints,
    dryRun: boolean | undefined,
    pass: (writer: FeedWriter, before: Tally) => Promise<void>,
  ): Promise<Pick<FeedWriter, 'tally' | 'position'>> {
    let before = emptyTally();
    for (let passes = 1; ; passes += 1) {
      const writer = this.writerFor(feedId, fingerprints, dryRun);
      await pass(writer, before);
      if (!writer.isOvertaken) return { tally: together(before, writer.tally), position: writer.position };
      if (passes === MAX_CONFLICTS) throw new EngineUnavailable(OVERTAKEN);
      before = together(before, writer.tally);
    }
  }

  /** `loadId` is absent if nothing was stored. */
  private async loaded(
    { tally, position }: Pick<FeedWriter, 'tally' | 'position'>,
    refused: number,
    loadId: string | undefined,
  ): Promise<LoadedFeed> {
    const { new: listed, revised, repriced, removed } = tally;
    return {
      ...(loadId === undefined ? {} : { loadId }),
      counts: { ...tally, refused },
      position: position ?? (await this.parts.log.head()),
      changes: loadId === undefined ? 0 : listed + revised + repriced + removed,
    };
  }

  /** `before`: how many products the feed had. */
  private importOf({ id, intake, request, started }: Load, tally: Tally, before: number): FeedImport {
    const now = this.parts.clock.now();
    const { listed, more, products } = intake.faults;
    let room = CLOSE_BYTES - BESIDE_FAULTS;
    const fits = (part: object): boolean =>
      (room -= Buffer.byteLength(JSON.stringify(part)) + ','.length) > 0;
    const ignoredFields = intake.ignored.listed().filter(fits);
    const faults = listed
      .slice(0, MAX_FAULTS_STORED)
      .map(({ code, message, sourceProductId }) => defined({ code, sourceProductId, message }))
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
      ...(request.source === undefined ? {} : { fetched: true }),
    };
  }

  private writerFor(feedId: number, fingerprints: Fingerprints, dryRun?: boolean): FeedWriter {
    const { clock, directory, log } = this.parts;
    const at = clock.now().toISOString();
    return new FeedWriter(clock, log, feedId, fingerprints, at, this.stopping.signal, {
      dryRun,
      currency: this.currencyOf(feedId),
      currencyAt: (position) => directory.currencies.ofFeed(feedId, position),
      isMapped: mappedIn(feedId, directory),
    });
  }

  /** Of the feed's program; empty for an unknown one. */
  private currencyOf(feedId: number): string {
    const { directory } = this.parts;
    const feed = directory.feed(feedId);
    return (feed && directory.currencyOf(feed)) ?? '';
  }

  private loadOf(id: string): Load {
    const load = this.receiving.get(id);
    if (load === undefined) throw new EngineUnavailable('the load was aborted');
    return load;
  }
}

/** What a replacement would remove, if that is too much to be done unasked. */
function heldBy({ intake }: Load, fingerprints: Fingerprints, accepted: number): Shrink | undefined {
  let removed = 0;
  for (const id of fingerprints.listedIds()) if (!intake.names(id)) removed += 1;
  const shrink = { listed: fingerprints.listed, removed };
  return isHeld(shrink, accepted) ? shrink : undefined;
}

/** The organisation whose products a feed has; undefined for an unknown feed. */
function ownerOf({ programs }: Directory, feedId: number): number | undefined {
  const [programId] = programs.feed(feedId)?.programIds ?? [];
  return programId === undefined ? undefined : programs.get(programId)?.organisationId;
}

export function makeLoader(
  clock: Clock,
  log: EventLog,
  follower: FollowedDirectory,
  dataDir: string,
  { feedLock, validate }: { readonly feedLock?: FeedLock | undefined; readonly validate?: Validate } = {},
): Loader {
  const { directory } = follower;
  return new Loader({
    clock,
    log,
    fingerprints: new FingerprintCache(clock, log, join(dataDir, 'cache'), {
      feedLock,
      ownerOf: (feedId) => String(ownerOf(directory, feedId)),
      currencyAt: (feedId) => (position) => directory.currencies.ofFeed(feedId, position),
    }),
    spoolFolder: join(dataDir, 'spool'),
    directory,
    reached: (position) => follower.reachedInTime(position),
    validate,
  });
}

/** The counts of a load so far, and of one more pass, in which what was changed before is unchanged. */
function together(before: Tally, pass: Tally): Tally {
  const { new: listed, revised, repriced } = before;
  return { ...plus(before, pass), unchanged: Math.max(0, pass.unchanged - listed - revised - repriced) };
}

interface CompleteBody {
  readonly spool: Spool;
  readonly intake: ProductIntake;
  /** Current as of the end of the feed's stream. */
  readonly fingerprints: Fingerprints;
  readonly writer: FeedWriter;
}

/** Has each product of a body decided and appended; a replacement delists all others. */
async function appendBody(body: CompleteBody, mode: FeedImport['mode']): Promise<void> {
  const { spool, intake, writer } = body;
  for await (const products of spool.read()) {
    writer.refuseAfterStop();
    for (const product of products) {
      if (!intake.isLast(product.number, product.head.sequence)) continue;
      const full = append(product, body);
      if (full !== undefined) await full;
    }
  }
  if (mode === 'replace') await delistOthers(body);
}

function append(
  { head, text, textBytes }: SpooledProduct,
  { intake, fingerprints, writer }: CompleteBody,
): Promise<void> | undefined {
  if (head.kind === 'valid')
    return writer.add({ kind: 'post', product: head, posted: head.posted, text, textBytes });
  if (isUnchanged(head, fingerprints, writer.currency)) {
    writer.addUnchanged();
    return undefined;
  }
  // The feed has changed since the product was recognised, or its currency has.
  const valid = intake.revalidate(text(), head.sequence);
  if (valid === undefined) return undefined;
  const content = Buffer.from(valid.text);
  return writer.add({
    kind: 'post',
    product: valid.head,
    posted: valid.head.posted,
    text: () => content,
    textBytes: content.length,
  });
}

function isUnchanged(
  { sourceProductId, posted }: RepeatedProduct,
  fingerprints: Fingerprints,
  currency: string,
): boolean {
  const product = fingerprints.find(sourceProductId);
  return (
    fingerprints.isListed(product) &&
    fingerprints.hasPosted(product, posted) &&
    fingerprints.isIn(product, currency)
  );
}

/** Delists what a replacement did not name, after everything it named has been appended. */
async function delistOthers({ intake, writer, fingerprints }: CompleteBody): Promise<void> {
  await writer.settle();
  writer.commit();
  for (const sourceProductId of fingerprints.listedIds()) {
    if (!intake.names(sourceProductId)) await writer.add({ kind: 'delist', product: { sourceProductId } });
  }
}
