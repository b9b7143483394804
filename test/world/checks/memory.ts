import { PROJECTED } from '../../../src/operations/rebuild';
import { require } from './broken';
import { type Check, type Observed } from './check';
import { expectedOf } from './messages';

/** What waits for something, which has happened when everything is at rest. */
const QUEUES =
  /^(DeadLetters|FairQueue|Fifo|KeyedMutex|Loader|MessageCache|OutcomeWriter|OwnedPartition|Pointers|ReceiverState|Slots|WaitablePosition)\.|\.(deadLetters|ended|held|inFlight|loading|pending|receiving|unsaved|waiters|waiting)$/;

const ALL = PROJECTED.flatMap(({ projections }) => projections);
const HANDLED = ALL.flatMap(({ handles }) => handles);

/** What processes remember all the same, at most. */
const REMEMBERED: Readonly<Record<string, number>> = {
  // Read for a redelivery that was cancelled meanwhile: it leaves with what is read later.
  'MessageCache.needed': 3,
  // For each live generation of a projection, and each that is kept.
  'Runner.reportedParked': 2 * ALL.length,
  // The types of events that these handle.
  'GenerationProjector.types': 2 * HANDLED.length,
  // For each feed.
  'FingerprintCache.entries': 2,
};

/** Of anything else there is as much as of partitions, reference data, or receivers of this world. */
const PARTITIONS = 64;

const receiversOf = ({ sent }: Observed['clients']): number =>
  10 * sent.filter(({ command }) => command.name.endsWith('subscription')).length;

const bounded: Check = {
  promise:
    'When everything is at rest, no queue has anything left, and what else processes keep in memory is bounded by what there is.',
  verify: ({ kept, clients }) => {
    const receivers = receiversOf(clients);
    for (const [name, size] of kept) {
      const most = REMEMBERED[name] ?? (QUEUES.test(name) ? 0 : Math.max(PARTITIONS, receivers));
      require(size <= most, () => `${size} entries are left in ${name}, at most ${most} are needed`);
    }
  },
};

/** One for each request: clients that are not answered make any number, which HTTP limits by connections (X101). */
const REQUESTS = 'PositionWait.waiters';

const requestsOf = ({ sent }: Observed['clients']): number => sent.reduce((sum, { times }) => sum + times, 0);

const running: Check = {
  promise:
    'While everything is going on, processes keep nothing of which there is more than messages, partitions, receivers or requests.',
  verify: (world) => {
    const most = Math.max(PARTITIONS, receiversOf(world.clients), expectedOf(world).size);
    for (const [name, size] of world.peaks) {
      const needed = name === REQUESTS ? requestsOf(world.clients) : Math.max(most, REMEMBERED[name] ?? 0);
      require(size <= needed, () => `there were ${size} entries in ${name}, at most ${needed} are needed`);
    }
  },
};

export const MEMORY = [bounded, running] as const;
