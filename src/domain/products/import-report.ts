import { beginningOf } from '../../kernel/text';
import { defined } from '../../kernel/values';
import { type Shape } from '../../wire/api/description';
import { boolean, instant, integer, text, wordOf } from '../../wire/record/kinds';
import { jsonList, type ListText, type ListView, listWriter } from '../../wire/record/list';
import { type AnswerOf, listOf, record } from '../../wire/record/record';

const fault = record({
  code: { kind: text(), in: 'attribute', description: 'Code of the error' },
  sourceProductId: {
    kind: text(),
    in: 'attribute',
    optional: true,
    description: 'The product; absent if the body as a whole was refused',
  },
  message: { kind: text(), in: 'text', description: 'What is wrong' },
});

const ignoredField = record({
  field: { kind: text(), in: 'attribute', description: 'Path in a product; an attribute is `@name`' },
  products: { kind: integer(), in: 'attribute', description: 'In how many products it was' },
  sourceProductId: { kind: text(), in: 'attribute', optional: true, description: 'One of these' },
});

const attribute = { in: 'attribute' } as const;
const count = { kind: integer(), in: 'attribute' } as const;

const reportedImport = record({
  importId: { kind: text(), ...attribute, description: 'Id of the post' },
  time: { kind: instant(), ...attribute, description: 'When it ended' },
  mode: { kind: wordOf('update', 'replace'), ...attribute, description: 'Whether the feed was replaced' },
  durationMs: { ...count, description: 'Duration in milliseconds' },
  status: { kind: wordOf('done', 'refused'), ...attribute, description: 'Whether the body was usable' },
  new: { ...count, description: 'New products' },
  revised: { ...count, description: 'Changed products' },
  repriced: { ...count, description: 'Products of which only the price changed' },
  unchanged: { ...count, description: 'Unchanged products' },
  removed: { ...count, description: 'Removed products' },
  refused: { ...count, description: 'Refused products' },
  unmapped: {
    ...count,
    optional: true,
    description: 'New and changed products that no category maps: publishers do not see them',
  },
  largeRemoval: {
    kind: boolean(),
    ...attribute,
    optional: true,
    description: 'Whether it replaced a large feed by less than half of it',
  },
  restores: {
    kind: text(),
    ...attribute,
    optional: true,
    description: 'The load or deletion whose changes it has undone',
  },
  fetched: {
    kind: boolean(),
    ...attribute,
    optional: true,
    description: 'Whether the system has fetched it from the source of the feed',
  },
  faults: { kind: listOf(fault, { each: 'fault' }), in: 'content', description: 'What was wrong' },
  moreFaults: { ...count, optional: true, description: 'Faults that are not listed' },
  ignoredFields: {
    kind: listOf(ignoredField, { each: 'ignoredField' }),
    in: 'content',
    optional: true,
    description: 'Posted fields that are unknown and were ignored: the first 100 different ones',
  },
});
export type ReportedImport = AnswerOf<typeof reportedImport>;

const IMPORTS = listOf(reportedImport, { each: 'import' });

/** The load report of a feed (`docs/decisions.md#p30`; in XML `#x35`). */
export const IMPORT_REPORT = {
  name: 'ImportReport',
  kind: record({ imports: { kind: IMPORTS, description: 'The last posts, the latest first' } }),
  xml: { file: 'Imports_v1_0.xsd' },
} as const satisfies Shape;

const asXml = listWriter({ kind: IMPORTS, xml: { file: '', root: 'imports' } });

/** How the report is written: in JSON its list is in an object. */
export function importsText(view: ListView): ListText<ReportedImport> {
  return view.format === 'xml' ? asXml(view) : jsonList(view, { before: {}, name: 'imports' });
}

/** A posted field that the document does not name: in how many products it was, and an example of these. */
export interface IgnoredField {
  /** Its path in a product, list indexes left out: `colour`, `categories.colour`; an attribute is `@colour`. */
  readonly field: string;
  readonly products: number;
  /** Absent if the example has no usable id. */
  readonly sourceProductId?: string;
}

/** Different fields that are counted, and characters of a path. */
const MOST = { fields: 100, characters: 100 } as const;

type OfProducts = Omit<IgnoredField, 'sourceProductId'> & { readonly sourceProductId?: string | undefined };

interface CountedField {
  products: number;
  readonly example: string | undefined;
  /** The last product counted, by its place in the body. */
  last: number;
}

/** Counts the unknown fields of posted products (`docs/decisions.md#a15`): the first 100 different ones. */
export class IgnoredFields {
  private readonly fields = new Map<string, CountedField>();

  /** Counts a field of the product at a place of the body, once for each product. */
  add(path: string, sequence: number, sourceProductId: string | undefined): void {
    const field = beginningOf(path, MOST.characters);
    const known = this.fields.get(field);
    if (known?.last === sequence) return;
    this.count({ field, products: 1, sourceProductId }, sequence);
  }

  addAll(others: readonly IgnoredField[]): void {
    for (const other of others) this.count(other, 0);
  }

  /** By name. */
  listed(): readonly IgnoredField[] {
    return [...this.fields]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, { products, example }]) => defined({ field, products, sourceProductId: example }));
  }

  private count({ field, products, sourceProductId }: OfProducts, last: number): void {
    const known = this.fields.get(field);
    if (known !== undefined) {
      known.products += products;
      known.last = last;
    } else if (this.fields.size < MOST.fields) {
      this.fields.set(field, { products, example: sourceProductId, last });
    }
  }
}
