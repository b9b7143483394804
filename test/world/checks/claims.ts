import { type RecordedEvent } from '../../../src/kernel/event';
import { textOf } from '../clients';
import { fileClaim, ruleOnClaim } from '../workloads/claims';
import { require } from './broken';
import { type Check, dataOf, type Observed, streamsOf, timeOf } from './check';

/** Claims that were filed. Of others, somebody else wanted the key before they could be. */
function filedIn(world: Observed): readonly (readonly [string, readonly RecordedEvent[]])[] {
  return [...streamsOf(world, 'claim')].filter(
    ([id, events]) => /^\d+$/.test(id) && events.some(({ type }) => type === 'ClaimFiled'),
  );
}

const filed: Check = {
  promise:
    'A claim or a ruling that was acknowledged is there before its answer, and nothing is there that nobody has filed.',
  verify: (world) => {
    const streams = streamsOf(world, 'claim');
    for (const one of world.clients.done(fileClaim))
      for (const id of one.result.ids) {
        const [first] = streams.get(String(id)) ?? [];
        require(first !== undefined && timeOf(world, first) <= one.answeredAt, () =>
          `${textOf(one)} was acknowledged, but is not there`);
      }
    for (const one of world.clients.done(ruleOnClaim)) {
      const { claimId, statusIdClaim } = one.what;
      const isThere = streams
        .get(String(claimId))
        ?.some((event) => event.type === 'ClaimRuled' && dataOf(event)['statusId'] === statusIdClaim);
      require(isThere === true, () => `${textOf(one)} was acknowledged, but has not happened`);
    }
  },
};

const keys: Check = {
  promise: 'A key has one claim, whoever files it and whatever fails (C4).',
  verify: (world) => {
    const asked = new Set(
      world.clients.of(fileClaim).map(({ what }) => `${what.programId} ${what.orderNumber}`),
    );
    const owners = new Map<string, string>();
    for (const [id, events] of filedIn(world)) {
      const { claim } = dataOf(events.find(({ type }) => type === 'ClaimFiled')!) as {
        readonly claim: { readonly programId: number; readonly orderNumber: string };
      };
      const key = `${claim.programId} ${claim.orderNumber}`;
      require(asked.has(key), () => `nobody has filed claim ${id}`);
      require(!owners.has(key), () => `claims ${owners.get(key) ?? ''} and ${id} have the key ${key}`);
      owners.set(key, id);
    }
  },
};

const tracked: Check = {
  promise:
    'An approved claim becomes exactly one transaction, and no other claim becomes the same one (C10).',
  verify: (world) => {
    const transactions = new Map<unknown, string>();
    for (const [id, events] of filedIn(world)) {
      const made = events.filter(({ type }) => type === 'ClaimTracked');
      const isApproved = events.some(
        (event) => event.type === 'ClaimRuled' && dataOf(event)['statusId'] === 3,
      );
      require(made.length === (isApproved ? 1 : 0), () =>
        `claim ${id} was tracked ${made.length} times (${isApproved ? '' : 'not '}approved)`);
      for (const event of made) {
        const { transactionId } = dataOf(event);
        require(!transactions.has(transactionId), () =>
          `claims ${transactions.get(transactionId) ?? ''} and ${id} are one transaction`);
        transactions.set(transactionId, id);
        require(world.disks.log.stream(`transaction-${String(transactionId)}`).length > 0, () =>
          `claim ${id} has no transaction`);
      }
    }
  },
};

export const CLAIMS = [filed, keys, tracked] as const;
