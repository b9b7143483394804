import { z } from 'zod';
import { type XmlElement } from '../wire/xml-write';

const fault = z.object({
  code: z.string(),
  /** Absent where it is the body that was refused. */
  sourceProductId: z.string().optional(),
  message: z.string(),
});

const reportedImport = z.object({
  importId: z.string(),
  /** When it ended: `2026-04-17T15:57:00.470Z`. */
  time: z.string(),
  mode: z.enum(['update', 'replace']),
  durationMs: z.int(),
  status: z.enum(['done', 'refused']),
  new: z.int(),
  revised: z.int(),
  repriced: z.int(),
  unchanged: z.int(),
  removed: z.int(),
  refused: z.int(),
  faults: z.array(fault),
  /** Faults that are not listed. */
  moreFaults: z.int().optional(),
});
export type ReportedImport = z.infer<typeof reportedImport>;

/** The load report of a feed (`docs/decisions.md#p30`). */
export const importReport = z.object({ imports: z.array(reportedImport) });

/** The same as XML has it (`docs/decisions.md#x35`). */
export function toXmlImports(imports: readonly ReportedImport[]): XmlElement {
  return { imports: { import: imports.map(toElement) } };
}

function toElement({ faults, ...attributes }: ReportedImport): XmlElement {
  return {
    $: attributes,
    fault: faults.map(({ message, ...its }) => ({ $: its, _: message })),
  };
}
