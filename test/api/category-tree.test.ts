import fc from 'fast-check';
import { CATEGORY_TREES, type CategoryTrees } from '../../src/network/categories/category-tree';
import { TestApp } from '../support/app';
import { answerIn } from '../support/openapi';
import { cases } from '../support/size';
import { type Client, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';
import { el, parse } from './xml-elements';

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

describe('the category tree (Document 1, Category tree)', () => {
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
