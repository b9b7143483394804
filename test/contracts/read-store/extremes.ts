import { EVERYTHING, type Filter, type Order } from '../../../src/kernel/query';
import { type Document, MAX_ID_BYTES, MAX_TEXT } from '../../../src/kernel/read-store';
import { oracleOf } from '../../support/oracle';
import { at, freshForEach, live, put, type Subject } from './subject';
import { generatedDocuments, OFFERS } from './documents';
import { countedGroups } from './searching';

const target = { collection: OFFERS.name };

/** What some engine would cut, round, refuse or compare in another way. */
export function extremes(subject: Subject): void {
  freshForEach(subject);

  const documentOf = (id: string, fields: Document['fields'] = {}): Document => ({
    id,
    fields: { feedId: 1, groupId: 'g', ...fields },
    body: id,
  });
  const searched = async (filter: Filter, order: readonly Order[] = []) => {
    const { found } = await subject.store().search(target, { filter, order, offset: 0, size: 1_000 });
    return found.map(({ id }) => id);
  };

  const IDS = [
    'a',
    'Z',
    'a b',
    'checkpoint',
    '=a',
    'ä',
    'a\u0308',
    '\uffee',
    '😀',
    '"quoted"\n',
    ...[511, 512, 513, 5_000].map((length) => 'x'.repeat(length)),
    `${'x'.repeat(4_999)}y`,
    '東'.repeat(300),
  ];

  it('ids in the order of their UTF-8 bytes, whatever their characters and length', async () => {
    await live(subject.store(), OFFERS);
    await put(
      subject.store(),
      target,
      IDS.map((id) => documentOf(id, { groupId: id })),
    );
    const expected = [...IDS].sort((a, b) => Buffer.from(a).compare(Buffer.from(b)));
    expect(await searched(EVERYTHING)).toEqual(expected);
    const scanned: string[] = [];
    for await (const batch of subject.store().scan(target, EVERYTHING))
      scanned.push(...batch.map(({ id }) => id));
    expect(scanned).toEqual(expected);
    const { groups } = await subject.store().searchGroups(target, {
      filter: EVERYTHING,
      groupBy: 'groupId',
      within: [],
      order: [],
      offset: 0,
      size: 100,
      members: 1,
    });
    expect(groups.flat().map(({ id }) => id)).toEqual(expected);
    expect((await subject.store().get(target, IDS)).map(({ body }) => body).sort()).toEqual([...IDS].sort());

    await subject.store().write(
      target,
      IDS.slice(1).map((id) => ({ remove: id, version: at(2) })),
      at(2),
    );
    await subject.store().refresh(target);
    expect(await searched(EVERYTHING)).toEqual([IDS[0]]);
    expect(await subject.store().get(target, IDS)).toHaveLength(1);
  });

  it('ids up to the maximum length, and refuses longer ones', async () => {
    await live(subject.store(), OFFERS);
    const ids = ['x'.repeat(MAX_ID_BYTES), '\u6771'.repeat(MAX_ID_BYTES / 4)];
    await put(
      subject.store(),
      target,
      ids.map((id) => documentOf(id)),
    );
    expect(await searched(EVERYTHING)).toEqual(ids);
    for (const id of ['x'.repeat(MAX_ID_BYTES + 1), '\u6771'.repeat(MAX_ID_BYTES / 2)]) {
      const write = subject.store().write(target, [{ put: documentOf(id), version: at(2) }], at(2));
      await expect(write).rejects.toMatchObject({ name: 'UndeclaredField' });
    }
    expect(await subject.store().checkpoint(target)).toBe(at(1));
  });

  it('groups by distinct values of any length, and documents without the value', async () => {
    await live(subject.store(), OFFERS);
    const twice = (groupId: string, n: number) =>
      ['a', 'b'].map((id) => documentOf(`${n}${id}`, { groupId }));
    const bare: Document = { id: 'bare', fields: { feedId: 1 }, body: 'bare' };
    await put(subject.store(), target, ['', ...IDS].flatMap(twice).concat(bare));
    const wanted = { filter: EVERYTHING, groupBy: 'groupId', size: 4 };
    const groups = await countedGroups(subject.store(), target, wanted);
    expect(groups.map(({ one, count }) => [one.id.slice(0, -1), count])).toEqual(
      expect.arrayContaining(['', ...IDS].map((_, n) => [`${n}`, 2])),
    );
    expect(groups).toHaveLength(IDS.length + 1);
  });

  it('distinct words and values of any length', async () => {
    await live(subject.store(), OFFERS);
    const texts = [1, 199, 200, 201, 255, 256, 8_191, 8_192, 32_766, 32_767, 40_000].flatMap((length) => [
      'w'.repeat(length),
      `${'w'.repeat(length - 1)}v`,
    ]);
    await put(
      subject.store(),
      target,
      texts.map((text, n) => documentOf(`d${n}`, { title: ['first', text, 'last'], brand: text })),
    );
    for (const [n, text] of texts.entries()) {
      expect(await searched({ words: [text], within: ['title'] })).toEqual([`d${n}`]);
      expect(await searched({ field: 'brand', in: [text] })).toEqual([`d${n}`]);
    }
    expect(await subject.store().count(target, { words: ['last'], within: ['title'] })).toBe(texts.length);
  });

  it('numbers up to the limits, and bounds that are not integers', async () => {
    await live(subject.store(), OFFERS);
    const documents = [
      Number.MIN_SAFE_INTEGER,
      -1,
      0,
      1,
      Number.MAX_SAFE_INTEGER - 1,
      Number.MAX_SAFE_INTEGER,
    ];
    await put(
      subject.store(),
      target,
      documents.map((price, n) => documentOf(`d${n}`, { price })),
    );
    const price = (min?: number, max?: number): Filter => ({
      field: 'price',
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
    });
    expect(await searched(price(0.5))).toEqual(['d3', 'd4', 'd5']);
    expect(await searched(price(-0.5, 1.5))).toEqual(['d2', 'd3']);
    expect(await searched(price(0.2, 0.8))).toEqual([]);
    expect(await searched(price(Number.MAX_SAFE_INTEGER))).toEqual(['d5']);
    expect(await searched(price(undefined, Number.MIN_SAFE_INTEGER))).toEqual(['d0']);
    expect(await searched(price(-Infinity, Infinity))).toHaveLength(documents.length);
    expect(await searched(price(Infinity))).toEqual([]);
    expect(await searched({ field: 'price', in: [0.5, 1] })).toEqual(['d3']);
    expect(await searched(EVERYTHING, [{ field: 'price', descending: true }])).toEqual(
      ['d0', 'd1', 'd2', 'd3', 'd4', 'd5'].reverse(),
    );
  });

  it('an order by words, then by a field, then by other words', async () => {
    await live(subject.store(), OFFERS);
    const documents = generatedDocuments(300);
    await put(subject.store(), target, documents);
    const search = {
      filter: { field: 'feedId', in: [1, 2, 7] },
      order: [
        { matches: ['red', 'shoe'], within: 'title', descending: true },
        { field: 'price' },
        { matches: ['run', 'red', 'für'], within: 'description', descending: true },
        { field: 'modified', descending: true },
      ],
      offset: 5,
      size: 200,
    } as const;
    const { total, found } = await subject.store().search(target, search);
    expect({ total, ids: found.map(({ id }) => id) }).toEqual(oracleOf(documents).search(search));
  });

  it('texts in the order of their UTF-8 bytes up to the maximum length, and refuses longer ones', async () => {
    await live(subject.store(), OFFERS);
    const texts = ['', ' ', '\u0000', '\u0001a', 'B', 'a', 'x'.repeat(MAX_TEXT), 'ä', '東', '\uffee', '😀'];
    const documents = texts.map((label, n) => documentOf(`d${String(n).padStart(2, '0')}`, { label }));
    await put(subject.store(), target, [documentOf('none'), ...documents.toReversed()]);
    const ids = [...texts].sort((a, b) => Buffer.from(a).compare(Buffer.from(b)));
    const expected = ids.map((label) => `d${String(texts.indexOf(label)).padStart(2, '0')}`);
    expect(await searched(EVERYTHING, [{ field: 'label' }])).toEqual([...expected, 'none']);
    const descending = [{ field: 'label', descending: true }];
    expect(await searched(EVERYTHING, descending)).toEqual([...expected.toReversed(), 'none']);
    const long = documentOf('long', { label: 'x'.repeat(MAX_TEXT + 1) });
    const write = subject.store().write(target, [{ put: long, version: at(2) }], at(2));
    await expect(write).rejects.toMatchObject({ name: 'UndeclaredField' });
  });

  it.each<[string, Filter]>([
    ['values', { field: 'label', in: ['a'] }],
    ['bounds', { field: 'label', min: 1 }],
  ])('refuses to filter texts by %s', async (_, filter) => {
    await live(subject.store(), OFFERS);
    await expect(searched(filter)).rejects.toMatchObject({ name: 'UndeclaredField' });
  });

  it('a body of a megabyte', async () => {
    await live(subject.store(), OFFERS);
    const body = JSON.stringify({ text: '"ü\\\u0000'.repeat(100_000) });
    await put(subject.store(), target, [{ ...documentOf('large'), body }]);
    const [found] = await subject.store().get(target, ['large']);
    expect(found?.body === body).toBe(true);
  });
}
