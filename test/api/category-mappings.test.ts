import { TestApp } from '../support/app';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';
import { clientOf, JSON_UTF8, outcome, product } from './posted';

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
