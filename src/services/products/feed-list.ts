import { type Directory } from '../../network/directory';
import { type FeedDefinition } from '../../network/events';
import { type Shape } from '../../wire/api/description';
import { type AnswerOf, listOf, prefixed, record } from '../../wire/record/record';
import { documentWriter } from '../../wire/record/document';
import { boolean, integer, text, textOrNone } from '../../wire/record/kinds';
import { xmlWriter } from '../../wire/record/xml';
import { type XmlElement } from '../../wire/xml/write';
import { type CountedFeed } from './feed-counts.queries';
import { rootAttributes } from './output-xml';

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
type Feed = AnswerOf<typeof feed>;

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
export function toListedFeed(
  definition: FeedDefinition,
  { counts, version }: CountedFeed,
  directory: Directory,
): Feed {
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

export const toXmlLastUpdated = documentWriter(LAST_UPDATED);
