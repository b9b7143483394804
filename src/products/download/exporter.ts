import { hash, randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { type Directory } from '../../directory/directory';
import { type Position, START } from '../../kernel/event';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { type FeedVersions } from '../feed-version';
import { type Block, blocksOf } from './blocks';
import { contentSince, type FeedContent, type ShownFeed } from './feed-content';
import { type FeedFacts, feedFacts } from './feed-facts';
import { type FeedFormat, feedFormat, type FormatOptions } from './feed-format';
import { outputOf, type OutputOptions } from './feed-output';
import { type FeedBatch, type FeedSource } from './feed-source';
import { nextSince, type Since } from './since';

export interface ExportRequest extends FormatOptions, OutputOptions {
  readonly feedId: number;
  /** What the caller knew of the directory is known to the export too. */
  readonly directoryPosition: Position;
  /** In CSV, custom fields have columns of their own. */
  readonly flatten: boolean;
  /** Only what has changed (`docs/decisions.md#p28`). */
  readonly since?: Since;
}

/** What is going to be exported; nothing of it has been rendered. */
export interface OpenedExport {
  readonly id: string;
  /** All that the bytes depend on: the same for the same bytes. */
  readonly key: string;
  /** The version of the feed (`FeedVersion`), `START` as long as no load has ended. */
  readonly version: Position;
  /** Nothing has changed. */
  readonly isEmpty: boolean;
  /** The value of `X-Next-Since`. */
  readonly next: string;
}

/** What an export's file has come to. */
export interface ExportProgress {
  readonly bytes: number;
  /** Where the records end that are new since the last time, in bytes from the start. */
  readonly ends: readonly number[];
  readonly done: boolean;
}

/** What pages are made with that are cut out of the file, from one record to another. */
export interface ExportFrame {
  readonly head: string;
  readonly gap: number;
  readonly foot: string;
}

interface ExporterOptions {
  readonly log: EventLog;
  readonly source: FeedSource;
  readonly versions: FeedVersions;
  readonly directory: Directory;
  /** Waits until the directory has seen a position; raises `EngineUnavailable` when that takes too long. */
  readonly reached: (position: Position) => Promise<unknown>;
}

interface Export {
  readonly request: ExportRequest;
  readonly feed: ShownFeed;
  readonly facts: FeedFacts;
  readonly content: FeedContent;
  /** In CSV, the custom fields that have columns of their own. */
  readonly columns: readonly string[] | undefined;
  readonly snapshot: AsyncGenerator<FeedBatch>;
  blocks?: AsyncGenerator<Block>;
  file?: FileHandle;
  bytes: number;
}

/**
 * Renders feeds into files, each from one snapshot. An export is opened, begun, rendered block by block, and closed; it
 * may be closed at any time. Raises `EngineUnavailable`.
 */
export class Exporter {
  private readonly exports = new Map<string, Export>();

  constructor(private readonly options: ExporterOptions) {}

  /** How many there are: each holds a snapshot. */
  get size(): number {
    return this.exports.size;
  }

  /** Takes a snapshot, and says what it is one of. */
  async open(request: ExportRequest): Promise<OpenedExport> {
    const { source, versions, directory } = this.options;
    const { feedId, caller, pastPrices, since } = request;
    await this.options.reached(request.directoryPosition);
    const visibleOnly = caller.kind === 'publisher';
    const which = visibleOnly ? 'visible' : 'all';
    const isFlat = request.format === 'csv' && request.flatten;
    const snapshot = iterate(source.snapshot(feedId, which, isFlat));
    try {
      const { total, checkpoint, customFields } = await headOf(snapshot);
      await this.options.reached(checkpoint);
      const state = await versions.at(feedId, checkpoint);
      if (pastPrices !== 'none' && !(await source.pricesUpTo(checkpoint)))
        throw new EngineUnavailable('the prices of the past are behind the products');
      const facts = feedFacts(directory, caller, feedId);
      const joined = digest([facts.text, request.trackerUrl]).slice(0, 12);
      const offers = () => offersOf(snapshot);
      const feed = { feedId, caller, visibleOnly, total, checkpoint, facts: joined, offers };
      const content =
        since === undefined ? { offers, isEmpty: false } : await contentSince(this.options, feed, since);
      const columns = isFlat ? [...customFields].sort() : undefined;
      const id = randomUUID();
      this.exports.set(id, { request, feed, facts, content, columns, snapshot, bytes: 0 });
      const key = digest([state?.content, categoriesAt(directory, checkpoint), joined, keysOf(request)]);
      const next = nextSince({ position: checkpoint, facts: joined });
      const version = state?.version?.position ?? START;
      return { id, key, version, isEmpty: content.isEmpty, next };
    } catch (error) {
      await snapshot.return(undefined);
      throw error;
    }
  }

  /** Begins to render into a new file of this name. */
  async begin(id: string, path: string): Promise<ExportFrame> {
    const one = this.exportOf(id);
    const { content, facts, request } = one;
    const products = outputOf(content.offers(), request, facts.directory, this.options.source);
    const format: FeedFormat = feedFormat(request, one.feed.total, one.columns);
    one.blocks = blocksOf(products, format, content.removed?.bind(content));
    one.file = await open(path, 'wx', 0o600);
    return { head: format.head, gap: format.gap, foot: format.foot() };
  }

  /** Renders the next block. */
  async more(id: string): Promise<ExportProgress> {
    const one = this.exportOf(id);
    const next = await one.blocks?.next();
    if (next === undefined || next.done === true) return { bytes: one.bytes, ends: [], done: true };
    const { bytes, ends } = next.value;
    try {
      await one.file?.appendFile(bytes);
    } catch (error) {
      throw new EngineUnavailable('a download could not be held on disk', { cause: error });
    }
    one.bytes += bytes.byteLength;
    return { bytes: one.bytes, ends, done: false };
  }

  /** Lets go of an export, whole or not. */
  async close(id: string): Promise<void> {
    const one = this.exports.get(id);
    this.exports.delete(id);
    await one?.blocks?.return(undefined);
    await one?.snapshot.return(undefined);
    await one?.file?.close();
  }

  /** Lets go of all. */
  async end(): Promise<void> {
    for (const id of [...this.exports.keys()]) await this.close(id);
  }

  private exportOf(id: string): Export {
    const one = this.exports.get(id);
    if (one === undefined) throw new EngineUnavailable('the download was broken off');
    return one;
  }
}

function iterate(batches: AsyncIterable<FeedBatch>): AsyncGenerator<FeedBatch> {
  return (async function* () {
    yield* batches;
  })();
}

/** The first batch: it comes before any offer is read. */
async function headOf(snapshot: AsyncGenerator<FeedBatch>): Promise<FeedBatch> {
  const { value } = (await snapshot.next()) as IteratorResult<FeedBatch, undefined>;
  if (value === undefined) throw new Error('a snapshot has no batch');
  return value;
}

async function* offersOf(snapshot: AsyncGenerator<FeedBatch>): AsyncGenerator<FeedBatch['offers']> {
  for await (const { offers } of snapshot) yield offers;
}

/**
 * The state of the categories that products were mapped by, and are told by. The directory may be ahead of the read model:
 * what is sent then is between two states, which no other has.
 */
function categoriesAt({ treeChanged }: Directory, checkpoint: Position): readonly Position[] {
  return treeChanged <= checkpoint ? [treeChanged] : [treeChanged, checkpoint];
}

/** What of a request makes a difference to the bytes; what its caller does is among the facts. */
function keysOf(request: ExportRequest): object {
  return { ...request, caller: undefined, directoryPosition: undefined };
}

function digest(facts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(facts), 'hex').slice(0, 32);
}
