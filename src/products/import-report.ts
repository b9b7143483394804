import { type Shape } from '../wire/description';
import { type AnswerOf, listOf, record } from '../wire/record';
import { documentWriter } from '../wire/record-document';
import { instant, integer, text, wordOf } from '../wire/record-kinds';

const fault = record({
  code: { kind: text(), in: 'attribute', description: 'Code of the error' },
  sourceProductId: {
    kind: text(),
    in: 'attribute',
    optional: true,
    description: 'The product; absent where it is the body that was refused',
  },
  message: { kind: text(), in: 'text', description: 'What is wrong' },
});

const attribute = { in: 'attribute' } as const;
const count = { kind: integer(), in: 'attribute' } as const;

const reportedImport = record({
  importId: { kind: text(), ...attribute, description: 'Id of the post' },
  time: { kind: instant(), ...attribute, description: 'When it ended' },
  mode: { kind: wordOf('update', 'replace'), ...attribute, description: 'Whether the feed was replaced' },
  durationMs: { ...count, description: 'Duration in milliseconds' },
  status: { kind: wordOf('done', 'refused'), ...attribute, description: 'Whether the body could be used' },
  new: { ...count, description: 'Products that are new' },
  revised: { ...count, description: 'Products that changed' },
  repriced: { ...count, description: 'Products of which the price alone changed' },
  unchanged: { ...count, description: 'Products that were the same' },
  removed: { ...count, description: 'Products that were removed' },
  refused: { ...count, description: 'Products that were refused' },
  faults: { kind: listOf(fault, { each: 'fault' }), in: 'content', description: 'What was wrong' },
  moreFaults: { ...count, optional: true, description: 'Faults that are not listed' },
});
export type ReportedImport = AnswerOf<typeof reportedImport>;

/** The load report of a feed (`docs/decisions.md#p30`; in XML `#x35`). */
export const IMPORT_REPORT = {
  name: 'ImportReport',
  kind: record({
    imports: {
      kind: listOf(reportedImport, { each: 'import' }),
      description: 'The last posts, the latest first',
    },
  }),
  xml: { file: 'Imports_v1_0.xsd' },
} as const satisfies Shape;

export const toXmlImports = documentWriter(IMPORT_REPORT);
