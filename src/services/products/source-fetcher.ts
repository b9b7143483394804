import { createHash } from 'node:crypto';
import {
  type Downloaded,
  DownloadFailed,
  type Downloads,
  type Validators,
} from '../../delivery/sending/download';
import { FeedRefusals, productFaults as fault } from '../../domain/products/feed';
import {
  type FetchedSource,
  pauseAfter,
  type Shrink,
  type SourceOutcome,
} from '../../domain/products/feed-source';
import { type BodyBudgets, BodyShare } from '../../http/posted-body';
import { type EventLog } from '../../kernel/event-log';
import { Fault, NamedError } from '../../kernel/fault';
import { type Leases } from '../../kernel/leases';
import { type ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { type FollowedDirectory } from '../../network/follower';
import { type Clock } from '../../runtime/clock';
import { Leader, Troubles } from '../../runtime/leader';
import { LeaseHolder, SOURCES_LEASE } from '../../runtime/lease-holder';
import { LOADS } from '../../runtime/metrics';
import { encodingOfFile, type FileFormat, formatOfFile } from '../../wire/api/format';
import { encodingNamed } from '../../wire/bytes';
import { costOfLoad, countProducts, isRefusal } from './commands';
import { type FeedSource, loadFeed, type ProductLoader } from './load/load-feed';
import { type LoadResult } from './load/loader';
import {
  changeSource,
  lastLooks,
  type SourceLook,
  mappingsIn,
  noteLook,
  SOURCE_FORMATS,
  type SourceBook,
} from './sources';

interface FetcherParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly leases: Leases;
  readonly follower: FollowedDirectory;
  readonly loader: ProductLoader;
  readonly book: SourceBook;
  readonly downloads: Pick<Downloads, 'get'>;
  /** Shared with posted bodies. */
  readonly budgets: BodyBudgets;
  /** Bytes of a file when it is not compressed. */
  readonly most: number;
  readonly report: (failure: unknown) => void;
}

/** How often it looks for what is due (ms). */
const LOOK_MS = 1_000;
const BACKOFF_MS = { first: 500, longest: 30_000 } as const;
/** Files that are fetched and loaded at the same time. */
const AT_ONCE = 4;
/** After a failure of ours, such as an unavailable engine, which says nothing about the source (ms). */
const OURS_MS = 60_000;
/** Status of the fault of a body that finds no room (`docs/decisions.md#x100`). */
const NO_ROOM = 503;

/** The bytes are those of the file before, although its server does not say so. */
class SameFile extends NamedError {}

/** What a fetch has found, and by what its file is recognised; undefined: it was broken off, for a reason of ours. */
interface Fetched extends Validators {
  readonly outcome: SourceOutcome;
  readonly digest?: string | undefined;
  readonly retryAfter?: number | undefined;
}

/**
 * Fetches the sources of feeds when they are due, and replaces the feeds by them (ADR 60), in the process that holds
 * the lease. A file is loaded when all of it has arrived and was checked, or not at all. A process that is killed
 * leaves what was asked for to the next one, which fetches again: a load of the same file changes nothing.
 */
export class SourceFetcher {
  private readonly leader: Leader;
  private readonly troubles: Troubles;
  /** By feed. */
  private readonly underWay = new Map<
    number,
    { readonly work: Promise<void>; readonly gone: AbortController }
  >();
  private readonly looks = new Map<number, SourceLook>();
  /** Feeds whose last look was read; monotonic times until which others are left alone after failures of ours. */
  private readonly known = new Set<number>();
  private readonly postponed = new Map<number, number>();

  constructor(private readonly parts: FetcherParts) {
    const { clock, leases } = parts;
    this.troubles = new Troubles(parts.report);
    const { name, ms } = SOURCES_LEASE;
    this.leader = new Leader(new LeaseHolder(clock, leases, name, clock.uuid(), ms), {
      lead: () => this.leader.leadWith((signal) => this.lead(signal)),
      standBy: () => undefined,
      failed: (error) => {
        this.troubles.add('sources', error);
        return true;
      },
      lookMs: LOOK_MS,
      backoffMs: BACKOFF_MS,
    });
  }

  start(): void {
    this.leader.start().catch(this.parts.report);
  }

  /** Breaks off fetches, and waits for loads that are being stored. */
  async stop(): Promise<void> {
    await this.leader.stop().catch(this.parts.report);
  }

  /** Begins what is due, as far as there is room; resolves when that has ended. For whoever has the lease. */
  async fetchDue(signal: AbortSignal): Promise<void> {
    await this.begin(signal);
    await this.ended();
  }

  private async ended(): Promise<void> {
    await Promise.all([...this.underWay.values()].map(({ work }) => work));
  }

  private async lead(signal: AbortSignal): Promise<void> {
    // Another process may have led meanwhile.
    this.known.clear();
    try {
      while (!signal.aborted) {
        await this.begin(signal);
        this.troubles.clear('sources');
        this.leader.progressed();
        await this.parts.clock.pause(LOOK_MS, signal);
      }
    } finally {
      await this.ended();
    }
  }

  private async begin(signal: AbortSignal): Promise<void> {
    const { book, clock, follower, store } = this.parts;
    await book.ready;
    const unknown = [...book.all.keys()].filter((feedId) => !this.known.has(feedId));
    if (unknown.length > 0) {
      for (const [feedId, look] of await lastLooks(store, unknown)) this.looks.set(feedId, look);
      for (const feedId of unknown) this.known.add(feedId);
    }
    for (const feedId of this.known) if (!book.all.has(feedId)) this.forget(feedId);
    for (const [feedId, { gone }] of this.underWay) if (!book.all.has(feedId)) gone.abort();
    for (const [feedId, source] of book.all) {
      if (signal.aborted || this.underWay.size >= AT_ONCE) return;
      const isFree = !this.underWay.has(feedId) && follower.directory.feed(feedId) !== undefined;
      if (!isFree || !this.isDue(feedId, source, clock)) continue;
      const gone = new AbortController();
      const work = this.fetch(feedId, source, AbortSignal.any([signal, gone.signal]))
        .catch((error: unknown) => {
          this.postpone(feedId);
          this.troubles.add(`source of feed ${feedId}`, error);
        })
        .finally(() => this.underWay.delete(feedId));
      this.underWay.set(feedId, { work, gone });
    }
  }

  private postpone(feedId: number): void {
    this.postponed.set(feedId, this.parts.clock.monotonic() + OURS_MS);
  }

  private forget(feedId: number): void {
    this.known.delete(feedId);
    this.looks.delete(feedId);
    this.postponed.delete(feedId);
  }

  private isDue(feedId: number, source: FetchedSource, clock: Clock): boolean {
    if ((this.postponed.get(feedId) ?? 0) > clock.monotonic()) return false;
    return source.isAsked || (this.lookOf(feedId, source)?.next ?? 0) <= clock.wall();
  }

  /** Of the same file. */
  private lookOf(feedId: number, { url }: FetchedSource): SourceLook | undefined {
    const look = this.looks.get(feedId);
    return look?.url === url ? look : undefined;
  }

  private async fetch(feedId: number, source: FetchedSource, signal: AbortSignal): Promise<void> {
    const { book, clock, log, store } = this.parts;
    const before = this.lookOf(feedId, source);
    const fetched = await this.fetched(feedId, source, before, signal);
    if (fetched === undefined) return;
    const { outcome, retryAfter = 0, etag, lastModified, digest } = fetched;
    const failures = outcome.is === 'failed' ? (before?.failures ?? 0) + 1 : 0;
    const at = clock.wall();
    const next = at + Math.max(retryAfter, pauseAfter(source, failures, clock.random()));
    const reason = outcome.is === 'failed' ? outcome.reason : undefined;
    const look = defined({ url: source.url, at, next, failures, reason, etag, lastModified, digest });
    // The look first: what was asked for is done when the log says so.
    this.looks.set(feedId, look);
    await noteLook(store, feedId, look);
    const command = { do: 'conclude', at: new Date(at).toISOString(), began: source, outcome } as const;
    const { position } = await changeSource(clock, log, feedId, command);
    if (position !== undefined) await book.reachedInTime(position);
    this.troubles.clear(`source of feed ${feedId}`);
  }

  /** Undefined if it was stopped, or finds no room. Raises `EngineUnavailable`. */
  private async fetched(
    feedId: number,
    source: FetchedSource,
    before: SourceLook | undefined,
    signal: AbortSignal,
  ): Promise<Fetched | undefined> {
    // Of a file that is unchanged nothing is loaded, unless somebody asks for it.
    const known: Validators & Pick<SourceLook, 'digest'> = source.isAsked ? {} : (before ?? {});
    const kept =
      before && defined({ etag: before.etag, lastModified: before.lastModified, digest: before.digest });
    const ending = new AbortController();
    try {
      const { etag, lastModified } = known;
      const both = AbortSignal.any([signal, ending.signal]);
      const file = await this.parts.downloads.get(source.url, defined({ etag, lastModified }), both);
      if (file.is === 'unchanged') return { ...kept, outcome: unchanged(source) };
      const digest = createHash('sha256');
      const bytes = hashed(file.bytes, digest, known.digest);
      const { type, disposition } = file;
      const named = formatOfFile({ type, disposition, name: new URL(source.url).pathname });
      const loaded = await this.load(feedId, source, bytes, { named, type });
      if (loaded.held !== undefined)
        return {
          ...validatorsOf(file),
          digest: digest.digest('hex'),
          outcome: { is: 'held', ...loaded.held },
        };
      const outcome = { is: 'fetched', importId: loaded.loadId } as const;
      return { ...validatorsOf(file), digest: digest.digest('hex'), outcome };
    } catch (error) {
      if (error instanceof SameFile) return { ...kept, outcome: unchanged(source) };
      if (signal.aborted) return undefined;
      if (error instanceof DownloadFailed) {
        if (error.isOurs) throw error;
        return { ...kept, outcome: { is: 'failed', reason: error.message }, retryAfter: error.retryAfter };
      }
      if (error instanceof Fault && error.status === NO_ROOM) {
        this.postpone(feedId);
        return undefined;
      }
      if (isRefusal(error)) return { ...kept, outcome: { is: 'failed', reason: error.message } };
      throw error;
    } finally {
      ending.abort();
    }
  }

  private async load(
    feedId: number,
    { format, map = '', charset, accepted = 0 }: FetchedSource,
    bytes: AsyncIterable<Buffer>,
    { named, type }: { readonly named: FileFormat | undefined; readonly type: string | undefined },
  ): Promise<LoadResult> {
    const { budgets, clock, log, loader, follower, most } = this.parts;
    const said = named === 'json' ? undefined : encodingOfFile(type);
    const share = new BodyShare(budgets, () => 'sources of feeds');
    const record = new FeedRefusals(clock, log).begin(feedId, 'replace', { fetched: true });
    const request = {
      feedId,
      mode: 'replace',
      format: SOURCE_FORMATS.find((one) => one === format) ?? 'any',
      rows: named === 'tsv' ? 'tsv' : undefined,
      columns: { map: mappingsIn(map) },
      // Whatever is said of it, JSON is in UTF-8.
      file: { encoding: charset === undefined ? said : encodingNamed(charset) },
      directoryPosition: follower.position,
      source: { accepted },
    } as const;
    try {
      const onUse: FeedSource['onUse'] = (length, use) => share.grow(costOfLoad(length, use), most);
      const loaded = await loadFeed(loader, request, { bytes, most, onUse });
      LOADS.add(1, { result: loaded.held === undefined ? 'stored' : 'refused' });
      if (loaded.held === undefined) countProducts(loaded);
      else await record(fault.illegalValue(heldText(feedId, loaded.held)));
      return loaded;
    } catch (error) {
      const isRefused = isRefusal(error);
      if (!(error instanceof SameFile)) LOADS.add(1, { result: isRefused ? 'refused' : 'failed' });
      if (isRefused) await record(error);
      throw error;
    } finally {
      share.release();
    }
  }
}

function heldText(feedId: number, { listed, removed }: Shrink): string {
  return (
    `the file was held: it does not have ${removed} of ${listed} products. Accept it by ` +
    `POST /1.0/products/sources/accept;fid=${feedId}, or let the source send another file`
  );
}

/** A file that is held is held still. */
function unchanged({ held }: FetchedSource): SourceOutcome {
  return held === undefined ? { is: 'fetched' } : { is: 'held', ...held };
}

function validatorsOf({ etag, lastModified }: Extract<Downloaded, { readonly is: 'file' }>): Validators {
  return defined({ etag, lastModified });
}

/** Raises `SameFile` at the end if all bytes have this digest. */
async function* hashed(
  bytes: AsyncIterable<Buffer>,
  digest: ReturnType<typeof createHash>,
  same: string | undefined,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    digest.update(chunk);
    yield chunk;
  }
  if (same !== undefined && digest.copy().digest('hex') === same) throw new SameFile();
}
