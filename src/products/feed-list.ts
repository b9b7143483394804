import { z } from 'zod';
import { type Directory } from '../directory/directory';
import { type FeedDefinition } from '../directory/events';
import { type XmlElement } from '../wire/xml-write';
import { type CountedFeed } from './feed-counts.queries';

const feed = z.object({
  feedId: z.int(),
  name: z.string(),
  active: z.boolean(),
  sendToNewPF: z.boolean(),
  visible: z.boolean(),
  currencyISOCode: z.string(),
  languageISOCode: z.string(),
  secret: z.boolean(),
  numberOfUnmappedCategories: z.int(),
  numberOfProducts: z.int(),
  /** `2026-04-17T15:57:00.470+0000`; null for a feed never loaded (`docs/decisions.md#p22`, `#x29`). */
  lastModifiedTime: z.string().nullable(),
  programs: z.array(z.object({ programId: z.int(), name: z.string() })),
});
type Feed = z.infer<typeof feed>;

/** Document 1, Feed (publisher feed list). */
export const feedList = z.object({ feeds: z.array(feed) });
export type FeedList = z.infer<typeof feedList>;

/** A feed of the list, with what it holds at present. */
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

/** The list as XML has it (`docs/decisions.md#p22b`). */
export function toXmlFeeds({ feeds }: FeedList): XmlElement {
  const toElement = ({ programs, lastModifiedTime, ...fields }: Feed): XmlElement => ({
    ...fields,
    lastModifiedTime: lastModifiedTime ?? '',
    programs: { program: programs },
  });
  return { result: { $: { version: '3.0' }, feeds: { feed: feeds.map(toElement) } } };
}
