import fc from 'fast-check';
import { CategoryFaults, readCategories } from '../../../src/network/categories/category-file';

/** Paths by id, to compare trees regardless of order. */
function pathsOf(text: string): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const { id, parentId, name } of readCategories(text).categories)
    paths.set(id, parentId === null ? name : `${paths.get(parentId)} > ${name}`);
  return paths;
}

function faultsOf(text: string): readonly string[] {
  try {
    readCategories(text);
    return [];
  } catch (error) {
    if (error instanceof CategoryFaults) return error.faults;
    throw error;
  }
}

const TREE = [
  ['7', 'Garden'],
  ['71', 'Garden > Tools'],
  ['712', 'Garden > Tools > Spades'],
] as const;

describe('a published category tree (decisions P29)', () => {
  it.each<[string, string]>([
    [
      'lines with ids and dashes',
      '# Version 1\n7 - Garden\n71 - Garden > Tools\n712 - Garden > Tools > Spades\n',
    ],
    ['lines with ids and tabs', '7\tGarden\r\n71\tGarden > Tools\r\n712\tGarden > Tools > Spades'],
    ['lines of ids and paths', '7 > Garden\n71 > Garden > Tools\n712 > Garden>Tools>Spades'],
    ['lines in any order', '712 > Garden > Tools > Spades\n7 > Garden\n71 > Garden > Tools'],
    [
      'nested nodes',
      '{"categories":[{"id":7,"name":"Garden","children":[{"id":"71","name":"Tools","subCategories":[{"id":712,"name":"Spades"}]}]}]}',
    ],
    [
      'nodes with their paths and links to their children',
      '[{"id":"712","name":"Spades","path":[{"id":"7","name":"Garden"},{"id":"71","name":"Tools"},{"id":"712","name":"Spades"}],"subCategories":[{"id":"9","name":"Elsewhere"}]}]',
    ],
    [
      'nodes with their paths as text',
      '[{"id":71,"path":"Garden > Tools"},{"id":712,"full_name":"Garden > Tools > Spades","name":"Spades"},{"id":7,"path":"Garden"}]',
    ],
    [
      'nodes with paths in place of their names',
      '{"version":"1","categories":[{"id":7,"name":"Garden"},{"id":71,"name":"Garden > Tools"},{"id":712,"name":"Garden > Tools > Spades"}]}',
    ],
    [
      'nodes with the ids of their parents, in any order',
      '[{"id":712,"name":"Spades","parentId":71},{"id":71,"name":"Tools","parentId":"7"},{"id":7,"name":"Garden","parentId":null}]',
    ],
    [
      'nodes with the ids of their parents, where 0 is none',
      '[{"id":7,"name":"Garden","parent_id":0},{"id":71,"name":"Tools","parent_id":7},{"id":712,"name":"Spades","parent_id":71}]',
    ],
    [
      'nested nodes with other texts called paths',
      '[{"id":7,"name":"Garden","path":"/garden","children":[{"id":71,"name":"Tools","path":"1/7/71","children":[{"id":712,"name":"Spades","url_path":"x"}]}]}]',
    ],
    [
      'nodes with parents and other texts called paths',
      '[{"id":7,"name":"Garden","parent_id":0,"path":"1/7"},{"id":71,"name":"Tools","parent_id":7,"path":"1/7/71"},{"id":712,"name":"Spades","parent_id":71,"path":"1/7/71/712"}]',
    ],
    ['paths by id', '{"7":"Garden","712":"Garden > Tools > Spades","71":"Garden > Tools"}'],
    ['ids by path', '{"Garden":7,"Garden > Tools":71,"Garden > Tools > Spades":"712"}'],
  ])('is read from %s', (_, text) => {
    expect(pathsOf(text)).toEqual(new Map(TREE));
  });

  it.each([
    ['[{"id":1,"name":"A","parentId":2}]', ['$[0]: expected its parent 2 in the file, and not below itself']],
    [
      '[{"id":1,"name":"A","parentId":2},{"id":2,"name":"B","parentId":1}]',
      ['$[0]: expected its parent 2 in the file, and not below itself'],
    ],
    ['{"error":404}', ['$: expected a list, or an object with one list']],
    ['{"Garden":{"Tools":{}}}', ['$: expected a list, or an object with one list']],
  ])('is refused in another shape, or with a parent that is missing: %s', (text, faults) => {
    expect(faultsOf(text)).toEqual(faults);
  });

  it('gets ids of 15 digits in place of foreign ids, by the id of the source', () => {
    const [first, second] = readCategories(
      '[{"id":"abc001","name":"A"},{"id":"abc002","name":"B"}]',
    ).categories;
    expect(first?.id).toMatch(/^[1-9]\d{14}$/);
    expect(second?.id).not.toBe(first?.id);
    const renamed = readCategories('[{"id":"abc002","name":"B"},{"id":"abc001","name":"Other"}]').categories;
    expect(renamed.map(({ id }) => id)).toEqual([second?.id, first?.id]);
  });

  it('gets ids by path where the source has none, and categories that only occur in paths', () => {
    const paths = pathsOf('Garden > Tools > Spades\nGarden > Hoses');
    expect([...paths.values()].sort()).toEqual([
      'Garden',
      'Garden > Hoses',
      'Garden > Tools',
      'Garden > Tools > Spades',
    ]);
    const nested = '[{"name":"Garden","children":[{"name":"Tools","children":["Spades"]},"Hoses"]}]';
    expect(pathsOf(nested)).toEqual(paths);
  });

  it('gives the same ids at each import, whatever the order of the lines', () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.array(fc.constantFrom('A', 'B', 'C d'), { minLength: 1, maxLength: 4 }), {
          minLength: 1,
          selector: (names) => names.join('>'),
        }),
        fc.nat(),
        (paths, offset) => {
          const lines = paths.map((names) => names.join(' > '));
          const rotated = lines.map((_, at) => lines[(at + offset) % lines.length]!);
          expect(pathsOf(rotated.join('\n'))).toEqual(pathsOf(lines.join('\n')));
        },
      ),
    ));

  it('skips nodes without a name and their descendants, and reports them', () => {
    const text =
      '[{"id":1,"name":"A"},{"id":2,"name":null,"children":[{"id":3,"name":"C"}]},{"id":4,"name":" "}]';
    const { categories, skipped } = readCategories(text);
    expect(categories.map(({ id }) => id)).toEqual(['1']);
    expect(skipped.map(({ location, reason }) => `${location}: ${reason}`)).toEqual([
      '$[1] (2): it has no name',
      '$[1].children[0] (3): its parent 2 is skipped',
      '$[2] (4): it has no name',
    ]);
  });

  it('is refused with all faults and their locations', () => {
    expect(faultsOf('[{"id":1,"name":"A"},5,{"id":{},"name":"B"},{"id":2,"name":7}]')).toEqual([
      '$[1]: expected a category, got 5',
      '$[2].id: expected a string or an integer, got {}',
      '$[3].name: expected a string, got 7',
    ]);
    expect(faultsOf('1 - A\nB\n3 - A\n1 - A > C')).toEqual([
      'line 2: expected an id at the start, as in the first line, got B',
      'line 3: A is a duplicate',
      expect.stringMatching(/^line 4: 1 has another name or parent at line 1$/),
    ]);
  });

  it.each([
    ['', 'expected at least one category'],
    ['# nothing', 'expected at least one category'],
    ['[]', 'expected at least one category'],
    ['[{"name":', /^expected JSON: /],
    ['{"a":[],"b":[]}', '$: expected a list, or an object with one list'],
    [`[{"id":1,"name":"${'n'.repeat(1001)}"}]`, '$[0]: a name of 1001 characters: expected at most 1000'],
    ['[{"id":1,"name":"a\\u0000"}]', '$[0]: "a\\u0000" contains a character that XML forbids'],
    [
      `${'{"c":['.replace('c', 'children').repeat(1)}${'['.repeat(1)}]]}`,
      '$.children[0]: expected a category, got []',
    ],
    [Array(60).fill('A').join(' > '), 'line 1: expected at most 50 levels'],
  ])('is refused: %.60s', (text, fault) => {
    expect(faultsOf(text)).toEqual([typeof fault === 'string' ? fault : expect.stringMatching(fault)]);
  });

  it('is refused when it is too large or too deep', () => {
    const many = Array.from({ length: 50_001 }, (_, n) => `C${n}`).join('\n');
    expect(faultsOf(many)).toEqual(['50001 categories: expected at most 50000']);
    const deep = `${'[{"name":"A","children":'.repeat(5_000)}[]${'}]'.repeat(5_000)}`;
    expect(faultsOf(deep)).toEqual([expect.stringMatching(/: expected at most 50 levels$/)]);
  });
});
