import { faultsOf } from '../../src/kernel/fault';
import { Refusals } from '../../src/wire/api/posted';
import { listOf, record, type RecordKind } from '../../src/wire/record/record';
import { exampleOf, xmlExampleOf, xmlWriter } from '../../src/wire/record/document';
import { JsonSchemas } from '../../src/wire/api/openapi';
import { boolean, idOf, integer, text, wordOf } from '../../src/wire/record/kinds';
import { parseXml, postedFromXml } from '../../src/wire/xml/nodes';
import { recordReader } from '../../src/wire/record/read';

const now = new Date('2026-03-01');
const { bad } = faultsOf({ bad: ['1', 400, 'Bad'] });
const PROBLEMS = { missing: bad, notNumeric: bad, malformedUrl: bad, malformedPrice: bad, unusable: bad };

const line = record({
  sku: { kind: text({ maxBytes: 5 }), in: 'attribute', required: true, description: 'Article', example: 'A' },
  count: { kind: integer(), in: 'text', required: true, description: 'Pieces', example: 2 },
});

const order = record({
  id: { kind: integer(), in: 'attribute', required: true, description: 'Id', example: 7 },
  kind: { kind: idOf({ 1: { name: 'sale' }, 2: { name: 'lead' } }), description: 'Kind', example: 1 },
  state: { kind: wordOf('open', 'done'), otherwise: 'open', description: 'State' },
  lines: { kind: listOf(line, { each: 'line', isNoneIfEmpty: true }), required: true, description: 'Lines' },
  tags: { kind: listOf(text(), { each: 'tag', most: 2 }), in: 'content', description: 'Tags' },
  buyer: {
    kind: record({ name: { kind: text(), required: true, description: 'Name' } }),
    description: 'Buyer',
    optional: true,
  },
  isNew: { kind: boolean(), description: 'First one' },
});

const read = recordReader(order);

function faultsIn(posted: Readonly<Record<string, unknown>>): readonly string[] {
  const refusals = new Refusals(PROBLEMS);
  read(posted, refusals);
  return refusals.faults.map(({ message }) => message);
}

const answer = {
  id: 7,
  kind: 1,
  state: 'done',
  lines: [{ sku: 'A', count: 2 }],
  tags: ['x', 'y'],
  buyer: { name: 'N & N' },
  isNew: true,
} as const;

describe('a record described by a table', () => {
  it('is read from XML as it was written', () => {
    const xml = `<order id="7"><kind>1</kind><state>done</state><lines><line sku="A"> 2 </line></lines><tag>x</tag><tag>y</tag><buyer><name>N &amp; N</name></buyer><isNew>TRUE</isNew></order>`;
    const refusals = new Refusals(PROBLEMS);
    expect(read(postedFromXml(order, parseXml(Buffer.from(xml))), refusals)).toEqual(answer);
    expect(refusals.areNone).toBe(true);
    expect(xmlWriter(order)(answer)).toMatchObject({
      $: { id: 7 },
      lines: { line: [{ $: { sku: 'A' }, _: 2 }] },
      tag: ['x', 'y'],
    });
  });

  it('has what a post leaves out, and nothing that it does not name', () => {
    const found = read({ id: '7', lines: [{ sku: 'A', count: 1 }], color: 'red' }, new Refusals(PROBLEMS));
    expect(found).toEqual({ id: 7, state: 'open', lines: [{ sku: 'A', count: 1 }] });
  });

  it('collects all faults, each with the place of its value', () => {
    const lines = [{ sku: 'A' }, { sku: 'too long', count: 'x' }];
    expect(faultsIn({ kind: 3, lines, tags: ['a', 'b', 'c'], buyer: 'B', state: 'shut' })).toEqual([
      'id must be set',
      "kind: expected one of 1 (sale), 2 (lead), got '3'",
      "state: expected one of open, done, got 'shut'",
      'lines[0].count must be set',
      'lines[1].sku has 8 bytes: expected at most 5',
      "lines[1].count: expected an integer, got 'x'",
      `tags: expected a list of at most 2 values, got '["a","b","c"]'`,
      "buyer: expected an object, got 'B'",
    ]);
    expect(faultsIn({ id: 1, lines: [] })).toEqual(['lines must be set: at least one line']);
  });

  it('lists no more faults than are wanted, and counts the others', () => {
    const refusals = new Refusals(PROBLEMS, {}, 1);
    read({}, refusals);
    expect([refusals.faults.length, refusals.moreFaults]).toEqual([1, 1]);
  });

  it('makes an example of those of its fields, in JSON and in XML', () => {
    expect(exampleOf(order, now)).toEqual({ id: 7, kind: 1, lines: [{ sku: 'A', count: 2 }] });
    const xml = parseXml(Buffer.from(xmlExampleOf(order, { file: '', root: 'order' }, now)));
    expect(faultsIn(postedFromXml(order, xml))).toEqual([]);
    const year = { kind: integer(), description: 'Year', example: (at: Date) => at.getUTCFullYear() };
    expect(exampleOf(record({ year }), now)).toEqual({ year: 2026 });
  });

  it('requires in JSON what a post has to set, or what an answer always has', () => {
    const schemas = new JsonSchemas();
    schemas.add('Post', order, 'posted');
    schemas.add('Answer', order, 'answered');
    expect(schemas.byName).toMatchObject({
      Post: { required: ['id', 'lines'] },
      Answer: {
        required: ['id', 'kind', 'state', 'lines', 'tags', 'isNew'],
        additionalProperties: false,
      },
    });
  });

  it('may contain itself: it is read at any depth, and its example is of one level', () => {
    const tree: RecordKind = record({
      name: { kind: text(), required: true, description: 'Name', example: 'Root' },
      below: { kind: listOf((): RecordKind => tree, { each: 'tree' }), description: 'Below it' },
    });
    const refusals = new Refusals(PROBLEMS);
    const posted = { name: 'a', below: [{ name: 'b', below: [{ name: 'c' }, {}] }] };
    const found = recordReader(tree)(posted, refusals);
    expect(found).toEqual(posted);
    expect(refusals.faults.map(({ message }) => message)).toEqual(['below[0].below[1].name must be set']);
    expect(exampleOf(tree, now)).toEqual({ name: 'Root' });
  });
});
