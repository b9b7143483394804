import { claimBatches } from '../../projections/claim-batches';
import { claims } from '../../projections/claims';
import { approvalsDueBy, batchesUnfinishedBy, unscreened, untracked } from '../../projections/claims-due';
import { type Automation } from '../automation/automation';
import { type Terms } from '../directory/commission';
import { type Directory } from '../directory/directory';
import { execute, load } from '../kernel/decider';
import { type Position, START } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { KeyedMutex } from '../kernel/keyed-mutex';
import { type ReadStore } from '../kernel/read-store';
import { claimDecider, type FiledClaim } from './claim';
import { claimBatchDecider } from './claim-batch';
import { ClaimWriter } from './claim-writer';
import { OrderSearch } from './order-search.queries';
import { type TrackedOrder, trackedOrder } from './screening';
import { screenAll } from './screening.queries';
import { APPROVED, AWAITING_APPROVAL, CANNOT_VALIDATE, COMMISSION_MISMATCH } from './statuses';
import { type StoredClaim } from './stored-claim';

/** An approved claim as an order; amounts are integers (`wire/minor-units.ts`). */
interface ApprovedOrder {
  readonly claimId: number;
  readonly programId: number;
  readonly siteId: number;
  readonly publisherId: number;
  readonly advertiserId: number;
  readonly currencyId: string;
  readonly eventId: number;
  readonly orderNumber: string;
  readonly orderValue: number;
  /** By default by `terms`: those of the event when the claim was filed (`docs/decisions.md#c6`). */
  readonly publisherCommission?: number;
  readonly terms: Terms;
  /** ISO 8601. */
  readonly timeOfEvent: string;
  readonly epi?: string;
  readonly epi2?: string;
}

/** What the automations need of transactions. */
export interface ClaimAutomationParts {
  readonly store: ReadStore;
  /** The transactions of an advertiser with an order number, as of the end of the log. Raises `EngineUnavailable`. */
  readonly ordersNow: (advertiserId: number, orderNumber: string) => Promise<readonly TrackedOrder[]>;
  /** Makes an approved order a transaction, unless it exists. */
  readonly track: (
    log: EventLog,
    directory: Directory,
    order: ApprovedOrder,
    at: string,
  ) => Promise<{ readonly transactionId: string }>;
}

const MISMATCH = { statusId: COMMISSION_MISMATCH } as const;

/** What the system does with claims by itself. */
export function claimAutomations(parts: ClaimAutomationParts): readonly Automation[] {
  const { store } = parts;
  const search = new OrderSearch(store);
  const orders = new KeyedMutex<string>();
  return [
    {
      name: 'claims that could not be validated',
      projection: claims,
      orderBy: 'unscreened',
      due: () => [unscreened()],
      act: async ({ id, body }, { log, directory, at }) => {
        const { version, claim, origin } = JSON.parse(body) as StoredClaim;
        const claimed = { publisherId: origin.publisherId, claim };
        const screened = await screenAll([claimed], { search, directory, now: new Date(at) });
        const found = screened[0]?.screening ?? { statusId: CANNOT_VALIDATE };
        // What is expected cannot be compared with what the program pays in another currency: an operator decides.
        const isComparable =
          claim.expectedCommission === undefined ||
          directory.program(claim.programId)?.currency === origin.currencyId;
        const screening = found.statusId === AWAITING_APPROVAL && !isComparable ? MISMATCH : found;
        return await execute(log, claimDecider, id, { do: 'screen', at, version, screening });
      },
    },
    {
      name: 'automatic approvals of claims',
      projection: claims,
      orderBy: 'autoApproveAt',
      due: (now) => [approvalsDueBy(now)],
      act: ({ id }, { log, at }) => execute(log, claimDecider, id, { do: 'autoApprove', at }),
    },
    {
      name: 'approved claims that become transactions',
      projection: claims,
      orderBy: 'untracked',
      due: () => [untracked()],
      act: async ({ id, body }, context) => {
        const { origin, claim } = JSON.parse(body) as StoredClaim;
        // Several claims of one order may be approved: the second one finds the transaction of the first.
        const order = `${origin.advertiserId} ${claim.orderNumber}`;
        return await orders.runExclusive(order, () => track(id, parts, context));
      },
    },
    {
      name: 'posts of claims that were interrupted',
      projection: claimBatches,
      orderBy: 'accepted',
      due: (now) => [batchesUnfinishedBy(now)],
      act: async ({ id }, { log }) => await finished(log, Number(id)),
    },
  ];
}

/** Makes a claim a transaction if it is approved and is none yet. */
export async function track(
  id: string | number,
  parts: Pick<ClaimAutomationParts, 'ordersNow' | 'track'>,
  { log, directory, at }: { readonly log: EventLog; readonly directory: Directory; readonly at: string },
): Promise<{ readonly position?: Position }> {
  const { state } = await load(log, claimDecider, id);
  if (state.is !== 'filed' || state.statusId !== APPROVED || state.transactionId !== undefined) return {};
  const order = orderOf(Number(id), state, directory);
  const orders = await parts.ordersNow(order.advertiserId, order.orderNumber);
  // If it has been tracked since, it remains as it is; so does what this has tracked before it was interrupted.
  const { transactionId } = trackedOrder(order, orders) ?? (await parts.track(log, directory, order, at));
  return await execute(log, claimDecider, id, { do: 'track', at, transactionId });
}

async function finished(log: EventLog, batch: number): Promise<{ readonly position?: Position }> {
  const { state } = await load(log, claimBatchDecider, batch);
  return state.is === 'accepted' ? await new ClaimWriter(log).finish(batch, state) : {};
}

/** The claim as it was approved (`docs/decisions.md#c6`, `#c10`). */
function orderOf(
  claimId: number,
  { publisherId, advertiserId, currencyId, claim, ruling, terms, postedAt }: FiledClaim,
  { pastTerms }: Directory,
): ApprovedOrder {
  if (advertiserId === undefined || currencyId === undefined)
    throw new Error('an approved claim has a program');
  const { programId, siteId, eventId, orderNumber, epi, epi2, transactionDate } = claim;
  const publisherCommission = ruling?.expectedCommission ?? claim.expectedCommission;
  return {
    claimId,
    programId,
    siteId,
    publisherId,
    advertiserId,
    currencyId,
    eventId,
    orderNumber,
    orderValue: ruling?.orderValue ?? claim.orderValue,
    ...(publisherCommission === undefined ? {} : { publisherCommission }),
    terms: terms ?? pastTerms.at(programId, eventId, postedAt ?? START) ?? {},
    timeOfEvent: `${transactionDate}T00:00:00.000Z`,
    ...(epi === undefined ? {} : { epi }),
    ...(epi2 === undefined ? {} : { epi2 }),
  };
}
