import { Directory } from '../../src/directory/directory';
import { type DirectoryEvent } from '../../src/directory/events';
import { AT, small } from './small-directory';

describe('Categories', () => {
  it('are found by their names in any language, all of them (decisions P13, P29)', () => {
    const ids = (name: string): readonly string[] =>
      small()
        .categoriesNamed(name)
        .map(({ id }) => id);
    expect(ids('Lykter')).toEqual(['42']);
    expect(ids('Luci')).toEqual(['42', '81']);
    expect(ids('luci')).toEqual([]);
  });

  it('have descendants, themselves among them (decisions P5)', () => {
    expect(small().descendantsOf('4')).toEqual(['4', '42', '421']);
    expect(small().descendantsOf('421')).toEqual(['421']);
    expect(small().descendantsOf('5')).toEqual([]);
  });

  it('are mapped by a feed to the letter of the name, while they are there (decisions P13, A11)', () => {
    const directory = small();
    expect(directory.mappingOf(401, 'Luci  posteriori')).toBe('421');
    expect(directory.mappingOf(401, 'Luci posteriori')).toBeUndefined();
    expect(directory.mappingOf(301, 'Luci  posteriori')).toBeUndefined();
    directory.evolve({ type: 'CategoryRemoved', data: { id: '421', at: AT } });
    expect(directory.mappingOf(401, 'Luci  posteriori')).toBeUndefined();
  });

  const changes: readonly [string, DirectoryEvent, readonly object[]][] = [
    [
      'a new one: its id, its names',
      {
        type: 'CategoryDefined',
        data: { id: '9', parentId: null, names: { en: 'Toys', it: 'Luci' }, at: AT },
      },
      [
        { posted: 'id', value: '9' },
        { posted: 'tdCategoryName', value: 'Toys' },
        { posted: 'tdCategoryName', value: 'Luci' },
      ],
    ],
    [
      'one renamed: names lost and gained',
      { type: 'CategoryDefined', data: { id: '8', parentId: null, names: { en: 'House' }, at: AT } },
      [
        { posted: 'tdCategoryName', value: 'Home' },
        { posted: 'tdCategoryName', value: 'House' },
      ],
    ],
    [
      'one moved: nothing',
      { type: 'CategoryDefined', data: { id: '8', parentId: '4', names: { en: 'Home' }, at: AT } },
      [],
    ],
    [
      'one removed: its id, what feeds map to it, its names',
      { type: 'CategoryRemoved', data: { id: '421', at: AT } },
      [
        { posted: 'id', value: '421' },
        { posted: 'name', feedId: 401, value: 'Luci  posteriori' },
        { posted: 'tdCategoryName', value: 'Rear lights' },
      ],
    ],
    [
      'a name mapped',
      { type: 'CategoryMapped', data: { feedId: 301, name: 'Lykter', categoryId: '42', at: AT } },
      [{ posted: 'name', feedId: 301, value: 'Lykter' }],
    ],
    [
      'a name mapped as before: nothing',
      { type: 'CategoryMapped', data: { feedId: 301, name: 'Lys & reflekser', categoryId: '42', at: AT } },
      [],
    ],
    [
      'a name no longer mapped',
      { type: 'CategoryUnmapped', data: { feedId: 301, name: 'Lys & reflekser', at: AT } },
      [{ posted: 'name', feedId: 301, value: 'Lys & reflekser' }],
    ],
    ['something else: nothing', { type: 'FeedRemoved', data: { id: 301, at: AT } }, []],
  ];
  it.each(changes)('tell what products can be mapped by anew (decisions P13): %s', (_, event, expected) => {
    expect(small().evolve(event)).toEqual(expected);
  });

  it('tell of mappings that were there before the category they name', () => {
    const directory = new Directory();
    directory.evolve({ type: 'CategoryMapped', data: { feedId: 1, name: 'Lamps', categoryId: '7', at: AT } });
    expect(directory.mappingOf(1, 'Lamps')).toBeUndefined();
    const born = directory.evolve({
      type: 'CategoryDefined',
      data: { id: '7', parentId: '6', names: { en: 'Light' }, at: AT },
    });
    expect(born).toContainEqual({ posted: 'name', feedId: 1, value: 'Lamps' });
    expect(directory.mappingOf(1, 'Lamps')).toBe('7');
  });
});
