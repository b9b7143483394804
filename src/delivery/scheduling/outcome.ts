import {
  type DeadLetter,
  type Message,
  type Outcome,
  whyUnsendable,
} from '../../domain/deliveries/delivery-events';
import { type DisabledReason } from '../../domain/subscriptions/subscription';
import { defined } from '../../kernel/values';
import { type Clock } from '../../runtime/clock';
import { RepeatedFailures } from '../../runtime/failure-report';
import { type AttemptResult, NO_NETWORK, UNREACHABLE } from '../sending/attempt';
import { type Sendable } from './lane';
import { type ReceiverState } from './receiver-state';
import { createHash } from 'node:crypto';

/** The number of the attempt that is made now. */
export function attemptNumber({ revision }: Sendable, { retries }: ReceiverState): number {
  return (retries.get(revision)?.attempt ?? 0) + 1;
}

/** The outcome of an attempt that was not aborted. */
export function outcomeOf(
  sendable: Sendable & { readonly isProbe: boolean },
  state: ReceiverState,
  result: AttemptResult,
): Outcome {
  const { kind, message, redelivery, revision } = sendable;
  const { id, receiver, subscriptionId, organisationId } = message;
  const { at, ms, status, error, answer, end } = result;
  const attempt = attemptNumber(sendable, state);
  const { outcome, next, subject } =
    kind === 'redelivery'
      ? redeliveredOf(end === 'success', state.retries.get(revision)?.next)
      : resultOf(message, attempt, result);
  // Without spreading objects, which costs more than all else here.
  return {
    id,
    receiver,
    subscriptionId,
    organisationId,
    revision,
    isManual: kind === 'redelivery' ? true : undefined,
    redelivery,
    outcome,
    next,
    subject,
    at: new Date(at).toISOString(),
    attempt,
    ms,
    status,
    error,
    answer,
    isTimeout: end === 'timeout' ? true : undefined,
    isProbe: sendable.isProbe ? true : undefined,
    rendered: message.rendered,
  };
}

/** The outcome of a message that is not attempted; of a redelivery `failed`. */
export function outcomeWithout(
  sendable: Sendable,
  outcome: 'dead' | 'failed' | 'cancelled',
  now: number,
  error?: string,
): Outcome {
  const at = new Date(now).toISOString();
  return { ...whatOf(sendable), outcome, at, ...(error === undefined ? {} : { error }) };
}

/** The outcome of a message that is not to be sent. Of a receiver that is not gone it has an error. */
export function cancelledOutcome(
  sendable: Sendable,
  permission: 'cancel' | 'withdraw',
  now: number,
): Outcome {
  const error = permission === 'withdraw' ? 'its backfill was cancelled' : undefined;
  return outcomeWithout(sendable, 'cancelled', now, error);
}

/** When what awaits a rate is tried again although none was published (ms). */
const WITHOUT_RATE_MS = 24 * 60 * 60 * 1000;

/**
 * The outcome of a message that awaits a rate: no attempt, after which those about other subjects are sent
 * (`docs/decisions.md#n12`).
 */
export function withoutRate(sendable: Sendable, now: number): Outcome {
  const { subject, strictOrder } = sendable.message;
  return {
    ...outcomeWithout(sendable, 'failed', now, whyUnsendable(sendable.message)),
    next: new Date(now + WITHOUT_RATE_MS).toISOString(),
    ...(strictOrder === true ? { subject } : {}),
  };
}

/** The outcome of an attempt that is over when its message is: it is listed, and changes nothing else. */
export function withoutEffect(outcome: Outcome): Outcome {
  return { ...outcome, outcome: 'failed', next: undefined, subject: undefined };
}

/** The outcome of a message that is dead, with what its record in the domain log needs. */
export function withDeadLetter(outcome: Outcome, message: Message, { retries }: ReceiverState): Outcome {
  const { subject, stateId } = message;
  const attempts = outcome.attempt ?? retries.get(outcome.revision)?.attempt ?? 0;
  return { ...outcome, deadLetter: { subject, stateId, attempts } };
}

/** What is to be recorded of a message that is dead. */
export function deadLetterOf(outcome: Outcome): DeadLetter | undefined {
  if (outcome.deadLetter === undefined) return undefined;
  const { at, id, subscriptionId, organisationId, receiver } = outcome;
  const { subject, stateId, attempts } = outcome.deadLetter;
  const reason = outcome.error ?? 'the last attempt has failed';
  return { at, id, subscriptionId, organisationId, receiver, subject, stateId, attempts, reason };
}

/**
 * What is to be recorded of a message that was deleted; undefined if it is over already, since only a redelivery of it
 * was left.
 */
export function deletedDeadLetter(
  receiver: string,
  revision: number,
  { queue, retries }: ReceiverState,
  known: Pick<DeadLetter, 'at' | 'subscriptionId'>,
): DeadLetter | undefined {
  const retry = retries.get(revision);
  if (retry === undefined && !queue.has(revision)) return undefined;
  const { attempt: attempts = 0, subject } = retry ?? {};
  const id = `${receiver}-${revision}`;
  return { ...known, id, receiver, subject, attempts, reason: 'it was deleted before it could be sent' };
}

export function isFailedAttempt({ attempt, outcome }: Outcome): boolean {
  return attempt !== undefined && outcome !== 'delivered';
}

/** Logs for how long (ms) the receiver of an outcome has failed. */
export function failingFor(ms: number, { receiver, subscriptionId }: Outcome): string {
  const hours = Math.round(ms / 3_600_000);
  return `the receiver ${receiver} of the subscription ${subscriptionId} has been failing for ${hours} h`;
}

/** Logs that the receiver of an outcome is disabled, and what its owner can do. */
export function disabledBy(reason: DisabledReason, { receiver, subscriptionId }: Outcome): string {
  const why = reason === 'gone' ? 'it has answered 410' : 'nothing has succeeded for days';
  return (
    `the receiver ${receiver} of the subscription ${subscriptionId} is disabled: ${why}; its messages are held ` +
    'until its owner enables it'
  );
}

type Decided = Pick<Outcome, 'outcome' | 'next' | 'subject'>;

const DELIVERED: Decided = { outcome: 'delivered' };

function resultOf({ id, strictOrder, subject }: Message, attempt: number, result: AttemptResult): Decided {
  if (result.end === 'success') return DELIVERED;
  const { at, ms, retryAfter } = result;
  const failed = { id, attempt, ended: at + ms, ...(retryAfter === undefined ? {} : { retryAfter }) };
  const next = nextAttempt(failed);
  if (next === undefined) return { outcome: 'dead' };
  const waited = strictOrder === true ? { subject } : {};
  return { outcome: 'failed', next: new Date(next).toISOString(), ...waited };
}

/** The schedule stays as it is. */
function redeliveredOf(isSuccess: boolean, next: number | undefined): Decided {
  if (isSuccess) return DELIVERED;
  return { outcome: 'failed', ...(next === undefined ? {} : { next: new Date(next).toISOString() }) };
}

function whatOf({ kind, message, revision, redelivery }: Sendable) {
  const { id, receiver, subscriptionId, organisationId } = message;
  const what = { id, receiver, subscriptionId, organisationId, revision };
  return {
    ...what,
    ...defined({ isManual: kind === 'redelivery' ? (true as const) : undefined, redelivery }),
  };
}

/** While another receiver was reached within this time (ms), the network is there. */
const NETWORK_MS = 60_000;

/**
 * Faults of this process or its machine, which count as no attempt: they are reported, once a minute each, and are
 * trouble until an attempt reaches its receiver.
 */
export class OwnFaults {
  private readonly repeated: RepeatedFailures;
  private last: string | undefined;
  private reachedAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly report: (message: string) => void,
  ) {
    this.repeated = new RepeatedFailures(clock);
  }

  /** Why nothing is sent; undefined if the last attempt has reached its receiver. */
  get trouble(): string | undefined {
    return this.last;
  }

  /** What the end of an attempt counts as. `isStopped`: this process has given it up. */
  classify(result: AttemptResult, isStopped: boolean): AttemptResult {
    const { end, error, status } = result;
    if (end !== 'aborted') {
      this.last = undefined;
      if (status !== undefined) this.reachedAt = this.clock.monotonic();
      return result;
    }
    if (isStopped || error === undefined) return result;
    // Where others are reached, a network that is not is the receiver's.
    if (error === NO_NETWORK.error && this.clock.monotonic() - this.reachedAt < NETWORK_MS)
      return { ...result, ...UNREACHABLE };
    this.last = error;
    if (this.repeated.count(error) !== undefined) this.report(`a message is sent later: ${error}`);
    return result;
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How long after a failed attempt the next one follows (ms), before jitter (`docs/decisions.md#n3`). */
export const DELAYS: readonly number[] = [
  5_000,
  5 * MINUTE,
  30 * MINUTE,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR),
];

/** Each delay is shortened or extended by up to this share. */
const JITTER = 0.2;

/** `Retry-After` extends a delay up to this one (ms). */
const MOST_MS = 24 * HOUR;

/** No attempt follows later than this after the one before (ms). */
export const LONGEST_DELAY_MS = MOST_MS * (1 + JITTER);

/** A failed attempt. `attempt` counts from 1; times are in epoch ms, `retryAfter` in ms. */
export interface FailedAttempt {
  readonly id: string;
  readonly attempt: number;
  readonly ended: number;
  readonly retryAfter?: number;
}

/** When the next attempt is due (epoch ms); undefined if there is none, since the message is dead. */
export function nextAttempt({ id, attempt, ended, retryAfter = 0 }: FailedAttempt): number | undefined {
  const delay = DELAYS[attempt - 1];
  if (delay === undefined) return undefined;
  const jittered = delay * (1 + JITTER * (2 * shareOf(`${id} ${attempt}`) - 1));
  return Math.round(ended + Math.max(jittered, Math.min(retryAfter, MOST_MS)));
}

/** From 0 to below 1. */
function shareOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}
