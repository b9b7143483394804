import fc from 'fast-check';
import { type ClaimCommand, type ClaimContent, claimDecider } from '../../src/domain/claims/claim';
import { type RulingStatusId, type ScreenedStatusId } from '../../src/domain/claims/statuses';
import { execute } from '../../src/kernel/decider';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestApp, type TestAppOptions } from '../support/app';
import { CLAIM_NETWORK, type ClaimClient } from './claim-network';
import { DAY, NOW } from './voucher-network';

/** How many are filed; some are withdrawn. */
const CLAIMS = 250;

const HOUR = DAY / 24;
const SITES = { 1101: 11, 1102: 11, 1201: 12, 1202: 12, 1203: 12 } as const;
const SITE_IDS = Object.keys(SITES).map(Number) as readonly (keyof typeof SITES)[];
/** 999 is no program. */
const PROGRAMS: Readonly<Record<number, number | undefined>> = {
  101: 1,
  102: 1,
  103: 1,
  104: 1,
  201: 2,
  999: undefined,
};
const PROGRAM_IDS = Object.keys(PROGRAMS).map(Number);
const SCREENED = [2, 2, 2, 100, 102, 106, 111, 116] as const satisfies readonly ScreenedStatusId[];
const RULED = [3, 3, 201, 205, 213] as const satisfies readonly RulingStatusId[];

/** What is known of a claim, by looking at what was done. */
export interface KnownClaim {
  readonly claimId: number;
  readonly publisherId: number;
  readonly created: number;
  siteId: number;
  programId: number;
  advertiserId: number | undefined;
  transaction: number;
  orderNumber: string;
  statusId: number;
  statusChanged: number;
  changed: number;
}

const days = fc.integer({ min: -6, max: 0 }).map((day) => NOW - 12 * HOUR + day * DAY);
const orders = fc
  .constantFrom('', 'a', 'B', 'ä', '😀', '\uffee', 'x'.repeat(239))
  .chain((start) => fc.nat(9).map((digit) => `${start}${digit}`));

const contents = fc.record({
  siteId: fc.constantFrom(...SITE_IDS),
  programId: fc.constantFrom(...PROGRAM_IDS),
  transaction: days,
  orderNumber: orders,
});

const histories = fc.record({
  content: contents,
  hour: fc.nat(48),
  screened: fc.constantFrom(...SCREENED),
  wait: fc.integer({ min: 1, max: 60 }),
  revised: fc.option(fc.record({ content: contents, screened: fc.constantFrom(...SCREENED) }), { freq: 2 }),
  ruled: fc.option(fc.constantFrom(...RULED), { freq: 2 }),
  isWithdrawn: fc.integer({ min: 0, max: 9 }).map((chance) => chance === 0),
});

type History = typeof histories extends fc.Arbitrary<infer One> ? One : never;

/** The commands of a claim in their order, and what is known of it then; undefined if it is withdrawn. */
function claimOf(claimId: number, history: History) {
  const publisherId = SITES[history.content.siteId];
  let time = NOW - 5 * DAY + history.hour * HOUR;
  const commands: ClaimCommand[] = [];
  const factsOf = ({ transaction, ...content }: History['content']) => {
    const claim: ClaimContent = {
      ...content,
      siteId: SITES[content.siteId] === publisherId ? content.siteId : history.content.siteId,
      transactionDate: new Date(transaction).toISOString().slice(0, 10),
      eventId: 17,
      orderValue: 1000,
    };
    const advertiserId = PROGRAMS[content.programId];
    const program = advertiserId === undefined ? {} : { advertiserId, currencyId: 'EUR' };
    return { claim, program, known: { ...content, siteId: claim.siteId, advertiserId, transaction } };
  };
  const at = () => new Date(time).toISOString();
  const { claim, program, known: first } = factsOf(history.content);
  const origin = { publisherId, ...program };
  commands.push({ do: 'file', at: at(), origin, claim, screening: { statusId: history.screened } });
  const created = { publisherId, created: time, statusId: history.screened as number };
  const known: KnownClaim = { claimId, ...first, ...created, statusChanged: time, changed: time };
  const becomes = (statusId: number): void => {
    if (statusId !== known.statusId) known.statusChanged = time;
    Object.assign(known, { statusId, changed: time });
  };
  let version = 0;
  if (history.revised !== null) {
    time += history.wait * HOUR;
    const { screened: statusId } = history.revised;
    const { claim: revised, program: party, known: changes } = factsOf(history.revised.content);
    commands.push({ do: 'revise', at: at(), version, claim: revised, ...party, screening: { statusId } });
    Object.assign(known, changes);
    becomes(statusId);
    version += 1;
  }
  if (history.isWithdrawn) {
    commands.push({ do: 'withdraw', at: at(), version });
    return { commands, known: undefined };
  }
  if (history.ruled !== null && known.statusId === 2) {
    time += history.wait * HOUR;
    commands.push({ do: 'rule', at: at(), version, ruling: { statusId: history.ruled } });
    becomes(history.ruled);
    // Not visible.
    time += HOUR;
    if (history.ruled === 3) commands.push({ do: 'track', at: at(), transactionId: 'f'.repeat(32) });
  }
  return { commands, known };
}

/** Claims by their ids. */
export type KnownClaims = ReadonlyMap<number, KnownClaim>;

/** An application at `NOW` with random claims of both advertisers and publishers. */
export async function appWithClaims(
  seed: number,
  options: Pick<TestAppOptions, 'engines'> = {},
): Promise<{ readonly app: TestApp; readonly known: KnownClaims }> {
  const app = await TestApp.start({ network: CLAIM_NETWORK, now: () => new Date(NOW), ...options });
  const known = new Map<number, KnownClaim>();
  for (const [at, history] of fc.sample(histories, { numRuns: CLAIMS, seed }).entries()) {
    const { commands, known: one } = claimOf(at + 1, history);
    for (const command of commands)
      await execute(SYSTEM_CLOCK, app.engines.log, claimDecider, at + 1, command);
    if (one !== undefined) known.set(at + 1, one);
  }
  await app.settled();
  return { app, known };
}

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const several = <T>(arbitrary: fc.Arbitrary<T>) => maybe(fc.array(arbitrary, { minLength: 1, maxLength: 3 }));
const bound = maybe(days);

const ORDERS = [
  'claimId',
  'programName',
  'siteName',
  'timeStamp',
  'timeStampEvent',
  'orderNumber',
  'statusChanged',
] as const;

const asked = fc
  .record({
    statusId: several(fc.constantFrom(2, 3, 100, 106, 201, 999)),
    minUpdateDate: bound,
    maxUpdateDate: bound,
    minTransactionDate: bound,
    maxTransactionDate: bound,
    programId: several(fc.constantFrom(...PROGRAM_IDS)),
    claimId: maybe(fc.array(fc.integer({ min: 1, max: CLAIMS }), { minLength: 1, maxLength: 150 })),
    tdconnect: maybe(fc.boolean()),
    offset: maybe(fc.constantFrom(0, 1, 2, 7, 60)),
    limit: maybe(fc.constantFrom(1, 5, 40, 2000)),
    sortBy: maybe(fc.constantFrom(...ORDERS)),
    sortOrder: maybe(fc.constantFrom('asc', 'desc')),
  })
  .chain((keys) =>
    fc
      .subarray(Object.keys(keys))
      .map(
        (names) =>
          Object.fromEntries(Object.entries(keys).filter(([name]) => names.includes(name))) as Partial<
            typeof keys
          >,
      ),
  );

export type Asked = typeof asked extends fc.Arbitrary<infer Keys> ? Keys : never;

/** A listing, and who asks. */
interface RandomListing {
  readonly keys: Asked;
  /** The keys as the target has them. */
  readonly target: string;
  readonly client: ClaimClient;
}

/** The same ones each time while the seed is the same. */
export function randomClaimListings(
  count: number,
  seed: number,
  clients: readonly ClaimClient[],
): readonly RandomListing[] {
  const cases = fc.tuple(asked, fc.constantFrom(...clients));
  return fc.sample(cases, { numRuns: count, seed }).map(([keys, client]) => ({
    keys,
    client,
    target: Object.entries(keys)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `;${name}=${name.endsWith('Date') ? dayOf(Number(value)) : String(value)}`)
      .join(''),
  }));
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The name of what a network file defines, or else the id. */
export type NameOf = (list: 'programs' | 'sites', id: number) => string;

const PARTY: Readonly<Record<ClaimClient, Partial<KnownClaim>>> = {
  nord: { advertiserId: 1 },
  casa: { advertiserId: 2 },
  preisblick: { publisherId: 11, siteId: 1101 },
  preisblickAll: { publisherId: 11 },
  deals: { publisherId: 12 },
  lonely: { publisherId: 13 },
};

/** Whether a client may see a claim. */
export function isPartyTo(one: KnownClaim, client: ClaimClient): boolean {
  return Object.entries(PARTY[client]).every(([name, value]) => one[name as keyof KnownClaim] === value);
}

/** What must be listed, in order, found by looking at every claim; and how many there are on all pages. */
export function answerOf(
  keys: Asked,
  client: ClaimClient,
  known: KnownClaims,
  nameOf: NameOf,
): { readonly ids: readonly number[]; readonly total: number } {
  const within = (time: number, min = -Infinity, max = Infinity) =>
    dayOf(time) >= (min === -Infinity ? '' : dayOf(min)) &&
    dayOf(time) <= (max === Infinity ? '~' : dayOf(max));
  const found = [...known.values()].filter(
    (one) =>
      isPartyTo(one, client) &&
      (keys.statusId?.some((id) => id === one.statusId) ?? true) &&
      (keys.programId?.includes(one.programId) ?? true) &&
      (keys.claimId?.includes(one.claimId) ?? true) &&
      within(one.changed, keys.minUpdateDate, keys.maxUpdateDate) &&
      within(one.transaction, keys.minTransactionDate, keys.maxTransactionDate),
  );
  const valueOf = (one: KnownClaim): Buffer => {
    switch (keys.sortBy ?? 'claimId') {
      case 'claimId':
        return Buffer.alloc(0);
      case 'programName':
        return Buffer.from(nameOf('programs', one.programId));
      case 'siteName':
        return Buffer.from(nameOf('sites', one.siteId));
      case 'orderNumber':
        return Buffer.from(one.orderNumber);
      case 'timeStamp':
        return Buffer.from(dayOf(one.created));
      case 'timeStampEvent':
        return Buffer.from(dayOf(one.transaction));
      case 'statusChanged':
        return Buffer.from(dayOf(one.statusChanged));
    }
  };
  const ascending = found.sort((a, b) => valueOf(a).compare(valueOf(b)) || a.claimId - b.claimId);
  const inOrder = keys.sortOrder === 'asc' ? ascending : ascending.reverse();
  const { offset = 0, limit = 1000 } = keys;
  const from = keys.tdconnect === true ? offset : Math.max(0, offset - 1);
  return {
    ids: inOrder.slice(from, from + Math.min(1000, limit)).map(({ claimId }) => claimId),
    total: found.length,
  };
}
