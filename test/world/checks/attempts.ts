import { type Trouble } from '../network';
import { type Received } from '../receivers';
import { EPOCH } from '../simulation';
import { require } from './broken';
import { type Check, dataOf, type Observed } from './check';
import { expectedOf } from './messages';

/** Attempts by the ids of their messages, without those that somebody has asked for. */
function scheduledOf(world: Observed): ReadonlyMap<string, readonly Received[]> {
  const byId = new Map<string, Received[]>();
  for (const one of world.receivers.all)
    if (!one.isManual) byId.set(one.id, [...(byId.get(one.id) ?? []), one]);
  return byId;
}

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
    for (const event of world.disks.deliveries.all.filter(({ type }) => type === 'MessageAttempted')) {
      const { id, outcome } = dataOf(event);
      if (outcome !== 'failed' && !overAt.has(String(id)))
        overAt.set(String(id), world.disks.deliveries.timeOf(event) - EPOCH);
    }
    for (const [id, attempts] of scheduledOf(world))
      for (const { process, started } of attempts)
        require(started <= (overAt.get(id) ?? Infinity), () =>
          `${id} was sent by ${process} at ${started}, though it was over at ${overAt.get(id) ?? ''}`);
  },
};

/** How long a process may not know of a change of a subscription (ms), if it reaches the log. */
const LAG_MS = 15_000;

const cancelled: Check = {
  promise: 'No message starts to be sent once its receiver was removed and the process could know it (N8).',
  verify: (world) => {
    for (const [id, attempts] of scheduledOf(world)) {
      const removedAt = expectedOf(world).get(id)?.removedAt ?? Infinity;
      for (const { process, started } of attempts) {
        if (started <= removedAt + LAG_MS) continue;
        const couldNotKnow = world.network.troubles.some(
          (one) => one.process === process && one.engine !== 'store' && overlap(one, removedAt, started) > 0,
        );
        require(couldNotKnow, () =>
          `${id} was sent by ${process} at ${started}, though its receiver was removed at ${removedAt}`);
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
  // An append that is lost is repeated.
  for (const trouble of own)
    if (trouble.engine === 'deliveries' && overlap(trouble, one.started, end) > 0)
      end = Math.min(next.started, Math.max(end, trouble.until + APPEND_MS));
  const inFlight = own.filter(({ from, until }) => from <= end && until >= one.started);
  if (inFlight.some(({ kind }) => kind === 'end')) return true;
  const away = (trouble: Trouble): boolean =>
    trouble.kind === 'frozen' || (trouble.kind === 'cut' && /leases|deliveries/.test(trouble.engine ?? ''));
  const ms = own.filter(away).reduce((sum, one) => sum + overlap(one, end - 60_000, next.started), 0);
  return inFlight.some(away) && ms >= LEASE_MS;
}

const repeated: Check = {
  promise:
    'An attempt is repeated only if it failed, or was in flight when its process was killed, stopped, or paused or cut off for longer than its leases (N3).',
  verify: (world) => {
    for (const [id, attempts] of scheduledOf(world))
      for (const [at, one] of attempts.entries()) {
        const next = attempts[at + 1];
        if (next === undefined || one.end === 'failure' || one.end === 'timeout') continue;
        require(mayRepeat(world.network.troubles, one, next), () =>
          `${id} was sent by ${one.process} at ${one.started} (${one.end ?? 'no end'}, ${one.ended ?? ''}) and again by ${next.process} at ${next.started}, though nothing was wrong with ${one.process}`);
      }
  },
};

const ordered: Check = {
  promise:
    'Messages about one transaction to one receiver start in the order of their sequence numbers (N6).',
  verify: (world) => {
    const scheduled = scheduledOf(world);
    const last = new Map<string, { readonly sequence: number; readonly started: number }>();
    for (const { id, receiver, subject, sequence } of expectedOf(world).values()) {
      const started = scheduled.get(id)?.[0]?.started;
      if (started === undefined) continue;
      const key = `${receiver} ${subject}`;
      const before = last.get(key);
      require(before === undefined || before.started <= started, () =>
        `${id}, ${sequence} of ${subject}, was sent to ${receiver} before ${before?.sequence ?? ''}`);
      last.set(key, { sequence, started });
    }
  },
};

export const ATTEMPTS = [due, over, cancelled, repeated, ordered] as const;
