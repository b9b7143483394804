import { textOf } from '../clients';
import { fileClaims } from '../workloads/claims';
import { CLAIMED } from '../workloads/network-file';
import { require } from './broken';
import { type Check, happenedIn, once } from './check';

/** All that has happened to claims, by their ids. */
const claimsOf = once((world) => {
  const claims = [...happenedIn(world)].filter(([stream]) => /^claim-\d+$/.test(stream));
  return new Map(claims.map(([stream, events]) => [Number(stream.slice('claim-'.length)), events]));
});

const stored: Check = {
  promise:
    'All claims of a post that was acknowledged are filed, and their updates are numbered from 1 (C3, C9).',
  verify: (world) => {
    const claims = claimsOf(world);
    for (const one of world.clients.done(fileClaims))
      for (const id of one.result.ids)
        require(claims.get(id)?.[0]?.type === 'ClaimFiled', () =>
          `${textOf(one)} was acknowledged, but ${id} is not there`);
    for (const [id, events] of claims) {
      let version = 0;
      for (const [at, event] of events.entries()) {
        require((event.type === 'ClaimFiled') === (at === 0) || event.type === 'ClaimWithdrawn', () =>
          `claim ${id}: ${event.type} is its event ${at}`);
        const isUpdate =
          event.type === 'ClaimRevised' || (event.type === 'ClaimRuled' && event.data.by === 'advertiser');
        if (isUpdate)
          require(event.data.version === (version += 1), () =>
            `claim ${id} has version ${event.data.version} after ${version - 1}`);
      }
    }
  },
};

const tracked: Check = {
  promise:
    'An approved claim becomes a transaction, once, and no other claim does; claims of one order become the same one (C10).',
  verify: (world) => {
    const orders = new Map<string, string>();
    for (const [id, events] of claimsOf(world)) {
      const made = events.filter((event) => event.type === 'ClaimTracked');
      const approved = events
        .filter((event) => event.type === 'ClaimRuled')
        .find(({ data }) => data.statusId === 3);
      require(made.length === (approved === undefined ? 0 : 1), () =>
        `claim ${id} was tracked ${made.length} times (${approved === undefined ? 'not ' : ''}approved)`);
      for (const { data } of made) {
        const { programId, orderNumber } = approved!.data.claim;
        const [order, other] = [`${programId} ${orderNumber}`, orders.get(data.transactionId)];
        require(other === undefined || other === order, () =>
          `claim ${id} of ${order} is one of ${other ?? ''}`);
        orders.set(data.transactionId, order);
        require(happenedIn(world).has(`transaction-${data.transactionId}`), () =>
          `claim ${id} has no transaction`);
      }
    }
    // Nobody reports these events.
    const made = new Map<string, string>();
    for (const [stream, [first]] of happenedIn(world)) {
      if (first?.type !== 'TransactionTracked') continue;
      const { programId, orderNumber, eventId } = first.data.transaction;
      if (!CLAIMED.some((claimed) => claimed === eventId)) continue;
      const order = `${programId} ${orderNumber}`;
      require(!made.has(order), () => `the order ${order} is ${made.get(order) ?? ''} and ${stream}`);
      made.set(order, stream);
    }
  },
};

export const CLAIMS = [stored, tracked] as const;
