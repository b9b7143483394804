import { require } from './broken';
import { type Check, happenedIn } from './check';

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

const histories: Check = {
  promise: 'Transactions enter states by the table of Document 2 only.',
  verify: (world) => {
    for (const [stream, events] of happenedIn(world)) {
      if (!stream.startsWith('transaction-')) continue;
      let before = '';
      for (const { type } of events) {
        const entered = type.slice('Transaction'.length);
        require(NEXT[before]?.includes(entered) === true, () => `${stream}: ${entered} after ${before}`);
        before = entered;
      }
    }
  },
};

export const TRANSACTIONS = [histories] as const;
