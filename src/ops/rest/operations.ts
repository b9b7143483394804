import { z } from 'zod';
import { CATEGORY_MAPPINGS } from '../../categories/category-mappings';
import { outcomes } from '../../categories/change-mappings';
import { type OperationText, type Shape } from '../../wire/description';
import { listOf, record } from '../../wire/record';
import { integer, jsonOf, text, wordOf } from '../../wire/record-kinds';

/** A posted list of changes; without `categoryId` a name is unmapped. */
export const postedMappings = z.strictObject({
  mappings: z
    .array(
      z.strictObject({
        feedId: z.int(),
        name: z.string().describe('The advertiser’s name'),
        categoryId: z
          .union([z.string(), z.int().transform(String)])
          .describe('The platform category; without it, the name is unmapped')
          .exactOptional(),
      }),
    )
    .max(10_000),
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

const suggestion = record({
  categoryId: { kind: text(), description: 'Id of the category' },
  path: { kind: text(), description: 'Its names from the root, in English' },
  score: { kind: jsonOf({ type: 'number', minimum: 0, maximum: 1 }), description: 'The best is 1' },
});

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
      'commas, semicolons or tabs. A line without a category unmaps the name. Of several valid lines for one name, the last one counts.',
    example: {},
    body: {
      name: 'PostedMappings',
      kind: jsonOf(z.toJSONSchema(postedMappings, { io: 'input' })),
      examples: {
        json: { mappings: [{ feedId: 1001, name: 'Audio > Kopfhörer', categoryId: '111' }] },
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
