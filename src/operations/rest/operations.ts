import { CATEGORY_MAPPINGS } from '../../network/categories/category-mappings';
import { outcomes } from '../../network/categories/change-mappings';
import { type OperationText, type Shape } from '../../wire/api/description';
import { listOf, record } from '../../wire/record/record';
import { integer, score, text, wordOf } from '../../wire/record/kinds';

/** Lines in one post. */
export const MOST = 10_000;

/** A posted change; without `categoryId` a name is unmapped. */
export const postedMapping = record({
  feedId: { kind: integer(), required: true, description: 'Feed', example: 1001 },
  name: {
    kind: text({ isSearched: true }),
    required: true,
    description: 'The advertiser’s name',
    example: 'Audio > Kopfhörer',
  },
  categoryId: {
    kind: text({ isSearched: true, orInteger: true }),
    description: 'The platform category; without it, the name is unmapped',
    example: '111',
  },
});

const REPORT = {
  name: 'MappingReport',
  kind: record({
    report: {
      kind: listOf(
        record({
          line: { kind: integer(), description: 'Line of the CSV, or index in the JSON list, from 1' },
          outcome: { kind: wordOf(...outcomes), description: 'Outcome of the line' },
          message: { kind: text(), optional: true, description: 'Why it was refused' },
        }),
        { each: 'line' },
      ),
      description: 'One for each line',
    },
  }),
} as const satisfies Shape;

const suggestion = record(
  {
    categoryId: { kind: text(), description: 'Id of the category' },
    path: { kind: text(), description: 'Its names from the root, in English' },
    score: { kind: score(), description: 'The best is 1' },
  },
  { name: 'SuggestedCategory' },
);

const SUGGESTED = {
  name: 'SuggestedMappings',
  kind: record({
    suggestions: {
      kind: listOf(
        record({
          feedId: { kind: integer(), optional: true, description: 'Feed' },
          categoryName: { kind: text(), description: 'The advertiser’s name' },
          productCount: { kind: integer(), optional: true, description: 'Products that have it' },
          suggestions: {
            kind: listOf(suggestion, { each: 'suggestion' }),
            description: 'Categories, the best first',
          },
        }),
        { each: 'mapping' },
      ),
      description: 'One for each name',
    },
  }),
} as const satisfies Shape;

const FEEDS = { fid: [1001] } as const;

/** Descriptions of the operations on category mappings (`docs/decisions.md#x60`). */
export const mappingOperations = {
  listMappings: {
    id: 'listMappings',
    summary: 'List the category mappings of feeds',
    description: 'Includes mapped names that no product has.',
    example: FEEDS,
    answer: { name: CATEGORY_MAPPINGS.name, kind: CATEGORY_MAPPINGS.kind },
  },
  suggestMappings: {
    id: 'suggestMappings',
    summary: 'Suggest platform categories for names',
    description:
      'Best first, with scores from 0 to 1. For feeds, the 1,000 unmapped names with the most products.',
    example: { ...FEEDS, most: 3 },
    answer: SUGGESTED,
  },
  changeMappings: {
    id: 'changeMappings',
    summary: 'Map and unmap category names',
    description:
      'Each line is validated separately; valid lines take effect. The first line of CSV names the columns, separated by ' +
      'commas, semicolons or tabs. A line without a category unmaps the name. Of several valid lines for one name, the last one counts. ' +
      'At most 16 MiB, 10,000 lines of JSON, each of at most 64 KiB, or 200,000 of CSV.',
    example: {},
    body: {
      name: 'PostedMappings',
      kind: record({
        mappings: {
          kind: listOf(postedMapping, { each: 'mapping', most: MOST }),
          required: true,
          description: 'One for each name',
        },
      }),
      examples: {
        csv: 'feedId,name,categoryId\n1001,Audio > Kopfhörer,111\n',
      },
    },
    answer: REPORT,
    partly: 'The report lists the refused lines; the others have taken effect.',
  },
  unmapName: {
    id: 'unmapName',
    summary: 'Unmap a category name',
    example: { fid: 1001, name: 'Audio > Kopfhörer' },
    answer: REPORT,
    partly: 'The change was refused; see the report.',
  },
} as const satisfies Readonly<Record<string, OperationText>>;
