import fc from 'fast-check';
import { TestApp } from '../support/app';
import { answerIn } from '../support/openapi';
import {
  CATEGORY_MAPPINGS,
  CATEGORY_TREES,
  type CategoryTrees,
} from '../../src/network/categories/category-counts';
import { cases } from '../support/size';
import { type Client, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';
import { el, parse } from './xml-elements';

describe('the category mapping status (Document 1, Category mapping status)', () => {
  const { german, swedish, italian } = FEEDS;

  let app: TestApp;
  const { post } = clientOf(() => app);
  const ask = (keys: string, extension = '') =>
    app.get(`/1.0/categoryMappings${extension}${keys}`, { token: TOKENS.nord });
  const mappings = async (keys: string) => {
    const response = await ask(keys);
    expect(response.statusCode).toBe(200);
    return answerIn(CATEGORY_MAPPINGS, response.json()).categoryMappings;
  };

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
    await post(german, [
      product('a', { categories: [{ name: 'Over-Ear' }, { name: 'Cables' }] }),
      product('b', { categories: [{ name: 'Cables' }, { name: 'Cables' }] }),
      product('c', { categories: [{ name: 'Cables', id: '12' }] }),
      product('d', { categories: [{ id: '111' }] }),
      product('e', { categories: [{ name: '', tdCategoryName: 'Home', id: '12' }] }),
    ]);
    await post(swedish, [product('a', { categories: [{ name: 'Lampor' }] })]);
    await app.settled();
  });
  afterAll(() => app.close());

  const overEar = {
    feedId: german,
    categoryName: 'Over-Ear',
    productCount: 1,
    state: 'mapped',
    tdCategoryId: '11',
    tdCategoryName: 'Headphones',
  };
  const cables = { feedId: german, categoryName: 'Cables', productCount: 2, state: 'unmapped' };
  const lampor = { feedId: swedish, categoryName: 'Lampor', productCount: 1, state: 'unmapped' };

  it('lists the unmapped categories of a feed (decisions P21)', async () => {
    expect(await mappings(`;fid=${german};state=unmapped`)).toEqual([cables]);
  });

  it('lists the mapped ones with their targets; one with two mappings is listed twice (decisions P21)', async () => {
    const listed = await mappings(`;fid=${german};state=mapped`);
    expect(listed).toContainEqual(overEar);
    expect(listed).toContainEqual({
      ...cables,
      productCount: 1,
      state: 'mapped',
      tdCategoryId: '12',
      tdCategoryName: 'Speakers',
    });
  });

  it('names a category that was posted without a name by its id (decisions X28)', async () => {
    const listed = await mappings(`;fid=${german};state=mapped`);
    expect(listed.find(({ tdCategoryId }) => tdCategoryId === '111')?.categoryName).toBe('111');
    expect(listed.map(({ categoryName }) => categoryName)).toContain('Home');
  });

  it.each(['', ';state='])('lists both with %j (decisions P21)', async (state) => {
    const both = await mappings(`;fid=${german}${state}`);
    const mapped = await mappings(`;fid=${german};state=mapped`);
    expect(both).toHaveLength(mapped.length + 1);
    expect(both).toEqual(expect.arrayContaining([cables, ...mapped]));
  });

  it.each([`;fid=${german},${swedish}`, `;fid=${german};fid=${swedish}`])(
    'of several feeds: %s',
    async (fids) => {
      expect(await mappings(`${fids};state=unmapped`)).toEqual([cables, lampor]);
    },
  );

  it('follows a mapping and its removal immediately', async () => {
    await app.import({ mappings: [{ feedId: swedish, name: 'Lampor', categoryId: '21' }] });
    await app.settled();
    const mapped = { ...lampor, state: 'mapped', tdCategoryId: '21', tdCategoryName: 'Lamps' };
    expect(await mappings(`;fid=${swedish}`)).toEqual([mapped]);
    await app.import(NETWORK, { prune: true });
    await app.settled();
    expect(await mappings(`;fid=${swedish}`)).toEqual([lampor]);
  });

  it('is in XML by extension or by format, which overrides the extension (decisions P21)', async () => {
    const expected = el(
      'categoryMappings',
      {},
      el('categoryMapping', { ...lampor, feedId: `${swedish}`, productCount: '1' }),
    );
    expect(await parse((await ask(`;fid=${swedish}`, '.xml')).body)).toEqual(expected);
    expect(await parse((await ask(`;fid=${swedish};format=xml`, '.json')).body)).toEqual(expected);
    expect((await ask(`;fid=${swedish};format=json`, '.xml')).json()).toEqual({ categoryMappings: [lampor] });
  });

  it('supports pretty and jsonp (Document 1, Conventions 5, 6)', async () => {
    expect((await ask(`;fid=${swedish};pretty=true`)).body).toMatch(/^\{\n {2}"categoryMappings": \[\n/);
    expect((await ask(`;fid=${swedish}?jsonp=f`)).body).toMatch(/^\/\*\*\/f\(\{"categoryMappings":\[\{/);
  });

  it.each([
    ['', '400 PF_200'],
    [`;fid=${german},x`, '400 PF_260'],
    [`;fid=${german}|${swedish}`, '400 PF_270'],
    [`;fid=${german},${italian}`, '400 PF_392'],
    [`;fid=${german};state=both`, '400 PF_430'],
    [`;fid=${german};format=csv`, '400 PF_430'],
  ])('refuses %j with %s', async (keys, refusal) => {
    expect(outcome(await ask(keys))).toBe(refusal);
  });

  it('is for advertisers only (Document 1, Authentication 3)', async () => {
    const response = await app.get(`/1.0/categoryMappings;fid=${german}`, { token: TOKENS.preisblick });
    expect(outcome(response)).toBe('400 PF_300');
  });
});

describe('the category tree (Document 1, Category tree)', () => {
  const { german, swedish, italian, inactive } = FEEDS;

  let app: TestApp;
  const { post, search } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
  });
  afterAll(() => app.close());

  const treeFor = async (by: Client, keys = ''): Promise<CategoryTrees['categoryTrees']> => {
    const response = await app.get(`/1.0/productCategories.json${keys}`, { token: TOKENS[by] });
    expect(response.statusCode).toBe(200);
    return answerIn(CATEGORY_TREES, response.json()).categoryTrees;
  };

  type Node = CategoryTrees['categoryTrees'][number];
  const allOf = (nodes: readonly Node[]): readonly Node[] =>
    nodes.flatMap((node) => [node, ...allOf(node.children)]);

  const countsFor = async (by: Client) =>
    Object.fromEntries(allOf(await treeFor(by)).map(({ id, productCount }) => [id, productCount]));

  /** Replaces a feed by products of these categories. */
  const fill = async (fid: number, categories: readonly (readonly object[])[], by: Client = 'nord') => {
    const products = categories.map((some, n) => product(`p${n}`, { categories: some }));
    await post(fid, products, { keys: ';mode=replace', by });
    await app.settled();
  };

  it('has every category in its place, siblings ordered by id, with its name and language', async () => {
    const [electronics, home] = await treeFor('lonely');
    expect(electronics).toEqual({
      language: 'en',
      name: 'Electronics',
      id: '1',
      productCount: 0,
      children: [
        {
          language: 'en',
          name: 'Headphones',
          id: '11',
          productCount: 0,
          children: [{ language: 'en', name: 'In-ear', id: '111', productCount: 0, children: [] }],
        },
        { language: 'en', name: 'Speakers', id: '12', productCount: 0, children: [] },
      ],
    });
    expect(home?.children.map(({ name }) => name)).toEqual(['Lamps', 'Lights']);
  });

  it.each(['de', 'DE'])(
    'in the language %s, in English for categories without a name in it (decisions P20)',
    async (code) => {
      const named = allOf(await treeFor('nord', `;language=${code}`)).map(({ id, language, name }) => [
        id,
        language,
        name,
      ]);
      expect(named.slice(0, 3)).toEqual([
        ['1', 'de', 'Elektronik'],
        ['11', 'de', 'Kopfhörer'],
        ['111', 'en', 'In-ear'],
      ]);
    },
  );

  it.each(['xx', 'deu'])('refuses %s, which is not a language (decisions P20)', async (language) => {
    const response = await app.get(`/1.0/productCategories;language=${language}`, { token: TOKENS.nord });
    expect(outcome(response)).toBe('400 PF_430');
    expect(response.body).toContain(`language=${language}`);
  });

  it('counts each product once in its category and in each ancestor (decisions P20)', async () => {
    await fill(german, [[{ id: '111' }, { id: '12' }], [{ id: '11' }], [{ name: 'Over-Ear' }, { id: '11' }]]);
    expect(await countsFor('nord')).toEqual({ 1: 3, 11: 3, 111: 1, 12: 1, 2: 0, 21: 0, 22: 0 });
  });

  it('counts mapped products of the token’s feeds only', async () => {
    await fill(german, [[{ id: '21' }], [{ name: 'Nowhere' }]]);
    await fill(inactive, [[{ id: '21' }]]);
    await fill(italian, [[{ name: 'Lampade' }], [{ id: '22' }]], 'casa');
    expect((await countsFor('nord'))['2']).toBe(2);
    expect((await countsFor('casa'))['2']).toBe(2);
    expect((await countsFor('preisblick'))['2']).toBe(3);
    expect((await countsFor('deals'))['2']).toBe(1);
    expect((await countsFor('lonely'))['2']).toBe(0);
  });

  it('counts the same products as a search by category, after any loads and changes of tree and mapping (decisions P5, P20)', async () => {
    const ids = ['1', '11', '111', '12', '2', '21', '22'];
    const category = fc.oneof(
      fc.constantFrom(...ids).map((id) => ({ id })),
      fc.constantFrom('Over-Ear', 'Lampade', 'Nowhere').map((name) => ({ name })),
      fc.constantFrom('Leuchten', 'Kopfhörer').map((tdCategoryName) => ({ name: 'x', tdCategoryName })),
    );
    const products = fc.array(fc.array(category, { minLength: 1, maxLength: 3 }), { maxLength: 8 });
    const step = fc.oneof(
      fc.record({ fid: fc.constantFrom(german, swedish), products }),
      fc.record({ name: fc.constantFrom('Over-Ear', 'Nowhere'), categoryId: fc.constantFrom(...ids) }),
      fc.record({ moved: fc.constantFrom('111', '21'), parentId: fc.constantFrom('12', '22', null) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        for (const one of steps) {
          if ('fid' in one) await fill(one.fid, one.products);
          else if ('name' in one) await app.import({ mappings: [{ feedId: german, ...one }] });
          else
            await app.import({
              categories: [{ id: one.moved, parentId: one.parentId, names: { en: 'Moved' } }],
            });
        }
        await app.settled();
        const counts = await countsFor('deals');
        for (const id of ids)
          expect(counts[id]).toBe(
            (await search(`;fid=${german},${swedish};tdCategoryId=${id}`, 'deals')).totalHits,
          );
      }),
      { numRuns: cases(15) },
    );
    await app.import(NETWORK);
    await app.settled();
  });

  it('is nested elements with attributes in XML (decisions P20)', async () => {
    await fill(german, [[{ id: '111' }]]);
    await fill(swedish, []);
    const response = await app.get('/1.0/productCategories.xml;language=de', { token: TOKENS.deals });
    expect(response.headers['content-type']).toBe('application/xml; charset=utf-8');
    const node = (id: string, name: string, productCount: number, ...children: ReturnType<typeof el>[]) =>
      el('category', { language: 'de', name, id, productCount: `${productCount}` }, ...children);
    const inEar = el('category', { language: 'en', name: 'In-ear', id: '111', productCount: '1' });
    expect(await parse(response.body)).toEqual(
      el(
        'categoryTrees',
        {},
        node('1', 'Elektronik', 1, node('11', 'Kopfhörer', 1, inEar), node('12', 'Lautsprecher', 0)),
        node('2', 'Haus', 0, node('21', 'Leuchten', 0), node('22', 'Leuchten', 0)),
      ),
    );
  });

  it('supports jsonp (Document 1, Conventions 5)', async () => {
    const { body } = await app.get('/1.0/productCategories?jsonp=show', { token: TOKENS.nord });
    expect(body).toMatch(
      /^\/\*\*\/show\(\{"categoryTrees":\[\{"language":"en".*\]\}, undefined, undefined\);$/,
    );
  });
});
