import { z } from 'zod';
import { categoryMappings } from '../../categories/category-mappings';
import { type OperationText, type Shape } from '../../wire/description';
import { outcomes } from '../../categories/change-mappings';

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

const report = z.strictObject({
  report: z.array(
    z.strictObject({
      line: z.int().describe('Line of the CSV, or index in the JSON list, from 1'),
      outcome: z.enum(outcomes),
      message: z.string().optional(),
    }),
  ),
});

const suggested = z.strictObject({
  suggestions: z.array(
    z.strictObject({
      feedId: z.int().optional(),
      categoryName: z.string(),
      productCount: z.int().optional(),
      suggestions: z.array(
        z.strictObject({
          categoryId: z.string(),
          path: z.string().describe('The English names from the root'),
          score: z.number().min(0).max(1),
        }),
      ),
    }),
  ),
});

const REPORT: Shape = { name: 'MappingReport', json: report };
const FEEDS = { fid: '1001' } as const;

/** Descriptions of the operations on category mappings (`docs/decisions.md#x60`). */
export const mappingOperations = {
  listMappings: {
    id: 'listMappings',
    summary: 'List the category mappings of feeds',
    description: 'Includes mapped names that no product has.',
    example: FEEDS,
    answer: { name: 'CategoryMappings', json: categoryMappings },
  },
  suggestMappings: {
    id: 'suggestMappings',
    summary: 'Suggest platform categories for names',
    description:
      'Best first, with scores from 0 to 1. For feeds, the 1,000 unmapped names with the most products.',
    example: { ...FEEDS, most: 3 },
    answer: { name: 'SuggestedMappings', json: suggested },
  },
  changeMappings: {
    id: 'changeMappings',
    summary: 'Map and unmap category names',
    description:
      'Each line is validated by itself; valid lines take effect. The first line of CSV names the columns, separated by ' +
      'commas, semicolons or tabs. A line without a category unmaps the name. Of several valid lines for one name, the last one counts.',
    example: {},
    body: {
      name: 'PostedMappings',
      json: postedMappings,
      examples: {
        json: { mappings: [{ feedId: 1001, name: 'Audio > Kopfhörer', categoryId: '11' }] },
        csv: 'feedId,name,categoryId\n1001,Audio > Kopfhörer,11\n',
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
