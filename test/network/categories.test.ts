import { Directory } from '../../src/network/directory';
import { type DirectoryEvent } from '../../src/network/events';
import { AT, small } from './small-directory';

describe('Categories', () => {
  it('are all found by name in any language (decisions P13, P29)', () => {
    const ids = (name: string): readonly string[] =>
      small()
        .categories.named(name)
        .map(({ id }) => id);
    expect(ids('Lykter')).toEqual(['42']);
    expect(ids('Luci')).toEqual(['42', '81']);
    expect(ids('luci')).toEqual([]);
  });

  it('have descendants, including themselves (decisions P5)', () => {
    expect(small().categories.descendantsOf('4')).toEqual(['4', '42', '421']);
    expect(small().categories.descendantsOf('421')).toEqual(['421']);
    expect(small().categories.descendantsOf('5')).toEqual([]);
  });

  it('are mapped by the exact name, while they exist (decisions P13, A11)', () => {
    const directory = small();
    expect(directory.mappingOf(401, 'Luci  posteriori')).toBe('421');
    expect(directory.mappingOf(401, 'Luci posteriori')).toBeUndefined();
    expect(directory.mappingOf(301, 'Luci  posteriori')).toBeUndefined();
    directory.evolve({ type: 'CategoryRemoved', data: { id: '421', at: AT } });
    expect(directory.mappingOf(401, 'Luci  posteriori')).toBeUndefined();
  });

  const changes: readonly [string, DirectoryEvent, readonly object[]][] = [
    [
      'a new category: its id and its names',
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
      'a renamed category: old and new names',
      { type: 'CategoryDefined', data: { id: '8', parentId: null, names: { en: 'House' }, at: AT } },
      [
        { posted: 'tdCategoryName', value: 'Home' },
        { posted: 'tdCategoryName', value: 'House' },
      ],
    ],
    [
      'a moved category: nothing',
      { type: 'CategoryDefined', data: { id: '8', parentId: '4', names: { en: 'Home' }, at: AT } },
      [],
    ],
    [
      'a removed category: its id, the mappings to it, and its names',
      { type: 'CategoryRemoved', data: { id: '421', at: AT } },
      [
        { posted: 'id', value: '421' },
        { posted: 'name', feedId: 401, value: 'Luci  posteriori' },
        { posted: 'tdCategoryName', value: 'Rear lights' },
      ],
    ],
    [
      'a new mapping',
      { type: 'CategoryMapped', data: { feedId: 301, name: 'Lykter', categoryId: '42', at: AT } },
      [{ posted: 'name', feedId: 301, value: 'Lykter' }],
    ],
    [
      'an unchanged mapping: nothing',
      { type: 'CategoryMapped', data: { feedId: 301, name: 'Lys & reflekser', categoryId: '42', at: AT } },
      [],
    ],
    [
      'a removed mapping',
      { type: 'CategoryUnmapped', data: { feedId: 301, name: 'Lys & reflekser', at: AT } },
      [{ posted: 'name', feedId: 301, value: 'Lys & reflekser' }],
    ],
    ['another event: nothing', { type: 'FeedRemoved', data: { id: 301, at: AT } }, []],
  ];
  it.each(changes)('report which products a change may affect (decisions P13): %s', (_, event, expected) => {
    expect(small().evolve(event)).toEqual(expected);
  });

  it('report mappings that are older than their category', () => {
    const directory = new Directory();
    directory.evolve({ type: 'CategoryMapped', data: { feedId: 1, name: 'Lamps', categoryId: '7', at: AT } });
    expect(directory.mappingOf(1, 'Lamps')).toBeUndefined();
    const changes = directory.evolve({
      type: 'CategoryDefined',
      data: { id: '7', parentId: '6', names: { en: 'Light' }, at: AT },
    });
    expect(changes).toContainEqual({ posted: 'name', feedId: 1, value: 'Lamps' });
    expect(directory.mappingOf(1, 'Lamps')).toBe('7');
  });
});
