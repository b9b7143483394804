import { TestApp } from '../support/app';
import { type Client, FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, product, refusals } from './posted';

const { german, shared, swedish, unconnected } = FEEDS;

let app: TestApp;
let now = Date.UTC(2026, 2, 1);
const { post, search } = clientOf(() => app);

const MAPPED = { categories: [{ id: '11' }], description: 'One.' };

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date((now += 1_000)) });
  const products = [
    product('lamp', { ...MAPPED, name: 'Glass Lampshade', brand: 'Lamplight' }),
    product('shade', { ...MAPPED, name: 'Lamp', description: 'With a shade of glass', brand: 'LAMPE & CO' }),
    product('phones', { ...MAPPED, name: 'Kopfhörer, wireless', brand: 'Sony' }),
    product('cable', { ...MAPPED, name: 'Cable', description: 'For kopfhörer of all kinds', brand: 'Sony' }),
    product('hidden', {
      categories: [{ name: 'Nowhere' }],
      name: 'Lamprey secrets',
      description: 'Kopfhorex',
      brand: 'Lampeduse',
    }),
  ];
  for (const one of products) await post(german, [one]);
  await post(shared, [product('lamp', { ...MAPPED, name: 'glass lampshade', brand: 'LampLight' })]);
});
afterAll(() => app.close());

/** What a search says about itself. */
async function headerOf(keys: string, by: Client = 'nord'): Promise<Record<string, unknown>> {
  const answer = await app.get(`/1.0/products${keys}`, { token: TOKENS[by] });
  expect([answer.statusCode, keys]).toEqual([200, keys]);
  return answer.json<{ productHeader: Record<string, unknown> }>().productHeader;
}

describe('prefix=true (decisions P32)', () => {
  it.each([
    ['lamp', ['lamp', 'shade', 'hidden']],
    ['lamps', ['lamp']],
    ['glass%20sh', ['shade']],
    ['gla%20lamp', []],
    ['LÁMPSH', ['lamp']],
    ['wire,cab', ['phones', 'cable']],
    ['nothing', []],
    ['*', ['lamp', 'shade', 'phones', 'cable', 'hidden']],
  ])('finds words that begin with the last word of a value: %s', async (q, found) => {
    const { ids } = await search(`;fid=${german};q=${q};prefix=true`);
    expect(ids.toSorted()).toEqual(found.toSorted());
  });

  it('finds whole words only without it', async () => {
    expect((await search(`;fid=${german};q=lamps`)).ids).toEqual([]);
    expect((await search(`;fid=${german};q=lamps;prefix=false`)).ids).toEqual([]);
  });

  it('counts the last word once in the order by relevance, however many words of a title begin with it', async () => {
    const { ids } = await search(`;fid=${german};q=glass%20lamp;prefix=true`);
    expect(ids).toEqual(['lamp', 'shade']);
    expect((await search(`;fid=${german};q=sh;prefix=true`)).ids).toEqual(['shade']);
  });

  it('counts a word in a script without spaces as the same word, whether it is the last or not (decisions P7)', async () => {
    // Each title has one of two words, so the newest comes first.
    await post(swedish, [product('shoe', { ...MAPPED, name: 'シューズ' })]);
    await post(swedish, [product('lace', { ...MAPPED, name: 'Lace', description: 'シューズ' })]);
    const keys = (q: string): string => `;fid=${swedish};q=${encodeURIComponent(q)};prefix=true`;
    for (const grouped of ['', ';groupOffersByProduct=true'])
      expect((await search(`${keys('シューズ lac,シューズ')}${grouped}`)).ids).toEqual(['lace', 'shoe']);
    // One that may go on is another word than the whole one: the first title has both.
    await post(swedish, [product('laces', { ...MAPPED, name: 'Laces' })]);
    expect((await search(keys('lace シューズ,lace'))).ids).toEqual(['lace', 'laces']);
  });

  it('refuses more than 20 values', async () => {
    const values = (count: number): string => Array.from({ length: count }, () => 'lamps').join(',');
    expect((await search(`;fid=${german};q=${values(20)};prefix=true`)).ids).toEqual(['lamp']);
    expect((await search(`;fid=${german};q=${values(21)}`)).ids).toEqual([]);
    const refused = await app.get(`/1.0/products;fid=${german};q=${values(21)};prefix=true`, {
      token: TOKENS.nord,
    });
    expect(refusals(refused)).toEqual([
      {
        code: 'PF_430',
        message: 'q has 21 values: expected at most 20 with prefix=true; send fewer, or leave out prefix',
      },
    ]);
  });

  it('works in CSV, with groups and with facets', async () => {
    const csv = await app.get(`/1.0/products.csv;fid=${german};q=lamps;prefix=true`, { token: TOKENS.nord });
    expect(csv.body.split('\r\n')).toHaveLength(3);
    const keys = `;fid=${german};q=lamp;prefix=true;groupOffersByProduct=true;facets=brand`;
    expect(await search(keys, 'preisblick')).toMatchObject({
      totalHits: 2,
      facets: { brand: [{ value: 'lampe & co' }, { value: 'lamplight' }] },
    });
  });
});

describe('fuzzy=true (decisions P33)', () => {
  it.each([
    ['kopfhrer', 'a missing letter', ['kopfhorer']],
    ['kopfhorerrr', 'two letters', []],
    ['kopfhoerrer', 'one too many of its other spelling', ['kopfhoerer']],
    ['kopfhorerr', 'one too many', ['kopfhorer']],
    ['kopfhörär', 'another one', ['kopfhorer']],
    ['okpfhorer', 'the first two swapped', ['kopfhorer']],
    ['xkopfhorer', 'one before it', ['kopfhorer']],
    ['kopfhorre', 'the last two swapped', ['kopfhorer']],
    ['lammp', 'one of a short word too many', ['lamp']],
    ['lapm', 'a word of four letters', []],
    ['kopfhörer', 'none', []],
  ])('corrects %s: %s', async (word, _, replacements) => {
    const header = await headerOf(`;fid=${german};q=${word};fuzzy=true`, 'preisblick');
    const corrected = replacements.length > 0;
    const folded = word.normalize('NFD').replace(/\p{M}/gu, '');
    expect(header['corrections']).toEqual(corrected ? [{ word: folded, replacements }] : []);
    const hits = replacements.includes('lamp') ? 1 : 2;
    expect(header['totalHits']).toBe(corrected || word === 'kopfhörer' ? hits : 0);
  });

  it('corrects nothing unless it is asked for', async () => {
    expect(await headerOf(`;fid=${german};q=kopfhrer`)).toEqual({ totalHits: 0 });
    expect(await headerOf(`;fid=${german};q=kopfhrer;fuzzy=false`)).toEqual({ totalHits: 0 });
  });

  it('takes words from what the caller may see and the other keys leave', async () => {
    const keys = `;fid=${german};q=kopfhorrex;fuzzy=true`;
    expect((await headerOf(keys))['corrections']).toEqual([
      { word: 'kopfhorrex', replacements: ['kopfhorex'] },
    ]);
    expect((await headerOf(keys, 'preisblick'))['corrections']).toEqual([]);
    expect((await headerOf(`;fid=${german};q=kopfhrer;brand=lamplight;fuzzy=true`))['corrections']).toEqual(
      [],
    );
  });

  it('corrects a word in the order by relevance, in groups and in facets, but not a beginning', async () => {
    const keys = `;fid=${german};q=kopfhrer;fuzzy=true`;
    expect((await search(keys)).ids).toEqual(['phones', 'cable']);
    expect((await search(`${keys};groupOffersByProduct=true`)).ids).toEqual(['phones', 'cable']);
    expect((await search(`${keys};facets=brand`)).facets).toEqual({ brand: [{ value: 'sony', count: 2 }] });
    expect((await headerOf(`${keys};prefix=true`))['corrections']).toEqual([]);
    expect((await headerOf(`;fid=${german};q=wirelesss%20kopfh;fuzzy=true;prefix=true`))['totalHits']).toBe(
      1,
    );
  });

  it('never replaces a word that products have in its other spelling', async () => {
    const names = ['Moebel Schrank', 'Model Auto', 'Nobel Uhr'];
    await post(
      unconnected,
      names.map((name, at) => product(`o${at}`, { name, description: 'New.' })),
    );
    const keys = `;fid=${unconnected};fuzzy=true;q=`;
    expect(await headerOf(`${keys}Möbel`)).toEqual({ totalHits: 1, corrections: [] });
    expect(await headerOf(`${keys}mobel,Möbel`)).toEqual({ totalHits: 1, corrections: [] });
    expect(await headerOf(`${keys}Möbal,Moebel`)).toEqual({ totalHits: 1, corrections: [] });
    expect(await headerOf(`${keys}Nöbal`)).toEqual({
      totalHits: 1,
      corrections: [{ word: 'nobal', replacements: ['nobel'] }],
    });
  });

  it('looks for the ten words that most products have', async () => {
    const letters = 'abcdefghijkl'.split('');
    const named = letters.flatMap((letter, at) =>
      Array.from({ length: letter === 'l' ? 2 : 1 }, (_, copy) =>
        product(`w${at}-${copy}`, { name: `tripo${letter}`, description: 'Any.' }),
      ),
    );
    await post(unconnected, named);
    const { corrections, totalHits } = await headerOf(`;fid=${unconnected};q=tripod%20any,tripoz;fuzzy=true`);
    expect(corrections).toEqual([
      { word: 'tripoz', replacements: ['l', ...letters.slice(0, 9)].map((letter) => `tripo${letter}`) },
    ]);
    expect(totalHits).toBe(11);
  });

  it('looks at the first ten words of q', async () => {
    const words = Array.from({ length: 10 }, (_, at) => `nothing${at}`).join('%20');
    expect(await headerOf(`;fid=${german};q=${words},kopfhrer;fuzzy=true`)).toEqual({
      totalHits: 0,
      corrections: [],
    });
  });

  it('says in XML what is corrected', async () => {
    const { body } = await app.get(`/1.0/products.xml;fid=${german};q=kopfhrer;fuzzy=true`, {
      token: TOKENS.nord,
    });
    expect(body).toContain(
      '<corrections><correction word="kopfhrer"><replacement>kopfhorer</replacement></correction></corrections>',
    );
  });
});

describe('suggest (decisions P34)', () => {
  it.each<[string, readonly string[], readonly object[]]>([
    [
      'lam',
      ['Lamprey secrets', 'Lamp', 'Glass Lampshade'],
      [
        { value: 'lampe & co', count: 1 },
        { value: 'lampeduse', count: 1 },
        { value: 'lamplight', count: 1 },
      ],
    ],
    ['glass lam', ['Glass Lampshade'], []],
    [' LAMPE &', [], [{ value: 'lampe & co', count: 1 }]],
    ['sony', [], [{ value: 'sony', count: 2 }]],
  ])('completes %j by names and brands', async (typed, names, brands) => {
    const header = await headerOf(`;fid=${german};suggest=${encodeURIComponent(typed)}`);
    expect(header['suggestions']).toEqual({ names, brands });
  });

  it('takes them from what the caller may see and the other keys but q leave', async () => {
    const { suggestions } = await headerOf(`;fid=${german},${shared};q=nothing;suggest=lam`, 'preisblick');
    expect(suggestions).toEqual({
      names: ['glass lampshade', 'Lamp'],
      brands: [
        { value: 'lamplight', count: 2 },
        { value: 'lampe & co', count: 1 },
      ],
    });
    expect((await headerOf(`;fid=${german};brand=sony;suggest=lam`))['suggestions']).toEqual({
      names: [],
      brands: [],
    });
  });

  it('looks beyond products with names that it has, at the 50 newest', async () => {
    const chairs = Array.from({ length: 52 }, (_, at) =>
      product(`c${at}`, { name: at === 1 || at === 2 ? `Chair ${at}` : 'Chair' }),
    );
    for (const chair of chairs) await post(unconnected, [chair]);
    const { suggestions } = await headerOf(`;fid=${unconnected};suggest=chai`);
    expect(suggestions).toEqual({ names: ['Chair', 'Chair 2'], brands: [] });
  });

  it('gives at most ten names and ten brands', async () => {
    await post(
      unconnected,
      Array.from({ length: 12 }, (_, at) =>
        product(`s${at}`, { name: `Stool ${at}`, brand: `stools ${at}` }),
      ),
    );
    const { suggestions } = await headerOf(`;fid=${unconnected};suggest=sto`);
    const { names, brands } = suggestions as { names: string[]; brands: object[] };
    expect([names.length, brands.length]).toEqual([10, 10]);
  });

  it.each(['-', '.*', 'a'.repeat(101)])('refuses %s', async (typed) => {
    const refused = await app.get(`/1.0/products;fid=${german};suggest=${typed}`, { token: TOKENS.nord });
    expect(refusals(refused)).toMatchObject([{ code: 'PF_430' }]);
  });
});

it.each(['fuzzy=true', 'suggest=lam'])(
  'CSV, which has no header, refuses %s (decisions P33, P34)',
  async (key) => {
    const answer = await app.get(`/1.0/products.csv;fid=${german};q=lamp;${key}`, { token: TOKENS.nord });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('allowed for JSON and XML only, the format is csv');
  },
);
