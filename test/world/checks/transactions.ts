import { createHash } from 'node:crypto';
import { textOf } from '../clients';
import { fileClaims, reviseClaim } from '../workloads/claims';
import { move, report } from '../workloads/transactions';
import { require } from './broken';
import { type Check, dataOf, streamsOf, timeOf } from './check';

interface Order {
  readonly orderNumber: string;
  readonly eventId: number;
  readonly organisationId: number;
  readonly programId: number;
}

/** Decisions T1. */
function transactionIdOf({ orderNumber, eventId, organisationId, programId }: Order): string {
  const name = [orderNumber, eventId, organisationId, `program${programId}`].join('_');
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

/** Document 2, States and transitions. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  '': ['Tracked'],
  Tracked: ['Invalidated', 'Paused', 'BecamePending', 'TrackedApproved'],
  Paused: ['Invalidated', 'BecamePending', 'TrackedApproved', 'PausedDeleted'],
  BecamePending: ['PendingApproved', 'Deleted', 'Amended'],
  Amended: ['PendingApproved', 'Deleted', 'Amended'],
  TrackedApproved: ['Deleted', 'Paid'],
  PendingApproved: ['Deleted', 'Paid'],
};
const EVENT_OF = {
  approve: 'PendingApproved',
  deny: 'Deleted',
  delete: 'Deleted',
  amend: 'Amended',
} as const;
/** What the system does by itself (decisions T4). */
const AUTOMATIC: readonly unknown[] = [3, 4];

const created: Check = {
  promise:
    'An order is one transaction, however often it is reported, and is there before that is acknowledged (T1).',
  verify: (world) => {
    const streams = streamsOf(world, 'transaction');
    const creations = new Set<string>();
    for (const one of world.clients.done(report)) {
      const id = transactionIdOf(one.what);
      require(one.result.transactionId === id, () =>
        `${textOf(one)} was answered with another id than ${id}`);
      const [first] = streams.get(id) ?? [];
      require(first !== undefined && timeOf(world, first) <= one.answeredAt, () =>
        `${textOf(one)} was acknowledged, but is not there`);
      if (one.result.outcome !== 'created') continue;
      require(!creations.has(id), () => `transaction ${id} was created twice`);
      creations.add(id);
    }
  },
};

const moved: Check = {
  promise: 'A move that was acknowledged has happened, once, before its answer (T5).',
  verify: (world) => {
    const streams = streamsOf(world, 'transaction');
    for (const one of world.clients.done(move)) {
      if (one.result.outcome !== 'moved') continue;
      const { transactionId, action } = one.what;
      const isThere = streams.get(transactionId)?.some((event) => {
        const time = timeOf(world, event);
        return (
          event.type === `Transaction${EVENT_OF[action]}` && time >= one.sentAt && time <= one.answeredAt
        );
      });
      require(isThere === true, () => `${textOf(one)} was acknowledged, but has not happened`);
    }
  },
};

const histories: Check = {
  promise:
    'Transactions enter states by the table of Document 2 only, and only those that somebody asked for, or that the system enters by itself (T4).',
  verify: (world) => {
    const reports = world.clients.of(report);
    const moves = world.clients.of(move);
    const claimed = new Set(
      [
        ...world.clients.of(fileClaims).flatMap(({ what }) => what.claims),
        ...world.clients.of(reviseClaim).map(({ what }) => what.claim),
      ].map(({ orderNumber }) => orderNumber),
    );
    for (const [id, events] of streamsOf(world, 'transaction')) {
      const [first] = events;
      const { transaction } = dataOf(first!) as { readonly transaction: Order };
      const isClaimed = claimed.has(transaction.orderNumber);
      const isReported = reports.some(
        ({ what, sentAt }) => transactionIdOf(what) === id && sentAt <= timeOf(world, first!),
      );
      require(isClaimed || isReported, () => `nobody has reported transaction ${id}`);
      let before = '';
      for (const event of events) {
        const entered = event.type.slice('Transaction'.length);
        require(NEXT[before]?.includes(entered) === true, () =>
          `transaction ${id}: ${entered} after ${before}`);
        before = entered;
        if (isClaimed || !Object.values<string>(EVENT_OF).includes(entered)) continue;
        const isAsked = moves.some(
          ({ what: { transactionId, action }, sentAt }) =>
            transactionId === id && EVENT_OF[action] === entered && sentAt <= timeOf(world, event),
        );
        require(isAsked || AUTOMATIC.includes(dataOf(event)['deniedReasonId']), () =>
          `transaction ${id}: nobody has asked for ${event.type}`);
      }
    }
  },
};

export const TRANSACTIONS = [created, moved, histories] as const;
