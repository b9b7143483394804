import { type ClaimContent, type ClaimEvent } from '../../../src/domain/claims/claim';
import { type RecordedEvent } from '../../../src/kernel/event';
import { type Sent, textOf } from '../clients';
import { fileClaims, reviseClaim, ruleOnClaim, withdrawClaim } from '../workloads/claims';
import { CLAIMED } from '../workloads/network-file';
import { require } from './broken';
import { type Check, dataOf, type Observed, streamsOf, timeOf } from './check';

type Happened = ClaimEvent & { readonly recorded: RecordedEvent };

const happened = (recorded: RecordedEvent) =>
  ({ type: recorded.type, data: dataOf(recorded), recorded }) as unknown as Happened;

/** All that has happened to claims, by their ids. */
function claimsOf(world: Observed): ReadonlyMap<number, readonly Happened[]> {
  const claims = [...streamsOf(world, 'claim')].filter(([id]) => /^\d+$/.test(id));
  return new Map(claims.map(([id, events]) => [Number(id), events.map(happened)]));
}

type Keyed = Pick<ClaimContent, 'programId' | 'orderNumber' | 'eventId'> & { readonly date: string };

const keyOf = ({ programId, orderNumber, eventId, date }: Keyed): string =>
  [programId, orderNumber, eventId, date].join();
const keyOfClaim = ({ transactionDate: date, ...claim }: ClaimContent): string => keyOf({ ...claim, date });
const keyOfPosted = ({ timeStampEvent: date, ...claim }: Omit<Keyed, 'date'> & { timeStampEvent: string }) =>
  keyOf({ ...claim, date });

const stored: Check = {
  promise:
    'A claim, an update, a ruling or a deletion that was acknowledged is stored before its answer, once, and nothing is there that nobody has asked for (C3, C9).',
  verify: (world) => {
    const { clients } = world;
    const claims = claimsOf(world);
    for (const one of clients.done(fileClaims))
      for (const id of one.result.ids) {
        const [first] = claims.get(id) ?? [];
        require(first?.type === 'ClaimFiled', () =>
          `${textOf(one)} was acknowledged, but ${id} is not there`);
        // Of several, their post is accepted: anybody files them then.
        const [batch] = world.disks.log.stream(`claim-batch-${one.result.ids[0] ?? ''}`);
        require(timeOf(world, batch ?? first.recorded) <= one.answeredAt, () =>
          `${textOf(one)} was acknowledged before ${id} was there`);
      }
    const has = (one: Sent<{ readonly claimId: number }>, isIt: (event: Happened) => boolean): void => {
      const events = claims.get(one.what.claimId) ?? [];
      const isThere = events.some((event) => isIt(event) && timeOf(world, event.recorded) <= one.answeredAt);
      require(isThere, () => `${textOf(one)} was acknowledged, but has not happened`);
    };
    for (const one of clients.done(reviseClaim)) has(one, (event) => isRevision(event, one.what));
    for (const one of clients.done(ruleOnClaim)) has(one, (event) => isRuling(event, one.what));
    for (const one of clients.done(withdrawClaim)) has(one, ({ type }) => type === 'ClaimWithdrawn');
    const filed = new Set(clients.of(fileClaims).flatMap(({ what }) => what.claims.map(keyOfPosted)));
    for (const [id, events] of claims) {
      let version = 0;
      for (const [at, event] of events.entries()) {
        const isAsked =
          (event.type !== 'ClaimFiled' || (at === 0 && filed.has(keyOfClaim(event.data.claim)))) &&
          (event.type !== 'ClaimRevised' ||
            isIn(clients.of(reviseClaim), id, (what) => isRevision(event, what))) &&
          (event.type !== 'ClaimRuled' ||
            isIn(clients.of(ruleOnClaim), id, (what) => isRuling(event, what)) ||
            isDue(events, at)) &&
          // One that was never filed has lost its key.
          (event.type !== 'ClaimWithdrawn' || at === 0 || isIn(clients.of(withdrawClaim), id, () => true));
        require(isAsked, () => `claim ${id}: nobody has asked for ${event.type} ${event.recorded.data}`);
        const isUpdate =
          event.type === 'ClaimRevised' || (event.type === 'ClaimRuled' && event.data.by === 'advertiser');
        if (isUpdate)
          require(event.data.version === (version += 1), () =>
            `claim ${id} has version ${event.data.version} after ${version - 1}`);
        require(event.type !== 'ClaimWithdrawn' || at === events.length - 1, () =>
          `claim ${id} continues after it was withdrawn`);
      }
    }
  },
};

function isIn<What extends { readonly claimId: number }>(
  sent: readonly Sent<What>[],
  id: number,
  isIt: (what: What) => boolean,
): boolean {
  return sent.some(({ what }) => what.claimId === id && isIt(what));
}

type Revision = ReturnType<typeof reviseClaim.draw> & object;
type Ruling = ReturnType<typeof ruleOnClaim.draw> & object;

const isRevision = (event: Happened, { versionNo, claim }: Revision): boolean =>
  event.type === 'ClaimRevised' &&
  event.data.version === versionNo + 1 &&
  keyOfClaim(event.data.claim) === keyOfPosted(claim);

const isRuling = (event: Happened, { versionNo, statusIdClaim }: Ruling): boolean =>
  event.type === 'ClaimRuled' &&
  event.data.by === 'advertiser' &&
  event.data.version === versionNo + 1 &&
  event.data.statusId === statusIdClaim;

/** Whether the system was to approve the claim by an event (C11). */
function isDue(events: readonly Happened[], at: number): boolean {
  const event = events[at];
  const screened = events.slice(0, at).findLast(({ type }) => type === 'ClaimScreened');
  if (event?.type !== 'ClaimRuled' || event.data.by !== 'system' || screened?.type !== 'ClaimScreened')
    return false;
  const { statusId, autoApproveAt = '9' } = screened.data;
  return statusId === 2 && event.data.statusId === 3 && autoApproveAt <= event.data.at;
}

const keys: Check = {
  promise:
    'A key has one claim at a time, whoever files, updates and deletes claims and whatever fails (C4).',
  verify: (world) => {
    const owners = new Map<string, number>();
    const held = new Map<number, string>();
    for (const recorded of world.disks.log.all) {
      const id = Number(/^claim-(\d+)$/.exec(recorded.stream)?.[1] ?? NaN);
      if (Number.isNaN(id)) continue;
      const event = happened(recorded);
      const key =
        event.type === 'ClaimFiled' || event.type === 'ClaimRevised'
          ? keyOfClaim(event.data.claim)
          : undefined;
      if (key === undefined && event.type !== 'ClaimWithdrawn') continue;
      owners.delete(held.get(id) ?? '');
      held.delete(id);
      if (key === undefined) continue;
      const owner = owners.get(key);
      require(owner === undefined, () => `claims ${owner ?? ''} and ${id} have the key ${key}`);
      owners.set(key, id);
      held.set(id, key);
    }
  },
};

const tracked: Check = {
  promise:
    'An approved claim becomes a transaction, once, and no other claim does; claims of one order become the same one (C10).',
  verify: (world) => {
    const orders = new Map<string, string>();
    for (const [id, events] of claimsOf(world)) {
      const made = events.filter(({ type }) => type === 'ClaimTracked');
      const approved = events.find((event) => event.type === 'ClaimRuled' && event.data.statusId === 3);
      require(made.length === (approved === undefined ? 0 : 1), () =>
        `claim ${id} was tracked ${made.length} times (${approved === undefined ? 'not ' : ''}approved)`);
      for (const event of made) {
        if (event.type !== 'ClaimTracked' || approved?.type !== 'ClaimRuled') continue;
        const { transactionId } = event.data;
        const { programId, orderNumber } = approved.data.claim;
        const [order, other] = [`${programId} ${orderNumber}`, orders.get(transactionId)];
        require(other === undefined || other === order, () =>
          `claim ${id} of ${order} is one of ${other ?? ''}`);
        orders.set(transactionId, order);
        require(world.disks.log.stream(`transaction-${transactionId}`).length > 0, () =>
          `claim ${id} has no transaction`);
      }
    }
    // Nobody reports these events.
    const made = new Map<string, string>();
    for (const [id, [first]] of streamsOf(world, 'transaction')) {
      const { transaction } = dataOf(first!) as { readonly transaction: Readonly<Record<string, unknown>> };
      const { programId, orderNumber, eventId } = transaction;
      if (!CLAIMED.some((claimed) => claimed === eventId)) continue;
      const order = `${String(programId)} ${String(orderNumber)}`;
      require(!made.has(order), () =>
        `the order ${order} is the transactions ${made.get(order) ?? ''} and ${id}`);
      made.set(order, id);
    }
  },
};

export const CLAIMS = [stored, keys, tracked] as const;
