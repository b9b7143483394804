import { groupedBy } from '../../support/oracle';
import { PATIENCE_MS, type Trouble } from '../network';
import { type Received } from '../receivers';
import { require } from './broken';
import { type Check, deliveriesOf, type Observed } from './check';
import { disabledIn, expectedOf } from './messages';

/** Attempts by the ids of their messages, without those that somebody has asked for. */
const scheduledOf = ({ receivers }: Observed): ReadonlyMap<string, readonly Received[]> =>
  groupedBy(
    receivers.all.filter(({ isManual }) => !isManual),
    ({ id }) => id,
  );

const due: Check = {
  promise: 'Nothing is sent that is not due.',
  verify: (world) => {
    const expected = expectedOf(world);
    for (const { id } of world.receivers.all)
      require(expected.has(id), () => `${id} was sent, but is not due`);
  },
};

const over: Check = {
  promise:
    'A message that is over (delivered, cancelled, a dead letter) is not sent again, unless somebody asks for it (N3).',
  verify: (world) => {
    const overAt = new Map<string, number>();
    for (const { type, data, time } of deliveriesOf(world))
      if (type === 'MessageAttempted' && data.outcome !== 'failed' && !overAt.has(data.id))
        overAt.set(data.id, time);
    for (const [id, attempts] of scheduledOf(world))
      for (const { process, started } of attempts)
        require(started <= (overAt.get(id) ?? Infinity), () =>
          `${id} was sent by ${process} at ${started}, though it was over at ${overAt.get(id) ?? ''}`);
  },
};

/** How long a process may not know of a change of a subscription (ms), if it reaches the log. */
const LAG_MS = 15_000;

const cancelled: Check = {
  promise:
    'No message starts to be sent once its receiver was removed or disabled and the process could know it (N8).',
  verify: (world) => {
    for (const { id, process, started } of world.receivers.all) {
      const { receiver, removedAt = Infinity } = expectedOf(world).get(id) ?? {};
      const held = disabledIn(world).filter((one) => one.receiver === receiver && started < one.until);
      for (const since of [removedAt, ...held.map(({ from }) => from)]) {
        if (started <= since + LAG_MS) continue;
        const couldNotKnow = world.network.troubles.some(
          (one) => one.process === process && one.engine !== 'store' && overlap(one, since, started) > 0,
        );
        require(couldNotKnow, () =>
          `${id} was sent by ${process} at ${started}, though its receiver was removed or disabled at ${since}`);
      }
    }
  },
};

/** How long an append of an outcome takes at most, if it is not lost (ms). */
const APPEND_MS = 15_000;
/** For how long a process has its leases at least when it starts an attempt, less what renewals of others take (ms). */
const LEASE_MS = 10_000;

/** For how long there was a trouble within a time (ms). */
function overlap({ from, until }: Trouble, start: number, end: number): number {
  return Math.max(0, Math.min(until, end) - Math.max(from, start));
}

/** Why an attempt may have been repeated: it was in flight until its outcome was durable. */
function mayRepeat(troubles: readonly Trouble[], one: Received, next: Received): boolean {
  const own = troubles.filter(({ process, from }) => process === one.process && from <= next.started);
  let end = Math.min(next.started, (one.ended ?? Infinity) + APPEND_MS);
  // An append that is lost is repeated; one that began before was made to wait.
  for (const { from, until: last, kind, engine } of own) {
    const until = last + (kind === 'cut' ? PATIENCE_MS.most : 0);
    if (engine === 'deliveries' && from <= end && until >= one.started)
      end = Math.min(next.started, Math.max(end, until + APPEND_MS));
  }
  const inFlight = own.filter(({ from, until }) => from <= end && until >= one.started);
  // Who stops waits for what it has learnt to be durable.
  const isLearnt = one.end === 'success' && inFlight.every(({ kind }) => kind === 'stopped');
  if (inFlight.some(({ kind }) => kind === 'killed' || (kind === 'stopped' && !isLearnt))) return true;
  if (inFlight.some(({ kind }) => kind === 'set')) return true;
  // A call that is not answered for as long as a lease is no better than a cut.
  const away = ({ kind, engine, from, until }: Trouble): boolean =>
    kind === 'frozen' ||
    ((kind === 'cut' || (kind === 'lost' && until - from >= LEASE_MS)) &&
      (engine === 'leases' || engine === 'deliveries'));
  const ms = own.filter(away).reduce((sum, one) => sum + overlap(one, end - 60_000, next.started), 0);
  return inFlight.some(away) && ms >= LEASE_MS;
}

/** After these it is tried again. */
const FAILED: ReadonlySet<unknown> = new Set<Received['end']>(['failure', 'timeout', 'gone']);

const repeated: Check = {
  promise:
    'An attempt is repeated only if it failed, or was in flight when its process was killed, stopped, paused or cut off for longer than its leases, or the clock of its machine was set (N3).',
  verify: (world) => {
    for (const [id, attempts] of scheduledOf(world))
      for (const [at, one] of attempts.entries()) {
        const next = attempts[at + 1];
        if (next === undefined || FAILED.has(one.end)) continue;
        require(mayRepeat(world.network.troubles, one, next), () =>
          `${id} was sent by ${one.process} at ${one.started} (${one.end ?? 'no end'}, ${one.ended ?? ''}) and again by ${next.process} at ${next.started}, though nothing was wrong with ${one.process}`);
      }
  },
};

const numbered: Check = {
  promise:
    'The log has each attempt of the schedule once, numbered from 1, and nothing after the outcome by which a message is over (N3).',
  verify: (world) => {
    const last = new Map<string, { readonly attempt: number; readonly isOver: boolean }>();
    const redelivered = new Set<string>();
    for (const { type, data, stream } of deliveriesOf(world)) {
      if (type !== 'MessageAttempted') continue;
      const { id, outcome, attempt, isManual } = data;
      // What was in flight when somebody else's attempt has succeeded counts nothing.
      if (isManual === true && outcome === 'delivered') redelivered.add(id);
      if (isManual === true || redelivered.has(id)) continue;
      const before = last.get(id) ?? { attempt: 0, isOver: false };
      require(!before.isOver, () => `${id} is ${outcome} in ${stream}, though it was over before`);
      require(attempt === undefined || attempt === before.attempt + 1, () =>
        `attempt ${attempt ?? ''} of ${id} follows ${before.attempt} in ${stream}`);
      last.set(id, { attempt: attempt ?? before.attempt, isOver: outcome !== 'failed' });
    }
  },
};

const ordered: Check = {
  promise:
    'Messages about one transaction to one receiver start in the order of their sequence numbers (N6).',
  verify: (world) => {
    const scheduled = scheduledOf(world);
    const last = new Map<string, { readonly sequence: number; readonly started: number }>();
    for (const { id, receiver, subject, sequence, isOfPast } of expectedOf(world).values()) {
      const started = scheduled.get(id)?.[0]?.started;
      if (started === undefined || isOfPast) continue;
      const key = `${receiver} ${subject}`;
      const before = last.get(key);
      require(before === undefined || before.started <= started, () =>
        `${id}, ${sequence} of ${subject}, was sent to ${receiver} before ${before?.sequence ?? ''}`);
      last.set(key, { sequence, started });
    }
  },
};

const manual: Check = {
  promise:
    'A message that is sent again is sent once for each request, unless its attempt was in flight at such a time (N17).',
  verify: (world) => {
    for (const { id, requests } of expectedOf(world).values()) {
      const attempts = world.receivers.all.filter((one) => one.isManual && one.id === id);
      const excused = attempts.filter((one, at) => {
        const next = attempts[at + 1];
        return one.end === 'aborted' || (next !== undefined && mayRepeat(world.network.troubles, one, next));
      });
      require(attempts.length - excused.length <= requests.length, () =>
        `${id} was asked for ${requests.length} times, and sent again ${attempts.length} times`);
    }
  },
};

export const ATTEMPTS = [due, over, numbered, cancelled, repeated, manual, ordered] as const;
