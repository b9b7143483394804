import { type StateId } from '../domain/transactions/states';
import { type Clock } from '../runtime/clock';
import { type VisibleWrites } from '../http/visible-writes';
import { type EventLog } from '../kernel/event-log';
import { appendFacts } from '../network/decider';
import { type FollowedDirectory } from '../network/follower';
import { planNetwork } from '../operations/import-network';
import { type CommandResults, type Recorded, TransactionCommands } from '../services/transactions/commands';
import { DEMO, demoNetwork } from './network';
import { DAY } from './products';
import { type Random, seededRandom } from './catalogue';

/** Something to do at a time. */
export interface DemoStep {
  readonly at: Date;
  readonly run: () => Promise<void>;
}

/** The oldest transactions, and the time from one post to the next (days). */
const FIRST_DAY = 90;
const INTERVAL = 3;
const PER_POST = 16;

interface DemoTransaction {
  readonly programId: number;
  state: StateId;
  /** The day it entered the state, counted from `FIRST_DAY` before now. */
  since: number;
}

/** About 500 transactions of 90 days in all nine states, the oldest first. The same in every run, but for times. */
export function demoTransactions(now: Date, parts: DemoParts): readonly DemoStep[] {
  const { clock, log, visible, follower } = parts;
  const commands = new TransactionCommands(clock, log, visible, follower);
  const random = seededRandom(20);
  const tracked = new Map<string, DemoTransaction>();
  const steps: DemoStep[] = [];
  for (let day = 0; day <= FIRST_DAY; day += INTERVAL) {
    const at = new Date(now.getTime() - (FIRST_DAY - day) * DAY);
    const run = async (): Promise<void> => {
      for (const { id, status } of STATUSES.filter((one) => one.day === day))
        await setStatus(id, status, parts);
      const posted = Array.from({ length: PER_POST }, (_, of) =>
        reportOf((day / INTERVAL) * PER_POST + of, day, at, random),
      );
      const reported = recordedIn(await commands.report(posted, OPERATOR));
      for (const [of, { transactionId, messageTypeId }] of reported.entries())
        tracked.set(transactionId, {
          programId: posted[of]?.programId ?? NaN,
          state: messageTypeId,
          since: day,
        });
      const moved = recordedIn(await commands.transition(transitionsOn(day, tracked, random), OPERATOR));
      const ended = [...tracked].filter(
        ([, { state, since }]) => state === 4 && day - since === PENDING_DAYS,
      );
      // As the system does it (`docs/decisions.md#t4`).
      const endPeriod = { do: 'endPeriod', at: at.toISOString() } as const;
      const approved = await Promise.all(ended.map(([id]) => commands.execute(id, endPeriod)));
      for (const { transactionId, messageTypeId: state } of [...moved, ...approved]) {
        const one = tracked.get(transactionId);
        if (one !== undefined && one.state !== state) Object.assign(one, { state, since: day });
      }
    };
    steps.push({ at, run });
  }
  return steps;
}

const PENDING_DAYS = 30;

const { suspended, closed } = DEMO.programs;

const CLOSING_DAY = 69;
const STATUSES = [
  { id: closed, status: 'paused', day: 30 },
  { id: closed, status: 'closed', day: CLOSING_DAY },
  { id: suspended, status: 'paused', day: 72 },
] as const;

/** Programs with sites that are connected to them; one that is listed twice has twice as many transactions. */
const PLACES = [
  [101, DEMO.sites.preisfuchs],
  [101, DEMO.sites.preisfuchs],
  [101, DEMO.sites.preisfuchsApp],
  [102, DEMO.sites.preisfuchs],
  [102, DEMO.sites.bargainLane],
  [201, DEMO.sites.bargainLane],
  [202, DEMO.sites.preisfuchs],
  [suspended, DEMO.sites.preisfuchs],
  [closed, DEMO.sites.preisfuchs],
] as const;

const EPIS = ['newsletter', 'toplist', 'search', 'app'] as const;

/** Mostly sales, some leads; some fail validation, some wait for their advertiser. */
function reportOf(number: number, day: number, at: Date, random: Random) {
  const [programId, siteId] = random.pick(PLACES.filter(([id]) => id !== closed || day < CLOSING_DAY));
  const timeOfEvent = at.getTime() - random.between(1, 36 * 60) * 60_000;
  const isSale = random.chance(0.8);
  const isLate = random.chance(0.04);
  const visited = random.between(1, 240) * 60_000;
  const orderValue = random.between(990, 49_990) / 100;
  const article = random.between(1, 900);
  return {
    programId,
    siteId,
    eventId: programId * 10 + (isSale ? 1 : 2),
    orderNumber: `D-${10_001 + number}`,
    timeOfEvent,
    // A visit after the order.
    timeOfVisit: isLate ? timeOfEvent + visited : timeOfEvent - visited,
    epi: random.pick(EPIS),
    ...(isSale
      ? { orderValue, reportInfo: `f1=${article}&f2=Article%20${article}&f3=${orderValue.toFixed(2)}&f4=1` }
      : {}),
    ...(random.chance(0.03) ? { validate: false } : {}),
  };
}

const RETURNED = 10;

/** What advertisers and the operator do on a day. */
function transitionsOn(
  day: number,
  tracked: ReadonlyMap<string, DemoTransaction>,
  random: Random,
): readonly object[] {
  return [...tracked].flatMap(([transactionId, { programId, state, since }]): readonly object[] => {
    const days = day - since;
    const isApproved = state === 5 || state === 6;
    if (state === 3 && programId === closed && day === CLOSING_DAY)
      return [{ transactionId, action: 'validate' }];
    if (state === 4 && days === 6 && random.chance(0.15)) return [{ transactionId, action: 'approve' }];
    if (state === 4 && days === 9 && random.chance(0.15)) return [{ transactionId, action: 'deny' }];
    if (state === 4 && days === 12 && random.chance(0.1))
      return [{ transactionId, action: 'amend', orderValue: random.between(990, 9_990) / 100 }];
    if (isApproved && days === 9 && random.chance(0.05))
      return [{ transactionId, action: 'delete', deniedReasonId: RETURNED }];
    if (isApproved && days === 15 && random.chance(0.7))
      return [{ transactionId, action: 'pay', paymentId: 7_000 + day }];
    return [];
  });
}

/** What the steps of the demo work with. */
export interface DemoParts {
  readonly log: EventLog;
  readonly follower: FollowedDirectory;
  readonly visible: VisibleWrites;
  /** Shows the time of the step. */
  readonly clock: Clock;
}

const OPERATOR = { organisationId: DEMO.operator, kind: 'operator' } as const;

async function setStatus(
  programId: number,
  status: 'paused' | 'closed',
  { clock, log, follower }: DemoParts,
): Promise<void> {
  const program = demoNetwork().programs.find(({ id }) => id === programId);
  const changed = { programs: [{ ...program, status }] };
  const { facts } = planNetwork(follower.directory, changed, { at: clock.now().toISOString() });
  const { position } = await appendFacts(clock, log, facts, follower.directory);
  await follower.reached(position);
}

function recordedIn({ results }: CommandResults): readonly Recorded[] {
  return results.map((result) => {
    if ('faults' in result)
      throw new Error(`a demo transaction was refused: ${result.faults[0]?.message ?? ''}`);
    return result;
  });
}
