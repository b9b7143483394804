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
          .describe('The platform category; without it the name is unmapped')
          .exactOptional(),
      }),
    )
    .max(10_000),
});

const report = z.strictObject({
  report: z.array(
    z.strictObject({
      line: z.int().describe('Line of the CSV, or place in the JSON list, from 1'),
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
          path: z.string().describe('Its names from the root, in English'),
          score: z.number().min(0).max(1),
        }),
      ),
    }),
  ),
});

const REPORT: Shape = { name: 'MappingReport', json: report };
const FEEDS = { fid: '1001' } as const;

/** The description of the operations on category mappings (`docs/decisions.md#x60`). */
export const mappingOperations = {
  listMappings: {
    id: 'listMappings',
    summary: 'List what the names of categories in feeds are mapped to',
    description: 'Includes mapped names that no product has.',
    example: FEEDS,
    answer: { name: 'CategoryMappings', json: categoryMappings },
  },
  suggestMappings: {
    id: 'suggestMappings',
    summary: 'Suggest platform categories for names',
    description:
      'The best first, with scores from 0 to 1. Of feeds, the 1,000 unmapped names with the most products.',
    example: { ...FEEDS, most: 3 },
    answer: { name: 'SuggestedMappings', json: suggested },
  },
  changeMappings: {
    id: 'changeMappings',
    summary: 'Map and unmap names of categories',
    description:
      'Each line is validated by itself, and the valid ones are applied. CSV names its columns in the first line, separated by ' +
      'commas, semicolons or tabs. A line without a category unmaps. Of several valid lines for one name the last one counts.',
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
    partly: 'Some lines were refused, see the report; the others are done.',
  },
  unmapName: {
    id: 'unmapName',
    summary: 'Unmap a name',
    example: { fid: 1001, name: 'Audio > Kopfhörer' },
    answer: REPORT,
    partly: 'It was refused, see the report.',
  },
} as const satisfies Readonly<Record<string, OperationText>>;
