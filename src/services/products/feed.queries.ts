import { Injectable } from '@nestjs/common';
import { lastImports } from '../../../projections/imports';
import { type ReportedImport } from '../../domain/products/feed-imports';
import { WaitForReadModels } from '../../http/visible-writes';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { type CategoryMapping, mappingsOf } from '../../network/categories/category-mappings';
import { type CategoryTrees, categoryTreesOf } from '../../network/categories/category-tree';
import { type Directory } from '../../network/directory';
import { type FeedDefinition } from '../../network/events';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { type Shape } from '../../wire/api/description';
import { boolean, integer, text, textOrNone } from '../../wire/record/kinds';
import { type AnswerOf, listOf, prefixed, record } from '../../wire/record/record';
import { xmlWriter } from '../../wire/record/xml';
import { type XmlElement } from '../../wire/xml/write';
import { type CountedFeed, CountedFeeds } from './feed-states.queries';
import { rootAttributes } from './result-text';

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
  lastModifiedTime: {
    kind: textOrNone(`${TIME}\\+0000`),
    description: 'UTC; null for a feed never loaded',
  },
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

/** File of its XML schema. */
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
  xml: { file: FEED_LIST_FILE, root: 'result', attributes: { version: '3.0' }, kind: xmlFeeds },
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

/** A feed of the list, with its current counts. */
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
    const { directory } = this.follower;
    const counted = await this.counted.of(feeds.map(({ id }) => id));
    return {
      feeds: feeds.flatMap((feed, at) => {
        const one = counted[at];
        return one === undefined ? [] : [toListedFeed(feed, one, directory)];
      }),
    };
  }

  /**
   * The last posts to a feed. They are not held up for the sake of their report: it waits for them
   * (`docs/decisions.md#x35`).
   */
  async imports(feedId: number, query: QueryOptions = {}): Promise<AsyncIterable<Iterable<ReportedImport>>> {
    await this.readModels.afterWrite({ position: await this.log.head(), changes: 1 });
    return await lastImports(this.store, feedId, query);
  }
}
