import { EVERYTHING, type Filter } from './query';

/** Inclusive. */
interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Builds filters on the fields of one collection. A criterion that is not given makes no filter. */
export interface FiltersOn<Field extends string> {
  /** The field has one of these values. */
  readonly among: (field: Field, values: readonly (string | number)[] | undefined) => Filter | undefined;
  /** The `number` field is within bounds. */
  readonly between: (field: Field, bounds: Bounds) => Filter | undefined;
  /** All words of one of the alternatives are in the `words` fields; one without words matches everything. */
  readonly text: (
    within: readonly Field[],
    alternatives: readonly (readonly string[])[] | undefined,
  ) => Filter | undefined;
}

const BUILDERS: FiltersOn<string> = {
  among: (field, values) => values && { field, in: values },
  between: (field, { min, max }) =>
    min === undefined && max === undefined
      ? undefined
      : { field, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) },
  text(within, alternatives) {
    if (alternatives === undefined) return undefined;
    if (alternatives.some(({ length }) => length === 0)) return EVERYTHING;
    return { any: alternatives.map((words) => ({ words, within })) };
  },
};

export function filtersOn<Field extends string>(): FiltersOn<Field> {
  return BUILDERS;
}

/** What passes all filters that are given. */
export function allOf(...filters: readonly (Filter | undefined)[]): Filter {
  return { all: filters.filter((filter) => filter !== undefined) };
}
