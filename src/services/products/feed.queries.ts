import { Injectable } from '@nestjs/common';
import { categorySets, productsPosition } from '../../../projections/products';
import {
  feeds,
  type FeedVersion,
  MOST_VERSIONS,
  type StoredFeed,
  storedFeeds,
} from '../../../projections/feeds';
import { lastImports } from '../../../projections/imports';
import { lastRemapping, requireUpTo } from '../../../projections/product-download';
import { type ReportedImport } from '../../domain/products/import-report';
import { WaitForReadModels } from '../../http/visible-writes';
import { type Position, START, streamOf } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import {
  type CategoryMapping,
  CategoryTally,
  type CategoryTrees,
  categoryTreesOf,
  type FeedCounts,
  mappingsOf,
} from '../../network/categories/category-counts';
import { type Changed, type Directory } from '../../network/directory';
import { type FeedDefinition } from '../../network/events';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { type Clock } from '../../runtime/clock';
import { type Shape } from '../../wire/api/description';
import { boolean, integer, text, textOrNone } from '../../wire/record/kinds';
import { type AnswerOf, listOf, prefixed, record } from '../../wire/record/record';
import { xmlWriter } from '../../wire/record/document';
import { type XmlElement } from '../../wire/xml/write';
import { rootAttributes } from './result-text';

/** A feed as its products can be read at present. */
export interface FeedState {
  readonly feedId: number;
  /** The products are as of this position, at least. */
  readonly checkpoint: Position;
  /** Another text, other products or other categories. */
  readonly key: string;
  /** Absent until a product has been loaded. */
  readonly stored?: StoredFeed;
  /** The version that was published last: absent until the first load has ended (`docs/decisions.md#x62`). */
  readonly version?: FeedVersion;
}

/** Which changes of categories have been looked at since a load was published, and the version that came of it. */
interface Considered {
  readonly loaded: Position;
  readonly upTo: Position;
  readonly version: FeedVersion;
}

/** Categories changed since a load beyond which they are taken to concern products of every feed. */
const MOST_CATEGORIES = 100;

/** The states of feeds as of the position of their products (`docs/decisions.md#p18`, `#p19`), without later ones. */
export class FeedStates {
  /** Of each feed. While a load is under way, the version stays though products change that a mapping concerned. */
  private readonly considered = new Map<number, Considered>();

  constructor(
    readonly clock: Clock,
    private readonly store: ReadStore,
    private readonly follower: Pick<FollowedDirectory, 'directory' | 'reachedInTime'>,
  ) {}

  /** Raises `EngineUnavailable` when the states, or the directory, are far behind the products. */
  async of(feedIds: readonly number[]): Promise<readonly FeedState[]> {
    const checkpoint = await productsPosition(this.store);
    if (checkpoint === undefined) return feedIds.map((feedId) => ({ feedId, checkpoint: START, key: '' }));
    await requireUpTo(this.clock, this.store, checkpoint, [feeds]);
    await this.follower.reachedInTime(checkpoint);
    const stored = await storedFeeds(this.store, feedIds);
    return await Promise.all(feedIds.map((feedId) => this.stateOf(feedId, checkpoint, stored.get(feedId))));
  }

  private async stateOf(feedId: number, checkpoint: Position, stored?: StoredFeed): Promise<FeedState> {
    const { changes, treeChanged } = this.follower.directory;
    const mapped = changes.of(mappingOf(feedId))?.position ?? START;
    const parts = [stored?.content ?? START, mapped, treeChanged];
    // Where something is ahead of the products, they are between two states, which no other position has.
    const isBetween = parts.some((position) => position > checkpoint);
    const state = { feedId, checkpoint, key: [...parts, ...(isBetween ? [checkpoint] : [])].join() };
    if (stored === undefined) return state;
    const version = await this.versionOf(feedId, stored, checkpoint);
    return version === undefined ? { ...state, stored } : { ...state, stored, version };
  }

  private async versionOf(
    feedId: number,
    { published }: StoredFeed,
    checkpoint: Position,
  ): Promise<FeedVersion | undefined> {
    const isComplete = published.length < MOST_VERSIONS;
    const loaded =
      published.findLast(({ position }) => position <= checkpoint) ?? (isComplete ? undefined : published[0]);
    if (loaded === undefined) return undefined;
    const known = this.considered.get(feedId);
    const before =
      known?.loaded === loaded.position
        ? known
        : { loaded: loaded.position, upTo: loaded.position, version: loaded };
    const { changes, treeChanged } = this.follower.directory;
    const mapped = changes.of(mappingOf(feedId))?.position ?? START;
    if (mapped <= before.upTo && treeChanged <= before.upTo) return before.version;
    const version = (await this.lastChange(feedId, before, checkpoint)) ?? before.version;
    // A request that began earlier may end later: what it has found does not replace what others know by now.
    if (checkpoint > (this.considered.get(feedId)?.upTo ?? START))
      this.considered.set(feedId, { loaded: loaded.position, upTo: checkpoint, version });
    return version;
  }

  /** The last change of categories up to a position that concerns products of a feed, if not considered before. */
  private async lastChange(
    feedId: number,
    { loaded, upTo: after }: Considered,
    upTo: Position,
  ): Promise<FeedVersion | undefined> {
    const all = [...this.follower.directory.changes.ofCategoriesAfter(loaded)];
    const sinceLoad = all.filter(([, { position }]) => position <= upTo);
    const changed = new Map(sinceLoad.filter(([, { position }]) => position > after));
    const candidates = [await lastRemapping(this.store, feedId, after, upTo)];
    if (sinceLoad.length > MOST_CATEGORIES) candidates.push(...[...changed.values()].map(toVersion));
    else if (changed.size > 0)
      for await (const sets of categorySets(this.store, feedId, [...changed.keys()]))
        for (const id of sets.flatMap(({ mapped }) => mapped)) {
          const change = id === null ? undefined : changed.get(id);
          candidates.push(change && toVersion(change));
        }
    return candidates.reduce((a, b) =>
      b === undefined || (a !== undefined && a.position > b.position) ? a : b,
    );
  }
}

export function mappingOf(feedId: number): string {
  return streamOf('mapping', feedId);
}

function toVersion({ position, at }: Changed): FeedVersion {
  return { position, at: new Date(at).toISOString() };
}

export interface CountedFeed {
  readonly feedId: number;
  readonly counts: FeedCounts;
  readonly version?: FeedVersion;
}

const NOTHING: FeedCounts = { products: 0, posted: [], within: new Map() };

/** Counts the products of feeds. Counts are cached until the feed or the category tree changes. */
export class CountedFeeds {
  private readonly cached = new Map<number, { readonly key: string; readonly counts: Promise<FeedCounts> }>();

  constructor(
    private readonly store: ReadStore,
    private readonly states: FeedStates,
    private readonly follower: Pick<FollowedDirectory, 'directory'>,
  ) {}

  async of(feedIds: readonly number[]): Promise<readonly CountedFeed[]> {
    const states = await this.states.of(feedIds);
    return await Promise.all(states.map((state) => this.countedFeed(state)));
  }

  private async countedFeed({ feedId, key, stored, version }: FeedState): Promise<CountedFeed> {
    if (stored === undefined) return { feedId, counts: NOTHING };
    const known = this.cached.get(feedId);
    const counts = known?.key === key ? known.counts : this.count(feedId, key);
    return { feedId, counts: await counts, ...(version === undefined ? {} : { version }) };
  }

  private count(feedId: number, key: string): Promise<FeedCounts> {
    const counts = this.tally(feedId);
    this.cached.set(feedId, { key, counts });
    counts.catch(() => this.cached.delete(feedId));
    return counts;
  }

  private async tally(feedId: number): Promise<FeedCounts> {
    const tally = new CategoryTally(this.follower.directory);
    for await (const sets of categorySets(this.store, feedId)) for (const set of sets) tally.add(set);
    return tally.counts();
  }
}

/** To the millisecond. */
const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}';

const feed = record({
  feedId: { kind: integer(), description: 'Id of the feed' },
  name: { kind: text(), description: 'Name' },
  active: { kind: boolean(), description: 'Whether it is active' },
  sendToNewPF: { kind: boolean(), description: 'Value of the network file' },
  visible: { kind: boolean(), description: 'Whether it is visible' },
  currencyISOCode: { kind: text(), description: 'Currency of its program, ISO 4217' },
  languageISOCode: { kind: text(), description: 'Language, ISO 639-1' },
  secret: { kind: boolean(), description: 'Whether it is secret' },
  numberOfUnmappedCategories: { kind: integer(), description: 'Unmapped posted categories' },
  numberOfProducts: { kind: integer(), description: 'Products in it' },
  lastModifiedTime: { kind: textOrNone(`${TIME}\\+0000`), description: 'UTC; null for a feed never loaded' },
  programs: {
    kind: listOf(
      record({
        programId: { kind: integer(), description: 'Id of the program' },
        name: { kind: text(), description: 'Name of the program' },
      }),
      { each: 'program' },
    ),
    description: 'Programs it belongs to',
  },
});
type AnsweredFeed = AnswerOf<typeof feed>;

const FEEDS = 'In the order of their ids';

export const FEED_LIST_FILE = 'FeedList_v3_0.xsd';

/** The elements of a feed in XML: they are in the common namespace, as those of products are. */
export const FEED_ELEMENTS = feed.fields;

const xmlFeeds = record({
  feeds: {
    kind: listOf(record(prefixed('ns2', FEED_ELEMENTS)), { each: 'feed' }),
    in: 'content',
    description: FEEDS,
  },
});

/** Document 1, Feed (publisher feed list) (`docs/decisions.md#p22`, `#p22b`, `#x29`). */
export const FEED_LIST = {
  name: 'FeedList',
  kind: record({ feeds: { kind: listOf(feed, { each: 'feed' }), description: FEEDS } }),
  xml: { file: FEED_LIST_FILE, root: 'result', attributes: rootAttributes('affilog'), kind: xmlFeeds },
} as const satisfies Shape;
export type FeedList = AnswerOf<typeof FEED_LIST.kind>;

/** Document 1, Last-updated response (`docs/decisions.md#p19`). */
export const LAST_UPDATED = {
  name: 'LastUpdated',
  kind: record({
    feedIds: { kind: listOf(integer(), { each: 'feedId' }), description: 'The feed' },
    lastUpdatedTime: {
      kind: textOrNone(TIME),
      description: 'UTC without an offset; null for a feed never loaded',
    },
  }),
  xml: { file: 'LastUpdated_v1_0.xsd', root: 'result' },
} as const satisfies Shape;

function toListedFeed(
  definition: FeedDefinition,
  { counts, version }: CountedFeed,
  directory: Directory,
): AnsweredFeed {
  const { id, name, active, sendToNewPF, visible, language, secret, programIds } = definition;
  return {
    feedId: id,
    name,
    active,
    sendToNewPF,
    visible,
    currencyISOCode: directory.currencyOf(definition) ?? '',
    languageISOCode: language,
    secret,
    numberOfUnmappedCategories: counts.posted.filter(({ tdCategoryId }) => tdCategoryId === undefined).length,
    numberOfProducts: counts.products,
    lastModifiedTime: version === undefined ? null : version.at.replace(/Z$/, '+0000'),
    programs: programIds.flatMap((programId) => {
      const program = directory.program(programId);
      return program === undefined ? [] : [{ programId, name: program.name }];
    }),
  };
}

/** Feeds with what is counted of them. */
export async function listedFeeds(
  feeds: readonly FeedDefinition[],
  counted: CountedFeeds,
  directory: Directory,
): Promise<FeedList> {
  const counts = await counted.of(feeds.map(({ id }) => id));
  return {
    feeds: feeds.flatMap((one, at) => {
      const count = counts[at];
      return count === undefined ? [] : [toListedFeed(one, count, directory)];
    }),
  };
}

const writeFeeds = xmlWriter(xmlFeeds);

export function toXmlFeeds(list: FeedList, vendor: string): XmlElement {
  return { result: { $: rootAttributes(vendor), ...writeFeeds(list) } };
}

/** Queries of whole feeds: counts of their products, joined with the directory. */
@Injectable()
export class FeedQueries {
  constructor(
    private readonly counted: CountedFeeds,
    private readonly follower: FollowedDirectory,
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly readModels: WaitForReadModels,
  ) {}

  /** Document 1, Category tree: with the products of the caller's feeds. */
  async categoryTrees(caller: Caller, language?: string): Promise<CategoryTrees> {
    const { directory } = this.follower;
    const feeds = await this.counted.of(directory.feedsOf(caller).map(({ id }) => id));
    return categoryTreesOf(
      directory,
      feeds.map(({ counts }) => counts),
      language,
    );
  }

  /** Document 1, Category mapping status; without `state`, both. */
  async mappings(
    feedIds: readonly number[],
    state?: CategoryMapping['state'],
  ): Promise<Iterable<CategoryMapping>> {
    const { directory } = this.follower;
    const feeds = await this.counted.of(feedIds);
    return (function* () {
      for (const { feedId, counts } of feeds)
        for (const mapping of mappingsOf(directory, feedId, counts))
          if (state === undefined || mapping.state === state) yield mapping;
    })();
  }

  /** Document 1, Feed list. */
  async list(feeds: readonly FeedDefinition[]): Promise<FeedList> {
    return await listedFeeds(feeds, this.counted, this.follower.directory);
  }

  /** The last posts to a feed: the report waits for them, not they for it (`docs/decisions.md#x35`). */
  async imports(feedId: number, query: QueryOptions = {}): Promise<AsyncIterable<Iterable<ReportedImport>>> {
    await this.readModels.afterWrite(
      { position: await this.log.head(), changes: 1 },
      { readModels: 'loads' },
    );
    return await lastImports(this.store, feedId, query);
  }
}
