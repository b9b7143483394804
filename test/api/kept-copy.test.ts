import fc from 'fast-check';
import { join } from 'node:path';
import { makeLoader } from '../../src/services/products/load/loader';
import { BEHIND } from '../../src/services/products/download/joined-facts';
import { type Response, TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { cases } from '../support/size';
import { connectedBy, FEEDS, NETWORK, TOKENS } from './network';
import { type FoundProduct, product } from './posted';
import { parse } from './xml-elements';

const { german } = FEEDS;
const MINUTE = 60_000;

let now = Date.parse('2026-05-01T12:00:00Z');
let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

const idOf = ({ offers }: FoundProduct) => offers[0]!.sourceProductId;
const nextOf = ({ headers }: Response) => String(headers['x-next-since']);

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

/** What of the network steps change. */
interface Facts {
  readonly mapped: '1' | '12' | undefined;
  /** English name of category 21; it is gone without one. */
  readonly category: string | undefined;
  readonly program: string;
  readonly language: string;
  readonly sites: readonly number[];
}

interface Post {
  readonly products: readonly object[];
  readonly mode: string;
}

/** One step of a history; several posts are made at the same time, each to another process. */
type Step =
  | { readonly posts: readonly Post[] }
  | { readonly delete: string; readonly process: number }
  | { readonly facts: Partial<Facts> };

const onePost: fc.Arbitrary<Post> = fc.record({
  products: fc.array(posted, { minLength: 1, maxLength: 4 }),
  mode: fc.constantFrom('', '', ';mode=replace'),
});
const nobody = fc.constant<Post>({ products: [], mode: '' });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      posts: fc.oneof(fc.tuple(onePost, nobody), fc.tuple(nobody, onePost), fc.tuple(onePost, onePost)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ delete: id, process: fc.nat(1) }) },
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
    const { products, removed = [] } = answer.json<{
      products: readonly FoundProduct[];
      removed?: readonly string[];
    }>();
    return { sent: new Map(products.map((one) => [idOf(one), one])), removed };
  }
  const [, products, removed] = (await parse(answer.body)).children;
  const sent = products!.children.map((one) => {
    const offer = one.children.at(-1)!.children[0]!;
    return [offer.attributes.sourceProductId!, one] as const;
  });
  return { sent: new Map(sent), removed: removed?.children.map(({ text }) => text) ?? [] };
}

it('a copy maintained by since equals the full download, whatever two processes do whose clocks are a minute apart (decisions P28, X51)', async () => {
  const late = () => new Date(now - MINUTE);
  const loader = makeLoader(new TestClock(late), app.engines.log, app.follower, join(app.folder, 'late'));
  const processes = [app.http, await app.again({ loader, clock: new TestClock(late) })] as const;
  const send = async (process: number, keys: string, posts?: readonly object[]): Promise<void> => {
    const url = `/1.0/products;fid=${german}${keys}?token=${TOKENS.nord}`;
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    const { statusCode } = await processes[process]!.inject(
      posts === undefined
        ? { method: 'DELETE', url }
        : { method: 'POST', url, headers, payload: { products: posts } },
    );
    // A product of a category that is gone is refused.
    expect([200, 400]).toContain(statusCode);
  };
  let facts: Facts = { mapped: undefined, category: 'Lamps', program: 'One', language: 'de', sites: [1101] };
  const take = async (one: Step): Promise<void> => {
    now += 2 * BEHIND;
    if ('posts' in one) {
      const some = one.posts.map(async ({ products, mode }, process) => {
        if (products.length > 0) await send(process, mode, products);
      });
      await Promise.all(some);
    } else if ('delete' in one) await send(one.process, `;spId=${one.delete}`);
    else {
      facts = { ...facts, ...one.facts };
      await app.import(networkOf(facts), { prune: true });
    }
  };
  const ways = [
    { token: TOKENS.preisblickAll, keys: '' },
    { token: TOKENS.preisblickAll, keys: ';format=xml' },
    { token: TOKENS.nord, keys: '' },
  ] as const;
  const ask = ({ token, keys }: (typeof ways)[number], since = '') =>
    app.http.inject(`/1.0/productsUnlimited;fid=${german}${keys}${since}?token=${token}`);
  const full = async (way: (typeof ways)[number]) => {
    const answer = await ask(way);
    return { copy: (await toldIn(answer)).sent, next: nextOf(answer) };
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
      async (rounds) => {
        const copies = await Promise.all(ways.map(full));
        // As early as can be: what the process that is late has stored by now is not sent again.
        const dateNow = () => new Date(now - MINUTE + BEHIND + 1).toISOString();
        let since = dateNow();
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
          since = dateNow();
        }
      },
    ),
    { numRuns: Number(process.env.SINCE_RUNS ?? cases(6)) },
  );
  await processes[1].close();
  await loader.close();
});
