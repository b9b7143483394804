import { type TestApp } from '../support/app';
import { cases } from '../support/size';
import { inRandomOrder } from '../support/random-order';
import { SEED } from './searches';
import {
  appWithVouchers,
  type Asked,
  connected,
  type KnownVouchers,
  type Posted,
  randomListings,
  VOUCHERS,
} from './voucher-listings';
import { idsOf, NOW, type VoucherClient, voucherClientOf } from './voucher-network';

const LISTINGS = cases(500, 300);

/** While the vouchers are posted it is active. */
const PAUSED = 104;

const SITES_OF: Readonly<Record<Exclude<VoucherClient, 'nord' | 'casa'>, readonly number[]>> = {
  preisblick: [1101],
  preisblickAll: [1101, 1102],
  deals: [1201, 1202, 1203],
  lonely: [1301],
};

/** The words of a text, cut and folded (decisions P4). */
function wordsIn(text: string): readonly string[] {
  const folded = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase().replaceAll('ß', 'ss');
  return folded.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** What must be listed, found by looking at every voucher; `updated` is when each was posted. */
function answerOf(keys: Asked, client: VoucherClient, known: KnownVouchers): readonly number[] {
  const isOwner = client === 'nord' || client === 'casa';
  const usableOn = (site: number, { programId, siteIds = [] }: Posted) =>
    connected(site, programId) && (siteIds.length === 0 || siteIds.includes(site));
  const mine = (site: number) =>
    isOwner || (client.startsWith('preis') ? [1101, 1102] : SITES_OF[client]).includes(site);
  const at = keys.activeAt ?? (isOwner ? undefined : NOW);
  const isBounded = keys.minEndDate !== undefined || keys.maxStartDate !== undefined;
  const listed = [...known].filter(([id, one]) => {
    const { startDate, endDate, siteIds = [], publishStartDate = -Infinity, publishEndDate = Infinity } = one;
    const text = wordsIn([one.title, 'Nothing to pay for delivery', one.description, one.code].join(' '));
    return (
      (isOwner
        ? (one.programId === 201) === (client === 'casa')
        : one.programId !== PAUSED && SITES_OF[client].some((site) => usableOn(site, one))) &&
      (at === undefined || (publishStartDate <= at && at <= publishEndDate)) &&
      (at === undefined || isBounded || at <= endDate) &&
      endDate >= (keys.minEndDate ?? -Infinity) &&
      startDate <= (keys.maxStartDate ?? Infinity) &&
      (keys.id?.includes(id) ?? true) &&
      (keys.programId?.some((programId) => programId === one.programId) ?? true) &&
      (keys.voucherTypeId?.includes(one.voucherTypeId) ?? true) &&
      (keys.siteSpecific === undefined || keys.siteSpecific === siteIds.length > 0) &&
      (keys.siteId?.some((site) => mine(site) && usableOn(site, one)) ?? true) &&
      (keys.languageId === undefined || keys.languageId.toLowerCase() === one.languageId?.toLowerCase()) &&
      (keys.keywords?.some((value) => wordsIn(value).every((word) => text.includes(word))) ?? true)
    );
  });
  const latest = listed.sort(([a, one], [b, other]) => other.updated - one.updated || b - a);
  const ids = latest.map(([id]) => id);
  const sorted = keys.random === undefined ? ids : inRandomOrder(keys.random, ids);
  const size = Math.min(1000, keys.pageSize ?? 1000);
  const from = (keys.page ?? 0) * size;
  return sorted.slice(from, from + size);
}

let app: TestApp;
let known: KnownVouchers;
const { list } = voucherClientOf(() => app);

beforeAll(async () => {
  ({ app, known } = await appWithVouchers(SEED));
});
afterAll(() => app.close());

it(`${LISTINGS} random listings match a search through every voucher, including order (decisions V3 to V12; SEARCH_SEED=${SEED})`, async () => {
  expect(known.size).toBe(VOUCHERS);
  let found = 0;
  for (const { keys, target, client } of randomListings(LISTINGS, SEED)) {
    const ids = idsOf(await list(target, client));
    expect({ target, client, ids }).toEqual({ target, client, ids: answerOf(keys, client, known) });
    found += ids.length > 0 ? 1 : 0;
  }
  expect(found).toBeGreaterThan(LISTINGS / 6);
});
