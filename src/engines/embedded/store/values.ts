import { type Facet, type ValueCount, type ValuesSearch } from '../../../kernel/query';
import { type Count, type Facet as IndexFacet } from '../search/query';
import { type GenerationFile } from './generation-file';
import { type Layout } from './layout';
import { selectionOf } from './selection';

/** How many matching documents have each value, per facet. */
export function countValues(
  { file, index, layout, check }: GenerationFile,
  { filter, facets }: ValuesSearch,
): readonly (readonly ValueCount[])[] {
  return file.reading(() => {
    const selection = selectionOf(filter, layout);
    const wanted = facets.map((facet) => facetOf(facet, layout));
    const counts = index.countFacets(
      selection.filter,
      wanted.map(({ facet }) => facet),
      selection.partitions,
      check,
    );
    return wanted.map(({ valuesOf }, at) => valuesOf(counts[at] ?? []));
  });
}

interface Translated {
  readonly facet: IndexFacet;
  readonly valuesOf: (counts: readonly Count[]) => readonly ValueCount[];
}

function facetOf(facet: Facet, layout: Layout): Translated {
  if ('bounds' in facet) {
    const { name } = layout.field(facet.field, 'number');
    return { facet: { column: name, bounds: facet.bounds }, valuesOf: (counts) => counts };
  }
  if ('near' in facet) {
    const { near, within, size } = facet;
    const after = within.map((name) => layout.field(name, 'words').code);
    return { facet: { near, after, size }, valuesOf: (counts) => counts };
  }
  const { code, type } = layout.facet(facet.field);
  const { size, prefix = '' } = facet;
  const textOf = ({ value }: Count): string => String(value).slice(code.length);
  if (type !== 'number')
    return {
      facet: { startingWith: code + prefix, size },
      valuesOf: (counts) => counts.map((one) => ({ value: textOf(one), count: one.count })),
    };
  return {
    // All of them: numbers are not in the order of their texts.
    facet: { startingWith: code, size: Infinity },
    valuesOf: (counts) =>
      counts
        .map((one) => ({ value: Number(textOf(one)), count: one.count }))
        .sort((a, b) => b.count - a.count || a.value - b.value)
        .slice(0, size),
  };
}
