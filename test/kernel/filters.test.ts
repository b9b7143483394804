import { allOf, EVERYTHING, filtersOn } from '../../src/kernel/query';

const { among, between, text } = filtersOn<'feedId' | 'price' | 'title'>();

it.each([
  ['one of several values', among('feedId', [1, 2]), { field: 'feedId', in: [1, 2] }],
  ['one of no values: nothing matches', among('feedId', []), { field: 'feedId', in: [] }],
  ['any value', among('feedId', undefined), undefined],
  ['two bounds', between('price', { min: 0, max: 5 }), { field: 'price', min: 0, max: 5 }],
  ['one bound', between('price', { min: undefined, max: 0 }), { field: 'price', max: 0 }],
  ['no bounds', between('price', {}), undefined],
  [
    'words of one alternative or of the other',
    text(['title'], [['red', 'lamp'], ['desk']]),
    {
      any: [
        { words: ['red', 'lamp'], within: ['title'] },
        { words: ['desk'], within: ['title'] },
      ],
    },
  ],
  [
    'alternatives and words that are repeated: each once',
    text(
      ['title'],
      [[{ prefixes: ['la'] }], ['red', 'lamp', 'red'], [{ prefixes: ['la'] }], ['red', 'lamp']],
    ),
    {
      any: [
        { words: [{ prefixes: ['la'] }], within: ['title'] },
        { words: ['red', 'lamp'], within: ['title'] },
      ],
    },
  ],
  ['an alternative without words: everything matches', text(['title'], [['red'], []]), EVERYTHING],
  ['any text', text(['title'], undefined), undefined],
])('a filter for %s', (_, filter, expected) => expect(filter).toEqual(expected));

it('a filter of several has those that are given', () => {
  const lamps = among('title', ['lamp']);
  expect(allOf(undefined, lamps, between('price', {}))).toEqual({ all: [lamps] });
  expect(allOf()).toEqual(EVERYTHING);
});
