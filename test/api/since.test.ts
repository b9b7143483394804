import fc from 'fast-check';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeExporter } from '../../src/ops/exporter';
import { RenderedFeeds } from '../../src/products/download/rendered-feeds';
import { BEHIND } from '../../src/products/download/since';
import { type Response, TestApp } from '../support/app';
import { randomCases } from '../support/engines';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, type FoundProduct, outcome, product } from './posted';
import { parse } from './xml-elements';

const { german } = FEEDS;

let now = Date.parse('2026-05-01T12:00:00Z');
let app: TestApp;
const { post } = clientOf(() => app);
beforeEach(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
});
afterEach(() => app.close());

const get = (keys = '', token: string = TOKENS.preisblick) =>
  app.get(`/1.0/productsUnlimited;fid=${german}${keys}`, { token });

interface Changes {
  readonly productHeader: { readonly totalHits: number };
  readonly products: readonly FoundProduct[];
  readonly removed?: readonly string[];
}

const idOf = ({ offers }: FoundProduct) => offers[0]!.sourceProductId;
const nextOf = ({ headers }: Response) => String(headers['x-next-since']);
const changesOf = (answer: Response) => {
  const { products, removed } = answer.json<Changes>();
  return { sent: products.map(idOf).sort(), removed: removed?.toSorted() };
};

describe('what has changed since (decisions P28, X51)', () => {
  it('is what was touched and is still there, and what has gone', async () => {
    await post(
      german,
      ['a', 'b', 'c', 'd'].map((id) => product(id)),
    );
    const first = await get();
    expect(first.json<Changes>().removed).toBeUndefined();
    expect(nextOf(first)).toMatch(/^\d{19}-[\da-f]{12}$/);
    await post(german, [product('a'), product('b', { price: 3 }), product('e')]);
    await app.delete(`/1.0/products;fid=${german};spId=c`, { token: TOKENS.nord });
    await post(german, [product('d', { categories: [{ name: 'mapped to nothing' }] })]);
    const second = await get(`;since=${nextOf(first)}`);
    expect(changesOf(second)).toEqual({ sent: ['b', 'e'], removed: ['c', 'd'] });
    expect(second.json<Changes>().productHeader.totalHits).toBe(3);
    expect(changesOf(await get(`;since=${nextOf(second)}`))).toEqual({ sent: [], removed: [] });
    const { children } = await parse((await get(`;since=${nextOf(first)};format=xml`)).body);
    expect(children.map(({ name }) => name)).toEqual(['productHeader', 'products', 'removed']);
    expect(children[2]!.children.map(({ name, text }) => [name, text]).sort()).toEqual([
      ['sourceProductId', 'c'],
      ['sourceProductId', 'd'],
    ]);
  });

  it('is told by a date as well', async () => {
    await post(german, [product('a'), product('b')]);
    now += 86_400_000;
    await post(german, [product('b', { price: 3 })]);
    for (const since of [new Date(now).toISOString(), String(now), new Date(now).toISOString().slice(0, 10)])
      expect(changesOf(await get(`;since=${since}`))).toEqual({ sent: ['b'], removed: [] });
    now += BEHIND;
    // A copy of that time may have been behind by a minute (decisions X51).
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['b']);
    expect(changesOf(await get(`;since=${now + 1}`))).toEqual({ sent: [], removed: [] });
    expect(changesOf(await get(';since=0')).sent).toEqual(['a', 'b']);
  });

  it('is everything after a change of what is joined', async () => {
    await post(german, [product('a'), product('b')]);
    const next = nextOf(await get());
    await app.delete(`/1.0/products;fid=${german};spId=b`, { token: TOKENS.nord });
    await post(german, [product('hidden', { categories: [{ name: 'mapped to nothing' }] })]);
    const programs = NETWORK.programs.map((one) =>
      'id' in one && one.id === 101 ? { ...one, logoUrl: 'https://nord.example/new.png' } : one,
    );
    now += 1000;
    await app.import({ ...NETWORK, programs });
    const everything = { sent: ['a'], removed: ['b', 'hidden'] };
    expect(changesOf(await get(`;since=${next}`))).toEqual(everything);
    expect(changesOf(await get(`;since=${now}`)).sent).toEqual(['a']);
  });

  it('is everything after a change of the caller’s site (decisions P28)', async () => {
    await post(german, [product('a'), product('b')]);
    const token = TOKENS.preisblickAll;
    const next = nextOf(await get('', token));
    await app.import({ ...NETWORK, connections: connectedBy(1102) }, { prune: true });
    const answer = await get(`;since=${next}`, token);
    expect(changesOf(answer)).toEqual({ sent: ['a', 'b'], removed: [] });
    expect(answer.body).toContain('a(1102)p(101)');
  });

  it('is told in lines with pretty=true, and means the same', async () => {
    await post(german, [product('a'), product('b')]);
    const next = nextOf(await get());
    await app.delete(`/1.0/products;fid=${german};spId=b`, { token: TOKENS.nord });
    const pretty = await get(`;since=${next};pretty=true`);
    expect(pretty.body).toContain('],\n  "removed": [\n    "b"\n  ]\n}');
    expect(pretty.json()).toEqual((await get(`;since=${next}`)).json());
    const xml = await get(`;since=${next};pretty=true;format=xml`);
    expect(xml.body).toContain('\n  <removed>\n    <sourceProductId>b</sourceProductId>\n  </removed>\n');
    expect(await parse(xml.body)).toEqual(await parse((await get(`;since=${next};format=xml`)).body));
  });

  it('is no download when there is nothing (decisions P18)', async () => {
    await post(german, [product('a')]);
    const next = nextOf(await get());
    now += 6 * 86_400_000;
    for (let time = 0; time < 8; time += 1) expect(outcome(await get(`;since=${next}`))).toBe('200');
    expect([outcome(await get()), outcome(await get()), outcome(await get()), outcome(await get())]).toEqual([
      ...['200', '200', '200'],
      '429 429',
    ]);
  });

  it('is not told in CSV or by pages, nor since what is no date', async () => {
    for (const keys of [
      ';since=0;format=csv',
      ';since=0;page=1',
      ';since=0;pageSize=5',
      ';since=yesterday',
      ';since=2026-05-01T12:00',
      ';since=0000000000000000001-xyz',
    ])
      expect([keys, outcome(await get(keys))]).toEqual([keys, '400 PF_430']);
  });
});

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
const id = fc.constantFrom(...IDS);
const category = fc.constantFrom(
  { id: '1' },
  { id: '21' },
  { name: 'Gadgets' },
  { name: 'Gadgets', tdCategoryName: 'Light' },
  { name: 'Nowhere' },
  { name: 'x', tdCategoryName: 'Lamps' },
  { name: 'x', tdCategoryName: 'Leuchten' },
);
const posted = fc
  .record({ id, price: fc.integer({ min: 1, max: 3 }), category })
  .map(({ id: sourceProductId, price, category: one }) =>
    product(sourceProductId, { price, categories: [one] }),
  );

/** The connections of the network, but that program 101 is connected to these sites of publisher 11. */
function connectedBy(...sites: readonly number[]): readonly object[] {
  const others = NETWORK.connections.filter(({ siteId, programId }) => programId !== 101 || siteId > 1102);
  return [...others, ...sites.map((siteId) => ({ siteId, programId: 101 }))];
}

/** What of the network steps change. */
interface Facts {
  readonly mapped: '1' | '12' | undefined;
  /** English name of category 21; it is gone without one. */
  readonly category: string | undefined;
  readonly program: string;
  readonly language: string;
  readonly sites: readonly number[];
}

/** One step of a history. */
type Step =
  | { readonly post: readonly object[]; readonly mode: string }
  | { readonly delete: string }
  | { readonly facts: Partial<Facts> };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      post: fc.array(posted, { minLength: 1, maxLength: 4 }),
      mode: fc.constantFrom('', '', ';mode=replace'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ delete: id }) },
  {
    weight: 6,
    arbitrary: fc.record({
      facts: fc.oneof(
        fc.record({ mapped: fc.constantFrom(undefined, '1', '12') }),
        fc.record({ category: fc.constantFrom(undefined, 'Lamps', 'Leuchten', 'Light') }),
        fc.record({ program: fc.constantFrom('One', 'Other') }),
        fc.record({ language: fc.constantFrom('de', 'en') }),
        fc.record({ sites: fc.constantFrom([1101], [1102], [1101, 1102]) }),
      ),
    }),
  },
);

function networkOf({ mapped, category, program, language, sites }: Facts): object {
  return {
    ...NETWORK,
    programs: NETWORK.programs.map((one) =>
      'id' in one && one.id === 101 ? { ...one, name: program } : one,
    ),
    feeds: NETWORK.feeds.map((one) => (one.id === german ? { ...one, language } : one)),
    connections: connectedBy(...sites),
    categories: NETWORK.categories.flatMap((one): object[] => {
      if (one.id !== '21') return [one];
      return category === undefined ? [] : [{ ...one, names: { en: category } }];
    }),
    mappings: mapped === undefined ? [] : [{ feedId: german, name: 'Gadgets', categoryId: mapped }],
  };
}

/** A copy of a feed: what is told of each product, by its id. */
type Copy = Map<string, unknown>;

/** What an answer in JSON or XML sends and removes. */
async function toldIn(
  answer: Response,
): Promise<{ readonly sent: Copy; readonly removed: readonly string[] }> {
  if (!String(answer.headers['content-type']).includes('xml')) {
    const { products, removed = [] } = answer.json<Changes>();
    return { sent: new Map(products.map((one) => [idOf(one), one])), removed };
  }
  const [, products, removed] = (await parse(answer.body)).children;
  const sent = products!.children.map((one) => {
    const offer = one.children.at(-1)!.children[0]!;
    return [offer.attributes.sourceProductId!, one] as const;
  });
  return { sent: new Map(sent), removed: removed?.children.map(({ text }) => text) ?? [] };
}

it('a copy that is kept through since is the full download, whatever happens (decisions P28, X51)', async () => {
  // Told by a bound of nothing, everything is sent after each change.
  const exporter = makeExporter(app.engines, app.follower, { bounds: { events: 0, categories: 0 } });
  const feeds = new RenderedFeeds(exporter, await mkdtemp(join(tmpdir(), 'affilog-')), 1e9);
  const bounded = await app.again({ exporter, feeds });
  let facts: Facts = { mapped: undefined, category: 'Lamps', program: 'One', language: 'de', sites: [1101] };
  const take = async (one: Step): Promise<void> => {
    now += 2 * BEHIND;
    if ('post' in one) await post(german, one.post, { keys: one.mode });
    else if ('delete' in one)
      await app.delete(`/1.0/products;fid=${german};spId=${one.delete}`, { token: TOKENS.nord });
    else {
      facts = { ...facts, ...one.facts };
      await app.import(networkOf(facts), { prune: true });
    }
  };
  const ways = [
    { token: TOKENS.preisblickAll, keys: '', http: app.http },
    { token: TOKENS.preisblickAll, keys: ';format=xml', http: app.http },
    { token: TOKENS.preisblickAll, keys: '', http: bounded },
    { token: TOKENS.nord, keys: '', http: app.http },
  ] as const;
  const ask = ({ token, keys, http }: (typeof ways)[number], since = '') =>
    http.inject(`/1.0/productsUnlimited;fid=${german}${keys}${since}?token=${token}`);
  const full = async (way: (typeof ways)[number]) => {
    const answer = await ask(way);
    return { copy: (await toldIn(answer)).sent, next: nextOf(answer) };
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      async (rounds) => {
        const copies = await Promise.all(ways.map(full));
        let since = new Date(now + BEHIND + 1).toISOString();
        for (const steps of rounds) {
          for (const one of steps) await take(one);
          await app.settled();
          for (const [at, way] of ways.entries()) {
            const held = copies[at]!;
            const byDate = new Map(held.copy);
            for (const [copy, from] of [
              [byDate, since],
              [held.copy, held.next],
            ] as const) {
              const answer = await ask(way, `;since=${from}`);
              const { sent, removed } = await toldIn(answer);
              for (const [one, told] of sent) copy.set(one, told);
              for (const gone of removed) copy.delete(gone);
              held.next = nextOf(answer);
            }
            const expected = (await full(way)).copy;
            expect(held.copy).toEqual(expected);
            expect(byDate).toEqual(expected);
          }
          since = new Date(now + BEHIND + 1).toISOString();
        }
      },
    ),
    { numRuns: Number(process.env.SINCE_RUNS ?? randomCases(6)) },
  );
  await bounded.close();
  await feeds.close();
  await exporter.end();
});
