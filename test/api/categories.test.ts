import fc from 'fast-check';
import { TestApp } from '../support/app';
import { answerIn } from '../support/openapi';
import {
  CATEGORY_MAPPINGS,
  CATEGORY_TREES,
  type CategoryTrees,
} from '../../src/network/categories/category-counts';
import { cases } from '../support/size';
import { type Client, FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, JSON_UTF8, outcome, product } from './posted';
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

describe('category mappings for operators (decisions X60)', () => {
  const { german, italian } = FEEDS;
  const PATH = '/ops/1.0/mappings';
  const token = OTHER_TOKENS.operator;
  const CSV_UTF8 = { 'content-type': 'text/csv; charset=utf-8' } as const;

  let app: TestApp;
  const { post, search } = clientOf(() => app);
  const list = async (keys: string) => {
    const response = await app.get(`${PATH}${keys}`, { token });
    return response.json<{ categoryMappings: { categoryName: string; state: string }[] }>().categoryMappings;
  };
  const change = (mappings: readonly unknown[]) =>
    app.post(PATH, { token, headers: JSON_UTF8, body: JSON.stringify({ mappings }) });

  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
    await post(german, [
      product('a', { categories: [{ name: 'Kopfhoerer' }] }),
      product('b', { categories: [{ name: 'Lautsprecher, aktiv' }] }),
    ]);
    await app.settled();
  });
  afterAll(() => app.close());

  it('maps a name: its products become visible, and invisible again', async () => {
    expect((await search(`;fid=${german}`, 'deals')).ids).toEqual([]);
    const mapped = await change([{ feedId: german, name: 'Kopfhoerer', categoryId: 11 }]);
    expect([mapped.statusCode, mapped.json()]).toEqual([200, { report: [{ line: 1, outcome: 'mapped' }] }]);
    expect((await search(`;fid=${german}`, 'deals')).ids).toEqual(['a']);
    const unmapped = await app.delete(`${PATH};fid=${german};name=Kopfhoerer`, { token });
    expect(unmapped.json()).toEqual({ report: [{ line: 1, outcome: 'unmapped' }] });
    expect((await search(`;fid=${german}`, 'deals')).ids).toEqual([]);
    const again = await app.delete(`${PATH};fid=${german};name=Kopfhoerer`, { token });
    expect(again.json()).toEqual({ report: [{ line: 1, outcome: 'unchanged' }] });
    expect(again.headers).not.toHaveProperty('x-log-position');
  });

  it('lists the names of feeds, and mapped names that no product has', async () => {
    const listed = await list(`;fid=${german}`);
    expect(listed.map(({ categoryName, state }) => [categoryName, state])).toEqual([
      ['Kopfhoerer', 'unmapped'],
      ['Lautsprecher, aktiv', 'unmapped'],
      ['Over-Ear', 'mapped'],
    ]);
    expect(await list(`;fid=${german};state=mapped`)).toHaveLength(1);
  });

  it('accepts CSV and reports each line: valid lines are applied', async () => {
    const body = [
      'categoryId;feedId;name',
      `12;${german};"Lautsprecher, aktiv"`,
      `99;${german};Kopfhoerer`,
      '11;7;Kopfhoerer',
      '11;x;Kopfhoerer',
      `11;${german}`,
      '',
      `21;${italian};Lampade`,
      `;${german};Over-Ear`,
      `11;${german};"twice"`,
      `12;${german};"twice"`,
      '',
    ].join('\r\n');
    const response = await app.post(PATH, { token, headers: CSV_UTF8, body });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual({
      report: [
        { line: 2, outcome: 'mapped' },
        { line: 3, outcome: 'refused', message: 'categoryId=99: expected the id of a platform category' },
        { line: 4, outcome: 'refused', message: 'feedId=7: expected the id of a feed' },
        { line: 5, outcome: 'refused', message: 'feedId=x: expected an integer' },
        { line: 6, outcome: 'refused', message: '2 columns: expected 3, as in the first line' },
        { line: 8, outcome: 'unchanged', message: `no product of feed ${italian} has this name` },
        { line: 9, outcome: 'unmapped' },
        { line: 10, outcome: 'refused', message: 'replaced by line 11' },
        { line: 11, outcome: 'mapped', message: `no product of feed ${german} has this name` },
      ],
    });
    await app.settled();
    expect((await search(`;fid=${german}`, 'deals')).ids).toEqual(['b']);
  });

  it('unmaps a name only if the category is left out: a look-up that has failed unmaps nothing', async () => {
    const answers = await Promise.all(
      [null, ''].map((categoryId) => change([{ feedId: german, name: 'Over-Ear', categoryId }])),
    );
    for (const answer of answers)
      expect(answer.body).toContain('expected the id of a platform category; leave it out to unmap');
  });

  it('suggests the name that a mapped name seems to be, if no product has it', async () => {
    const answer = await change([{ feedId: german, name: 'kopf hoerer', categoryId: 11 }]);
    const message = `no product of feed ${german} has this name; did you mean "Kopfhoerer"?`;
    expect(answer.json()).toEqual({ report: [{ line: 1, outcome: 'mapped', message }] });
    expect((await change([{ feedId: german, name: 'kopf hoerer' }])).json()).toEqual({
      report: [{ line: 1, outcome: 'unmapped' }],
    });
  });

  it('applies the last valid line for a name, and reports the others', async () => {
    const { german: feedId } = FEEDS;
    const answer = await change([
      { feedId, name: 'thrice', categoryId: 11 },
      { feedId, name: 'thrice', categoryId: 12 },
      { feedId, name: 'thrice', categoryId: 99 },
    ]);
    expect(answer.json()).toEqual({
      report: [
        { line: 1, outcome: 'refused', message: 'replaced by line 2' },
        { line: 2, outcome: 'mapped', message: `no product of feed ${feedId} has this name` },
        { line: 3, outcome: 'refused', message: 'categoryId=99: expected the id of a platform category' },
      ],
    });
    expect(app.follower.directory.categories.mappingsOf(feedId).get('thrice')).toBe('12');
  });

  it('refuses a line that cannot be read, and applies the others (decisions X60)', async () => {
    const lines = [
      { feedId: 'x' },
      { feedId: german, name: 'read', categoryId: 12 },
      5,
      { feedId: german, nmae: 'a' },
    ];
    const answer = await change(lines);
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      {
        report: [
          { line: 1, outcome: 'refused', message: "feedId: expected an integer, got 'x'; name must be set" },
          { line: 2, outcome: 'mapped', message: `no product of feed ${german} has this name` },
          { line: 3, outcome: 'refused', message: "line: expected an object with feedId and name, got '5'" },
          {
            line: 4,
            outcome: 'refused',
            message:
              'name must be set; found nmae; did you mean name?; nmae: expected feedId, name or categoryId',
          },
        ],
      },
    ]);
  });

  it.each([
    ['CSV', CSV_UTF8, `feedId,name,categoryId\n${german},K\xfcche,11\n`],
    ['JSON', JSON_UTF8, JSON.stringify({ mappings: [{ feedId: german, name: 'K\xfcche', categoryId: 11 }] })],
  ])('maps nothing by %s that is not UTF-8', async (_, headers, text) => {
    const head = await app.engines.log.head();
    const answer = await app.post(PATH, { token, headers, body: Buffer.from(text, 'latin1') });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ errors: [{ code: '400', message: 'the body is not UTF-8' }] });
    expect(await app.engines.log.head()).toBe(head);
  });

  it('suggests categories with scores, for unmapped names and for any name', async () => {
    const response = await app.get(`${PATH}/suggestions;fid=${german};name=cuffie;most=2`, { token });
    const { suggestions } = response.json<{
      suggestions: { categoryName: string; suggestions: { categoryId: string; score: number }[] }[];
    }>();
    const best = Object.fromEntries(
      suggestions.map(({ categoryName, suggestions: [first] }) => [categoryName, first?.categoryId]),
    );
    expect(best).toEqual({ cuffie: '11', Kopfhoerer: '11' });
  });

  it.each<[string, () => ReturnType<TestApp['get']>, string]>([
    ['no token', () => app.get(`${PATH};fid=${german}`), '400 1'],
    ['a token of another system', () => app.get(`${PATH};fid=${german}`, { token: TOKENS.nord }), '403 2'],
    ['no feed', () => app.get(PATH, { token }), '400 400'],
    ['an unknown feed', () => app.get(`${PATH};fid=7`, { token }), '400 400'],
    ['neither feed nor name', () => app.get(`${PATH}/suggestions`, { token }), '400 400'],
    [
      'XML',
      () =>
        app.post(`${PATH}.json`, {
          token,
          headers: { 'content-type': 'application/xml; charset=utf-8' },
          body: '<a/>',
        }),
      '415 415',
    ],
    [
      'another charset',
      () => app.post(PATH, { token, headers: { 'content-type': 'text/csv; charset=latin1' }, body: 'a' }),
      '415 415',
    ],
    ['no CSV of mappings', () => app.post(PATH, { token, headers: CSV_UTF8, body: 'a,b\n1,2' }), '400 400'],
    ['no JSON', () => app.post(PATH, { token, headers: JSON_UTF8, body: '{' }), '400 400'],
    [
      'another shape',
      () => app.post(PATH, { token, headers: JSON_UTF8, body: '{"mappings":{}}' }),
      '400 400',
    ],
    ['another method', () => app.request('PUT', PATH, { token, body: '{}' }), '405 405'],
  ])('refuses %s (decisions A4, X60)', async (_, ask, expected) => {
    expect(outcome(await ask())).toBe(expected);
  });

  it('issues tokens that other services refuse (decisions A4)', async () => {
    expect(outcome(await app.get('/1.0/productCategories', { token }))).toBe('403 2');
  });
});
