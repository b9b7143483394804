import fc from 'fast-check';
import { TestApp } from '../support/app';
import { cases } from '../support/size';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, JSON_UTF8, product, refused, XML_UTF8 } from './posted';

/** Another one each time; one that has failed is given again by this variable. */
const SEED = Number(process.env.LOAD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = cases(150);
const MINUTE = 60_000;

/** A posted product, as far as the steps vary it; without a brand it cannot be stored. */
interface Posted {
  readonly id: string;
  readonly price: number;
  readonly brand: string | undefined;
}

type Step =
  | {
      readonly kind: 'post';
      readonly mode: '' | ';mode=replace';
      readonly xml: boolean;
      readonly posted: readonly Posted[];
    }
  | { readonly kind: 'delete'; readonly ids: readonly string[] | 'all' }
  /** The program turns to another currency. */
  | { readonly kind: 'turn'; readonly currency: string };

const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('post' as const),
      mode: fc.constantFrom('' as const, '' as const, ';mode=replace' as const),
      xml: fc.boolean(),
      posted: fc.array(
        fc.record({
          id: ids,
          price: fc.constantFrom(1, 2, 2.5),
          brand: fc.constantFrom('X', 'Y', 'X', 'Y', undefined),
        }),
        { maxLength: 6 },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      ids: fc.oneof(fc.array(ids, { minLength: 1, maxLength: 3 }), fc.constant('all' as const)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('turn' as const), currency: fc.constantFrom('BGN', 'EUR') }),
  },
);

/** A feed as Document 1's behaviour rules make it. */
class KnownFeed {
  readonly listed = new Map<string, { price: number; brand: string; currency: string; modified: number }>();
  private readonly prices = new Map<string, (readonly [price: number, currency: string, since: number])[]>();
  private currency = 'EUR';

  take(step: Step, now: number): string[] {
    const { currency } = this;
    if (step.kind === 'turn') {
      this.currency = step.currency;
      return [];
    }
    if (step.kind === 'delete') {
      for (const id of step.ids === 'all' ? [...this.listed.keys()] : step.ids) this.listed.delete(id);
      return [];
    }
    const usable = new Map<string, { price: number; brand: string }>();
    for (const { id, price, brand } of step.posted) if (brand !== undefined) usable.set(id, { price, brand });
    for (const [id, { price, brand }] of usable) {
      const before = this.listed.get(id);
      const isSame = before?.price === price && before.brand === brand && before.currency === currency;
      if (!isSame) this.listed.set(id, { price, brand, currency, modified: now });
      const history = this.prices.get(id) ?? [];
      const [last] = history;
      if (last?.[0] !== price || last[1] !== currency)
        this.prices.set(id, [[price, currency, now], ...history]);
    }
    if (step.mode !== '') {
      for (const id of this.listed.keys()) {
        if (!step.posted.some((one) => one.id === id)) this.listed.delete(id);
      }
    }
    return step.posted.filter(({ brand }) => brand === undefined).map(({ id }) => `PF_240 ${id}`);
  }

  offers(): object {
    return Object.fromEntries(
      [...this.listed].map(([id, { price, brand, modified }]) => [
        id,
        { price, brand, modified, history: this.prices.get(id) },
      ]),
    );
  }
}

let app: TestApp;
let now = Date.UTC(2026, 2, 1);
const { search } = clientOf(() => app);
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK, now: () => new Date(now) });
});
afterAll(() => app.close());

const target = `/1.0/products.json;fid=${FEEDS.german}`;
const token = TOKENS.nord;

async function send(step: Exclude<Step, { readonly kind: 'turn' }>) {
  if (step.kind === 'delete') {
    const which = step.ids === 'all' ? 'deleteAll=true' : `spId=${step.ids.join(',')}`;
    return app.delete(`${target};${which}`, { token });
  }
  const { mode, xml, posted } = step;
  const body = xml
    ? `<products>${posted.map(toXml).join('')}</products>`
    : JSON.stringify({
        products: posted.map(({ id, price, brand }) => product(id, { price, brand, name: brand })),
      });
  return app.post(`${target}${mode}`, { token, headers: xml ? XML_UTF8 : JSON_UTF8, body });
}

function toXml({ id, price, brand }: Posted): string {
  const named = brand === undefined ? '' : `<name>${brand}</name><brand>${brand}</brand>`;
  return (
    `<product sourceProductId="${id}">${named}<description>As good as any.</description>` +
    `<productUrl>https://shop.example/${id}</productUrl><productImage>https://img.example/1.jpg</productImage>` +
    `<price>${price.toFixed(2)}</price><categories><category id="1"/></categories></product>`
  );
}

async function offers(): Promise<object> {
  const { products } = await search(`;fid=${FEEDS.german};priceHistory=true`);
  return Object.fromEntries(
    products.map(({ brand, offers: [offer] }) => {
      const { sourceProductId, price, modified, priceHistory } = offer as unknown as {
        sourceProductId: string;
        price: number;
        modified: number;
        priceHistory: { price: { value: string; currency: string }; date: number }[];
      };
      const history = priceHistory.map(({ price: { value, currency }, date }) => [
        ...[Number(value), currency, date],
      ]);
      return [sourceProductId, { price, brand, modified, history }];
    }),
  );
}

it(`${STEPS} random posts, replacements, deletions and changes of currency have the documented result, including prices and times of change (Document 1, Behaviour rules for posting; decisions P1, P10; LOAD_SEED=${SEED})`, async () => {
  const known = new KnownFeed();
  for (const [at, step] of fc.sample(steps, { numRuns: STEPS, seed: SEED }).entries()) {
    now += MINUTE;
    const faults = known.take(step, now);
    if (step.kind === 'turn') {
      await app.import({ programs: [{ ...NETWORK.programs[0], currency: step.currency }] });
      continue;
    }
    const answer = await send(step);
    const context = { at, step };
    expect({ ...context, faults: refused(answer), status: answer.statusCode }).toEqual({
      ...context,
      faults,
      status: faults.length === 0 ? 200 : 400,
    });
    expect({ ...context, offers: await offers() }).toEqual({ ...context, offers: known.offers() });
  }
});
