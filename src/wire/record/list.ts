import { type CsvCell, csvLines } from '../csv/write';
import { type Shape } from '../api/description';
import { type Format } from '../api/format';
import { jsonList, type ListText, xmlList } from './list-text';
import { type AnswerOf, isAlways, type List, type RecordKind } from './record';
import { documentWriter } from './document';
import { xmlWriter } from './xml';

/** How a list is written. */
export interface ListView {
  readonly format: Format;
  readonly pretty: boolean;
}

/**
 * Compiles the table of a list of records into how the list is written. In CSV the fields that are always there are the
 * columns, in the order of the table, unless all fields are.
 */
export function listWriter<K extends RecordKind>(
  shape: Omit<Shape<List<K>>, 'name'>,
): (view: ListView) => ListText<AnswerOf<K>> {
  const { of, each } = shape.kind;
  const { root = each } = shape.xml ?? {};
  const toXml = xmlWriter(of());
  const empty = documentWriter(shape)([]);
  const csv = csvText(of(), shape.hasAllColumns === true);
  return (view) => {
    if (view.format === 'csv') return csv;
    if (view.format !== 'xml') return jsonList(view);
    const text = xmlList(view, empty, { list: root, item: each, depth: 0 });
    return { ...text, item: (one, isFirst) => text.item(toXml(one), isFirst) };
  };
}

function csvText<K extends RecordKind>({ fields }: K, hasAll: boolean): ListText<AnswerOf<K>> {
  const columns = Object.entries(fields).flatMap(([name, field]) => {
    const { kind } = field;
    return kind.is === 'scalar' && (hasAll || isAlways(field, 'answered'))
      ? [{ name, write: kind.answered.write as (value: unknown) => CsvCell }]
      : [];
  });
  const lineOf = csvLines([','], '"');
  const head = lineOf(columns.map(({ name }) => name));
  const item = (one: AnswerOf<K>): string => {
    const values = one as Readonly<Record<string, unknown>>;
    return lineOf(
      columns.map(({ name, write }) => {
        const value = values[name];
        return value === undefined ? undefined : write(value);
      }),
    );
  };
  return { empty: head, head, item, foot: '' };
}
