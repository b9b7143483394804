import fc from 'fast-check';
import { colonsIn, membersIn, noteRepeated } from '../../src/wire/json/read';
import { notesOf, type Posted } from '../../src/wire/api/posted';

const repeatedIn = (text: string): readonly string[] => {
  const value = JSON.parse(text) as Posted;
  noteRepeated(value, () => text);
  return [...(notesOf(value)?.repeated ?? [])];
};

describe('members of JSON (decisions A21)', () => {
  it('are as many in a text as in what it is parsed to', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1), (value, spaces) => {
        const text = JSON.stringify(value, null, spaces);
        expect(colonsIn(text)).toBe(membersIn(JSON.parse(text)));
      }),
    );
  });

  it('that are repeated are noted, and no others', () => {
    const name = fc.constantFrom('a', 'b', '":', '\\', '__proto__', 'constructor', '1');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.jsonValue({ maxDepth: 2 })), { minLength: 1 }), (members) => {
        const names = members.map(([one]) => one);
        const text = `{${members.map(([one, value]) => `${JSON.stringify(one)}:${JSON.stringify(value)}`).join(',')}}`;
        const twice = names.filter((one, at) => names.indexOf(one) !== at);
        expect(repeatedIn(text)).toEqual([...new Set(twice)]);
      }),
    );
  });

  it.each([
    ['{"a":{"b":1,"b":1},"c":[{"d":1},{"d":1,"d":2}]}', ['a.b', 'c[1].d']],
    [String.raw`{"orderValue":1,"order\u0056alue":2}`, ['orderValue']],
    [String.raw`{"a":"\\","b":"\":","c":":\\\":"}`, []],
  ])('are named by their paths: %s', (text, paths) => {
    expect(repeatedIn(text)).toEqual(paths);
  });
});
