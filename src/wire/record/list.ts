import { type Shape } from '../api/description';
import { type Format } from '../api/format';
import { type CsvCell, csvLines } from '../csv/rows';
import { writeJson } from '../json/write';
import { writeXml, type XmlContent, type XmlElement, xmlPiece } from '../xml/write';
import { documentWriter, exampleOf, xmlWriter } from './document';
import { type AnswerOf, isAlways, type List, type RecordKind } from './record';

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

/** An example of an answer in CSV, as of now: the columns, and a line. Undefined: it is no list of records. */
export function csvExampleOf({ kind, hasAllColumns }: Shape, now: Date): string | undefined {
  const of = kind.is === 'list' ? kind.of() : kind;
  if (kind.is !== 'list' || of.is !== 'record') return undefined;
  const { head, item } = csvText<RecordKind>(of, hasAllColumns === true);
  return head + item(exampleOf(of, now, 'answered') as AnswerOf<RecordKind>, true);
}

/** The text of a document that is mostly one list, in parts: head, items, foot. Without items it is `empty`. */
export interface ListText<Item> {
  readonly empty: string;
  readonly head: string;
  readonly item: (item: Item, isFirst: boolean) => string;
  readonly foot: string;
}

interface ListLayout {
  readonly pretty: boolean;
}

/** A JSON list, or an object that has one named `name` after other fields: the text of `writeJson`. */
export function jsonList(
  { pretty }: ListLayout,
  around?: { readonly before: Readonly<Record<string, unknown>>; readonly name: string },
): ListText<object> {
  const line = (depth: number): string => (pretty ? `\n${'  '.repeat(depth)}` : '');
  const empty = writeJson(around === undefined ? [] : { ...around.before, [around.name]: [] }, { pretty });
  const at = empty.lastIndexOf('[]');
  const depth = around === undefined ? 0 : 1;
  // In a JSON text no string has a line break.
  const write = (item: object): string => writeJson(item, { pretty }).replaceAll('\n', line(depth + 1));
  return {
    empty,
    head: `${empty.slice(0, at)}[`,
    item: (item, isFirst) => `${isFirst ? '' : ','}${line(depth + 1)}${write(item)}`,
    foot: `${line(depth)}]${empty.slice(at + 2)}`,
  };
}

/**
 * An XML document whose element `list`, at this depth below the root, has elements `item`. `document` has it empty and
 * without attributes, and no other empty one of this name before it.
 */
export function xmlList(
  { pretty }: ListLayout,
  document: XmlElement,
  { list, item: name, depth }: { readonly list: string; readonly item: string; readonly depth: number },
): ListText<XmlContent> {
  const empty = writeXml(document, { pretty });
  const element = `<${list}/>`;
  const at = empty.indexOf(element);
  return {
    empty,
    head: `${empty.slice(0, at)}<${list}>`,
    item: (item) => xmlPiece(name, item, depth + 1, { pretty }),
    foot: `${pretty ? `\n${'  '.repeat(depth)}` : ''}</${list}>${empty.slice(at + element.length)}`,
  };
}

/** The text of a list whose items come in batches: each batch is written as it is iterated. */
export async function* listPieces<Item>(
  { empty, head, item, foot }: ListText<Item>,
  batches: AsyncIterable<Iterable<Item>> | Iterable<Iterable<Item>>,
): AsyncGenerator<Iterable<string>> {
  let count = 0;
  function* written(batch: Iterable<Item>): Generator<string> {
    for (const one of batch) {
      if (count === 0) yield head;
      yield item(one, count === 0);
      count += 1;
    }
  }
  for await (const batch of batches) yield written(batch);
  yield [count === 0 ? empty : foot];
}
