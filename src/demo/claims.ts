import { toOrderTransaction } from '../../projections/transactions';
import { claimDecider } from '../domain/claims/claim';
import { type OrderTransaction } from '../domain/claims/screening';
import { CHANNELS } from '../domain/claims/statuses';
import { storedAfter, type StoredTransaction } from '../domain/transactions/stored-transaction';
import { TRANSACTION, type TransactionEvent } from '../domain/transactions/transaction';
import { execute, toDomainEvent } from '../kernel/decider';
import { START } from '../kernel/event';
import { OrderSearch } from '../processes/order-search';
import { track } from '../processes/track-order';
import { ClaimCommands } from '../services/claims/commands';
import { type PostedClaim, type PostedList } from '../services/claims/claims-body';
import { rejectionOf, reviewClaim } from '../operations/network-claims';
import { DEMO, demoNetwork } from './network';
import { DAY } from './products';
import { type Random, seededRandom } from './catalogue';
import { type DemoParts, type DemoStep } from './transactions';

interface KnownOrder extends OrderTransaction {
  readonly orderNumber: string;
  readonly programId: number;
}

/** An update of the version `versionNo`, with the fields that a publisher or an advertiser posts. */
type PostedClaimUpdate = object & { readonly claimId: number; readonly versionNo: number };

const { sites, publishers, programs, inquiry, daysToAutoApprove } = DEMO;

/** What is special about a claim, and how many there are. */
const KINDS = {
  plain: 25,
  tracked: 12,
  rejected: 3,
  tooMuchCommission: 3,
  unknownProgram: 2,
  inactiveProgram: 3,
  withoutClaims: 2,
  notConnected: 2,
  future: 1,
  unknownEvent: 2,
} as const;

type ClaimCase = keyof typeof KINDS;

/** The first post of claims, and the time from one to the next (days). */
const FIRST_DAY = 60;
const INTERVAL = 5;

/** The last claims, 56 to 60: examples of the description name them by their ids, and they await approval. */
const EXAMPLES = 5;

/** 60 claims of the last 60 days in many statuses, the oldest first. The same in every run, but for times. */
export function demoClaims(now: Date, parts: DemoParts): readonly DemoStep[] {
  const commands = new DemoClaims(parts);
  const last: DemoStep = {
    at: now,
    run: async () => {
      const claims = Array.from({ length: EXAMPLES }, (_, at) => exampleClaim(at, now));
      await commands.file(publishers.preisfuchs, claims);
    },
  };
  return [...claimsOverTime(now, commands), last];
}

function exampleClaim(number: number, now: Date): PostedClaim {
  return {
    affiliateSiteId: sites.preisfuchs,
    programId: 101,
    timeStampEvent: dayOf(now, -2 - number),
    eventId: inquiry,
    orderNumber: `C-${10_001 + number}`,
    orderValue: 129.9,
    expectedCommission: 7.8,
  };
}

function claimsOverTime(now: Date, commands: DemoClaims): readonly DemoStep[] {
  const random = seededRandom(31);
  const kinds = inRandomOrder(
    Object.entries(KINDS).flatMap(([kind, count]) => Array<ClaimCase>(count).fill(kind as ClaimCase)),
    random,
  );
  const posts = FIRST_DAY / INTERVAL - 1;
  const perPost = Math.ceil(kinds.length / posts);
  const claimed = new Set<string>();
  return Array.from({ length: posts }, (_, post) => post).flatMap((post) => {
    const at = new Date(now.getTime() - (FIRST_DAY - post * INTERVAL) * DAY + 9 * 60_000);
    const filed = new Map<number, Filed>();
    const numbers = Array.from({ length: perPost }, (_unused, of) => post * perPost + of);
    const file = async (): Promise<void> => {
      const orders = await commands.orders();
      for (const number of numbers) {
        const kind = kinds[number] ?? 'plain';
        const { publisherId, claim } = claimOf(number, kind, { at, random, orders, claimed });
        const [id] = await commands.file(publisherId, [claim]);
        if (id !== undefined) filed.set(number, { id, publisherId, claim });
      }
    };
    const later = (days: number): Date => new Date(at.getTime() + days * DAY);
    const steps: DemoStep[] = [{ at, run: file }];
    for (const number of numbers)
      for (const { days, act } of fatesOf(kinds, number))
        steps.push({
          at: later(days),
          run: async () => {
            const found = filed.get(number);
            if (found !== undefined) await act(commands, found);
          },
        });
    return steps.filter((step) => step.at.getTime() <= now.getTime());
  });
}

interface ClaimsSoFar {
  readonly at: Date;
  readonly random: Random;
  readonly orders: readonly KnownOrder[];
  /** Order numbers of transactions that were claimed before. */
  readonly claimed: Set<string>;
}

const PLACES = [
  [101, sites.preisfuchs],
  [101, sites.preisfuchsApp],
  [102, sites.preisfuchs],
  [102, sites.bargainLane],
  [201, sites.bargainLane],
] as const;

function claimOf(number: number, kind: ClaimCase, context: ClaimsSoFar) {
  const { at, random } = context;
  const tracked = kind === 'tracked' ? pickTracked(number, context) : undefined;
  const [programId, siteId] = tracked ?? placeOf(kind, random);
  const orderValue = random.between(1_990, 39_990);
  const eventId = kind === 'unknownEvent' ? 999 : inquiry;
  const isTooMuch = kind === 'tooMuchCommission' || kind === 'rejected';
  const expectedCommission = isTooMuch ? orderValue + 1 : Math.round(orderValue * 0.06);
  const article = random.between(1, 900);
  const host = siteId === sites.bargainLane ? 'bargainlane.example' : 'preisfuchs.example';
  const claim: PostedClaim = {
    affiliateSiteId: siteId,
    programId,
    timeStampEvent: dayOf(at, kind === 'future' ? 20 : -random.between(1, 20)),
    eventId,
    orderNumber: tracked?.[2] ?? `C-${20_001 + number}`,
    orderValue: orderValue / 100,
    productName: `Article ${article}`,
    ...(random.chance(0.5) ? { epi: 'newsletter' } : {}),
    ...(random.chance(0.3) ? { proofOfClaims: `https://${host}/receipts/${number}` } : {}),
    ...(kind === 'unknownEvent' ? {} : { expectedCommission: expectedCommission / 100 }),
  };
  return {
    publisherId: siteId === sites.bargainLane ? publishers.bargainLane : publishers.preisfuchs,
    claim,
  };
}

function placeOf(kind: ClaimCase, random: Random): readonly [programId: number, siteId: number] {
  switch (kind) {
    case 'unknownProgram':
      return [999, sites.preisfuchs];
    case 'inactiveProgram':
      return [programs.closed, sites.preisfuchs];
    case 'withoutClaims':
      return [programs.withoutClaims, sites.preisfuchs];
    case 'notConnected':
      return [102, sites.preisfuchsApp];
    default:
      return random.pick(PLACES);
  }
}

/** An order of a program that accepts claims; every third one is claimed for another site. */
function pickTracked(number: number, { random, orders, claimed }: ClaimsSoFar) {
  const open = orders.filter(
    ({ programId, orderNumber }) => [101, 102].includes(programId) && !claimed.has(orderNumber),
  );
  const { programId, siteId, orderNumber } = random.pick(open);
  claimed.add(orderNumber);
  const other = programId === 102 && siteId === sites.preisfuchs ? sites.bargainLane : sites.preisfuchs;
  return [programId, number % 3 === 0 ? other : siteId, orderNumber] as const;
}

interface Filed {
  readonly id: number;
  readonly publisherId: number;
  readonly claim: PostedClaim;
}

const REJECTED: readonly number[] = [201, 205, 206, 207, 208, 211, 212, 213];

interface Fate {
  readonly days: number;
  readonly act: (commands: DemoClaims, claim: Filed) => Promise<void>;
}

/** What happens to a claim after its post. */
function fatesOf(kinds: readonly ClaimCase[], number: number): readonly Fate[] {
  const kind = kinds[number];
  if (kind === 'rejected') return [{ days: 1, act: (commands, { id }) => commands.reject(id, 101) }];
  const before = kinds.slice(0, number).filter((one) => one === 'plain').length;
  return kind === 'plain' ? fatesOfPlain(before) : [];
}

/** Of the claims that await approval, by their order. */
function fatesOfPlain(number: number): readonly Fate[] {
  const due: Fate = { days: daysToAutoApprove, act: (commands, { id }) => commands.autoApprove(id) };
  const ruled = (ruling: object): Fate => ({
    days: 3,
    act: (commands, { id, claim }) =>
      commands.rule(advertiserOf(claim.programId), { claimId: id, versionNo: 0, ...ruling }),
  });
  switch (number % 5) {
    case 0:
      return [ruled({ statusIdClaim: 3 })];
    case 1:
      return [
        ruled({
          statusIdClaim: 3,
          orderValue: 15,
          expectedCommission: 0.9,
          statusMessageClaim: 'One article was returned',
        }),
      ];
    case 2: {
      const statusId = REJECTED[Math.floor(number / 5) % REJECTED.length] ?? 205;
      const channel = CHANNELS[number % CHANNELS.length] ?? 'Other';
      const message = statusId === 201 ? { statusMessageClaim: channel } : {};
      return [ruled({ statusIdClaim: statusId, ...message })];
    }
    case 3: {
      const revised: Fate = {
        days: 2,
        act: (commands, { id, publisherId, claim }) => {
          const change = { claimId: id, versionNo: 0, advertiserInformation: 'Ordered by telephone' };
          return commands.revise(publisherId, { ...claim, ...change });
        },
      };
      return [revised, { ...due, days: due.days + revised.days }];
    }
    default:
      return [due];
  }
}

function advertiserOf(programId: number): number {
  return demoNetwork().programs.find(({ id }) => id === programId)?.organisationId ?? NaN;
}

function dayOf(at: Date, days: number): string {
  return new Date(at.getTime() + days * DAY).toISOString().slice(0, 10);
}

function inRandomOrder<Item>(items: readonly Item[], random: Random): readonly Item[] {
  return items
    .map((item) => ({ item, rank: random.next() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/** What the demo does with claims. There are no read models yet: orders are looked up in the log. */
class DemoClaims {
  private readonly search: OrderSearch;
  private readonly commands: ClaimCommands;

  constructor(private readonly parts: DemoParts) {
    const { log, follower, clock, visible } = parts;
    this.search = new OrderSearch(clock, async ({ advertiserId, orderNumbers }) => {
      const orders = await this.orders();
      const own = orders.filter(
        ({ programId }) => follower.directory.program(programId)?.organisationId === advertiserId,
      );
      return new Map(orderNumbers.map((number) => [number, own.filter((one) => one.orderNumber === number)]));
    });
    this.commands = new ClaimCommands(log, this.search, follower, clock, visible);
  }

  /** All transactions so far, the oldest first. */
  async orders(): Promise<readonly KnownOrder[]> {
    const stored = new Map<string, StoredTransaction>();
    for await (const { events } of this.parts.log.readAll({ after: START, prefixes: [`${TRANSACTION}-`] }))
      for (const event of events) {
        const id = event.stream.slice(TRANSACTION.length + 1);
        stored.set(id, storedAfter(stored.get(id), toDomainEvent(event) as TransactionEvent, event.revision));
      }
    return [...stored].map(([id, one]) => {
      const { orderNumber, programId } = one.transaction;
      return { ...toOrderTransaction(id, one), orderNumber, programId };
    });
  }

  /** As a publisher posts them. Returns the ids. */
  async file(organisationId: number, claims: readonly object[]): Promise<readonly number[]> {
    const caller = { organisationId, kind: 'publisher' } as const;
    return (await this.commands.create(listOf('claims', claims), caller)).ids;
  }

  async revise(organisationId: number, update: PostedClaimUpdate): Promise<void> {
    const caller = { organisationId, kind: 'publisher' } as const;
    await this.commands.revise(listOf('claimUpdates', [update]), caller);
  }

  /** As an advertiser posts it. An approved claim becomes a transaction at once. */
  async rule(organisationId: number, update: PostedClaimUpdate): Promise<void> {
    const caller = { organisationId, kind: 'advertiser' } as const;
    await this.commands.rule(listOf('claimUpdates', [update]), caller);
    await this.track(update.claimId);
  }

  async reject(claimId: number, statusId: number): Promise<void> {
    const { clock, log, follower } = this.parts;
    const parts = { clock, log, search: this.search, directory: follower.directory, now: clock.now() };
    await reviewClaim({ claimId, ...rejectionOf(statusId, undefined) }, parts);
  }

  async autoApprove(claimId: number): Promise<void> {
    const { clock, log } = this.parts;
    const command = { do: 'autoApprove', at: clock.now().toISOString() } as const;
    await execute(clock, log, claimDecider, claimId, command);
    await this.track(claimId);
  }

  private async track(claimId: number): Promise<void> {
    const ordersNow = async (advertiserId: number, orderNumber: string) => {
      const found = await this.search.find(advertiserId, new Set([orderNumber]));
      return found === 'unavailable' ? [] : (found.get(orderNumber) ?? []);
    };
    const { clock, log, follower } = this.parts;
    const { directory } = follower;
    const context = { clock, log, directory, at: clock.now().toISOString(), since: START };
    await track(claimId, ordersNow, context);
  }
}

function listOf(name: PostedList['name'], items: readonly object[]): PostedList {
  return { name, items, format: 'json' };
}
