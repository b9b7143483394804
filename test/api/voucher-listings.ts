import fc from 'fast-check';
import { TestApp, type TestAppOptions } from '../support/app';
import {
  DAY,
  NOW,
  voucher,
  VOUCHER_CLIENTS,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  type VoucherClient,
} from './voucher-network';

/** How many there are to list. */
export const VOUCHERS = 300;

const times = fc.integer({ min: -3, max: 6 }).map((days) => NOW + days * DAY);
const words = fc.constantFrom('lamp', 'Größe', 'SALE', 'free delivery', 'x_1');
const texts = fc.array(words, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(' '));
const sites = [1101, 1102, 1201, 1202, 1203];
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

export interface Posted {
  readonly programId: number;
  readonly title: string;
  readonly description: string;
  readonly code: string;
  readonly voucherTypeId: number;
  readonly startDate: number;
  readonly endDate: number;
  readonly siteIds: readonly number[] | undefined;
  readonly publishStartDate: number | undefined;
  readonly publishEndDate: number | undefined;
  readonly languageId: string | undefined;
}

const posts: fc.Arbitrary<Posted> = fc
  .record({
    programId: fc.constantFrom(101, 102, 103, 104, 201),
    title: texts,
    description: texts,
    code: words,
    voucherTypeId: fc.constantFrom(1, 3, 4, 5, 6),
    startDate: times,
    endDate: times,
    siteIds: maybe(fc.subarray(sites, { minLength: 1 })),
    publishStartDate: maybe(times),
    publishEndDate: maybe(times),
    languageId: maybe(fc.constantFrom('de', 'SV', 'en')),
  })
  .map((one) => ({ ...one, siteIds: one.siteIds?.filter((site) => connected(site, one.programId)) }))
  .filter(({ startDate, endDate }) => startDate < endDate)
  .filter(({ publishStartDate = 0, publishEndDate = Infinity }) => publishStartDate < publishEndDate);

const several = <T>(arbitrary: fc.Arbitrary<T>) => maybe(fc.array(arbitrary, { minLength: 1, maxLength: 3 }));
const bounds = maybe(fc.tuple(times, fc.constantFrom(-1, 0, 1)).map(([time, ms]) => time + ms));

/** What is asked for: the keys of a listing. */
const asked = fc
  .record({
    id: maybe(fc.array(fc.integer({ min: 1, max: VOUCHERS }), { minLength: 1, maxLength: 150 })),
    programId: several(fc.constantFrom(101, 102, 103, 104, 201, 999)),
    voucherTypeId: several(fc.integer({ min: 1, max: 7 })),
    keywords: several(fc.oneof(words, fc.constantFrom('grosse lamp', 'nothing', '*'))),
    siteSpecific: maybe(fc.boolean()),
    siteId: several(fc.constantFrom(...sites, 9999)),
    languageId: maybe(fc.constantFrom('DE', 'sv')),
    activeAt: bounds,
    minEndDate: bounds,
    maxStartDate: bounds,
    random: maybe(fc.nat(5)),
    pageSize: maybe(fc.constantFrom(1, 7, 100, 2000)),
    page: maybe(fc.nat(2)),
  })
  .chain((keys) => fc.subarray(Object.keys(keys)).map((names) => chosen(keys, names)))
  .map((keys) =>
    keys.minEndDate === undefined && keys.maxStartDate === undefined
      ? keys
      : { ...keys, activeAt: undefined },
  );

function chosen<Keys extends object>(keys: Keys, names: readonly string[]): Partial<Keys> {
  return Object.fromEntries(Object.entries(keys).filter(([name]) => names.includes(name))) as Partial<Keys>;
}

export type Asked = typeof asked extends fc.Arbitrary<infer Keys> ? Keys : never;

export function connected(siteId: number, programId: number): boolean {
  return VOUCHER_NETWORK.connections.some((one) => one.siteId === siteId && one.programId === programId);
}

/** A listing, and who asks. */
interface RandomListing {
  readonly keys: Asked;
  /** The keys as the target has them. */
  readonly target: string;
  readonly client: VoucherClient;
}

/** The same ones each time while the seed is the same. */
export function randomListings(count: number, seed: number): readonly RandomListing[] {
  const cases = fc.tuple(asked, fc.constantFrom(...VOUCHER_CLIENTS));
  return fc.sample(cases, { numRuns: count, seed }).map(([keys, client]) => ({
    keys,
    client,
    target: Object.entries(keys)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `;${name}=${encodeURIComponent(String(value))}`)
      .join(''),
  }));
}

/** By their ids, with when each was posted. */
export type KnownVouchers = ReadonlyMap<number, Posted & { readonly updated: number }>;

/** An application at `NOW` with random vouchers of both advertisers, posted at three times. */
export async function appWithVouchers(
  seed: number,
  options: Pick<TestAppOptions, 'engines'> = {},
): Promise<{ readonly app: TestApp; readonly known: KnownVouchers }> {
  let now = NOW;
  const app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(now), ...options });
  const programs = VOUCHER_NETWORK.programs.map((one) => ({ ...one, status: 'active' }));
  await app.import({ ...VOUCHER_NETWORK, programs });
  const known = new Map<number, Posted & { readonly updated: number }>();
  const all = fc.sample(posts, { numRuns: VOUCHERS, seed });
  for (const owner of ['nord', 'casa'] as const) {
    for (const hour of [0, 1, 2]) {
      now = NOW + hour;
      const some = all.filter(
        ({ programId, voucherTypeId }) =>
          (programId === 201) === (owner === 'casa') && voucherTypeId % 3 === hour,
      );
      const body = JSON.stringify(some.map((one) => voucher(one)));
      const answer = await app.post('/1.0/vouchers/bulk', { token: VOUCHER_TOKENS[owner], body });
      answer
        .json<{ id: number }[]>()
        .forEach(({ id }, place) => known.set(id, { ...some[place]!, updated: now }));
    }
  }
  now = NOW;
  await app.import(VOUCHER_NETWORK);
  await app.settled();
  return { app, known };
}
