import { type Message, type Outcome } from '../../domain/deliveries/delivery-events';
import { type Health } from '../../domain/deliveries/health';
import { type Position } from '../../kernel/event';
import { parsedUrl } from '../../wire/url';
import { Fifo, Lane, type Sendable } from './lane';
import { type ReceiverState } from './receiver-state';
import { LIMITS, type Occupant, type SlotRequest, Slots } from './slots';
import { LONGEST_DELAY_MS } from './outcome';

export interface ServedReceiver extends Occupant {
  readonly id: string;
  readonly partition: number;
  readonly state: ReceiverState;
  readonly lane: Lane;
  readonly bucket: TokenBucket;
  subscriptionId: string | undefined;
  /** `Message.rendered` of the message that its host is of. */
  rendered: Position | undefined;
  /** When its rest `of` is over, by the monotonic clock (ms). */
  restEnd: { readonly of: Health['rest']; readonly until: number };
  /** After a failure of ours, nothing is started before. */
  pausedUntil: number;
  /** When a timer wakes it, 0 if there is none. */
  wakesAt: number;
  /** It waits for its turn. */
  isWaiting: boolean;
  /** A message of it is being read. */
  isLoading: boolean;
  /** Its partition was given up. */
  isGone: boolean;
}

/** A message that is to be sent now. Its slot is occupied until `ended` is called. */
export interface Started extends Sendable, SlotRequest<ServedReceiver> {
  /** Unless it is `send`, it is not to be sent. */
  readonly permission: Exclude<Permission, 'hold'>;
  /** Its receiver rested until now. */
  readonly isProbe: boolean;
  /** `SchedulerParts.ratesFor`, if the message awaits a rate. */
  readonly ratesFor: string | undefined;
}

/**
 * A receiver is woken at a time: for a retry that is planned for then (`next`, as stored), or since it may send again.
 */
interface SchedulerAlarm {
  readonly receiver: ServedReceiver;
  readonly retry?: number;
  readonly next?: number;
}

/**
 * Whether messages may be sent now: `hold` until `reconsider`; `cancel`: never, since their receiver or subscription is
 * gone; `withdraw`: never, since their backfill was cancelled.
 */
export type Permission = 'send' | 'hold' | 'cancel' | 'withdraw';

/** What the scheduler asks. All are answered at once. */
export interface SchedulerParts {
  /** The message if it is in memory as it is to be sent. */
  readonly peek: (revision: number, isRedelivery: boolean) => Message | undefined;
  /** Has the message read, then calls `loaded`. */
  load(receiver: ServedReceiver, revision: number, isRedelivery: boolean): void;
  /** For a receiver, or for one of its messages. */
  permission(
    subscriptionId: string,
    receiver: string,
    about?: Pick<Message, 'cause' | 'rendered' | 'made'>,
    redelivery?: number,
  ): Permission;
  /** What decides whether messages to a receiver await a rate: the same as long as nothing of it has changed. */
  ratesFor(subscriptionId: string | undefined, receiver: string): string;
  /** Whether messages of this partition may be started now; if not, until `reconsider`. */
  isOpen(partition: number): boolean;
  /** How far ahead a stored time (epoch ms) is by the system clock (ms). */
  msUntil(time: number): number;
}

/**
 * Chooses what to send next (`docs/decisions.md#n7`): receivers take turns, each within its limits. A receiver that
 * cannot send now is not asked again before something has changed for it, so a choice takes constant time, however many
 * there are. The clock, in ms, is passed in, and must not run backwards; stored times are of another clock, and are
 * converted when they are seen first.
 */
export class Scheduler {
  private readonly receivers = new Map<string, ServedReceiver>();
  private readonly turns = new Fifo<ServedReceiver>();
  private readonly timers = new Timers<SchedulerAlarm>();
  /** Receivers that wait for `reconsider`. */
  private readonly held = new Set<ServedReceiver>();
  private readonly slots = new Slots<ServedReceiver>((receiver) => this.wake(receiver));

  constructor(private readonly parts: SchedulerParts) {}

  get inFlight(): number {
    return this.slots.inFlight;
  }

  /** Serves a receiver from now on; returns what it has returned for it before. */
  serve(id: string, partition: number, state: ReceiverState, now: number): ServedReceiver {
    const known = this.receivers.get(id);
    if (known !== undefined) return known;
    const receiver: ServedReceiver = {
      id,
      partition,
      state,
      lane: new Lane(state, this.parts.peek),
      bucket: new TokenBucket(LIMITS.burst, LIMITS.perSecond, now),
      host: '',
      owner: 0,
      subscriptionId: undefined,
      rendered: undefined,
      restEnd: { of: undefined, until: 0 },
      pace: 'normal',
      inFlight: 0,
      late: 0,
      answered: 0,
      pausedUntil: 0,
      wakesAt: 0,
      isWaiting: false,
      isLoading: false,
      isGone: false,
    };
    this.receivers.set(id, receiver);
    for (const [revision, { next }] of state.retries) this.plan(receiver, revision, next, now);
    // What was asked for has not been tried.
    if (state.redeliveries.size > 0) this.endRest(receiver, now);
    this.wake(receiver);
    return receiver;
  }

  served(id: string): ServedReceiver | undefined {
    return this.receivers.get(id);
  }

  /** Serves a receiver no longer. What is in flight must still end. */
  leave(id: string): void {
    const receiver = this.receivers.get(id);
    if (receiver === undefined) return;
    receiver.isGone = true;
    this.receivers.delete(id);
    this.held.delete(receiver);
    this.slots.forget(receiver);
  }

  /** Something has changed for the receiver. */
  wake(receiver: ServedReceiver): void {
    if (receiver.isWaiting || receiver.isGone) return;
    receiver.isWaiting = true;
    this.turns.add(receiver);
  }

  /** Somebody has asked for a message again: it is tried even if the receiver rests. */
  redeliver(receiver: ServedReceiver, redelivery: number, now: number): void {
    receiver.lane.redeliver(redelivery);
    this.endRest(receiver, now);
  }

  /** A message of the queue is a test: it is tried first, even if the receiver rests. */
  sendTest(receiver: ServedReceiver, revision: number, now: number): void {
    receiver.lane.test(revision);
    this.endRest(receiver, now);
  }

  /** One message is tried, even if the receiver rests: the next retry if no message is due. */
  probe(receiver: ServedReceiver, now: number): void {
    if (receiver.state.health.rest === undefined) return;
    this.endRest(receiver, now);
    if (receiver.lane.choose() !== undefined) return;
    const [next] = [...receiver.state.retries].sort(([, one], [, other]) => one.next - other.next);
    if (next !== undefined) receiver.lane.retry(next[0]);
  }

  /** The message that the receiver needed has been read, or is gone. */
  loaded(receiver: ServedReceiver): void {
    receiver.isLoading = false;
    this.wake(receiver);
  }

  /** Permissions may have changed. */
  reconsider(): void {
    for (const receiver of this.held) this.wake(receiver);
    this.held.clear();
    for (const receiver of this.receivers.values()) if (receiver.lane.awaitsRates) this.tryRates(receiver);
  }

  /** Tries what awaits a rate, if there may be one since it was tried last. */
  private tryRates(receiver: ServedReceiver): void {
    receiver.lane.retryWithoutRate(this.parts.ratesFor(receiver.subscriptionId, receiver.id));
    this.wake(receiver);
  }

  /** Starts the next message, if any can be sent now. */
  next(now: number): Started | undefined {
    this.elapse(now);
    // Those who find all slots occupied keep their places.
    for (let receiver = this.turns.first; receiver !== undefined; receiver = this.turns.first) {
      if (!receiver.isGone && this.slots.isFull(receiver)) return undefined;
      this.turns.take();
      receiver.isWaiting = false;
      const started = receiver.isGone ? undefined : this.startFor(receiver, now);
      if (started !== undefined) {
        this.wake(receiver);
        return started;
      }
      this.slots.passOn(receiver);
    }
    return undefined;
  }

  /** When something may be due that `next` does not return now. */
  get nextTime(): number | undefined {
    const time = Math.min(this.timers.next ?? Infinity, this.slots.nextTime(this.turns.size));
    return time === Infinity ? undefined : time;
  }

  /**
   * Frees the slot of a message. The outcome must have been applied to the receiver's state; without one the message is
   * due again, after `pauseMs`.
   */
  ended(
    started: Started,
    ended: Pick<Outcome, 'outcome' | 'ms'> | undefined,
    now: number,
    pauseMs = 0,
  ): void {
    const { receiver, revision } = started;
    const outcome = ended?.outcome;
    // Of the receiver alone: how long we took until its outcome was durable says nothing about it.
    this.slots.leave(started, now, ended?.ms);
    receiver.lane.end(started, outcome, started.ratesFor);
    const retry = receiver.state.retries.get(revision);
    if (outcome === 'failed' && started.kind !== 'redelivery' && retry !== undefined)
      this.plan(receiver, revision, retry.next, now);
    if (pauseMs > 0) receiver.pausedUntil = now + pauseMs;
    this.wake(receiver);
  }

  private startFor(receiver: ServedReceiver, now: number): Started | undefined {
    const { subscriptionId, id, partition } = receiver;
    const { parts } = this;
    const permission = subscriptionId === undefined ? 'send' : parts.permission(subscriptionId, id);
    if (!parts.isOpen(partition) || permission === 'hold') {
      this.held.add(receiver);
      return undefined;
    }
    if (!this.mayStart(receiver, now, permission !== 'cancel')) return undefined;
    if (!this.slots.mayEnter(receiver)) return undefined;
    const choice = receiver.lane.choose();
    if (choice === undefined) return undefined;
    if ('toLoad' in choice) {
      // One at a time: whatever else happens to the receiver meanwhile would have it read again.
      if (!receiver.isLoading) {
        receiver.isLoading = true;
        parts.load(receiver, choice.toLoad, choice.isRedelivery);
      }
      return undefined;
    }
    return this.start(receiver, choice, now);
  }

  private start(receiver: ServedReceiver, sendable: Sendable, now: number): Started | undefined {
    const { kind, revision, message, redelivery } = sendable;
    const { subscriptionId, rendered, request } = message;
    receiver.subscriptionId = subscriptionId;
    receiver.owner = message.organisationId;
    const permission = this.parts.permission(subscriptionId, receiver.id, message, redelivery);
    if (permission === 'hold') {
      this.held.add(receiver);
      return undefined;
    }
    if (request !== undefined && (receiver.host === '' || receiver.rendered !== rendered)) {
      receiver.rendered = rendered;
      const host = parsedUrl(request.url)?.origin ?? request.url;
      if (host !== receiver.host) this.slots.move(receiver, host);
      if (!this.slots.mayEnter(receiver)) return undefined;
    }
    receiver.lane.start(sendable);
    if (permission === 'send') receiver.bucket.take(now);
    const started: Started = {
      kind,
      revision,
      message,
      redelivery,
      receiver,
      host: receiver.host,
      at: now,
      permission,
      isProbe: receiver.state.health.rest !== undefined,
      ratesFor:
        message.awaitsRate === undefined ? undefined : this.parts.ratesFor(subscriptionId, receiver.id),
      size: request?.body?.length ?? 0,
      pool: receiver.pace,
      hasEnded: false,
    };
    this.slots.enter(started);
    return started;
  }

  /**
   * Whether the receiver is not paused, and for an attempt neither resting nor at its rate. Otherwise it is asked again
   * in time.
   */
  private mayStart(receiver: ServedReceiver, now: number, isAttempt: boolean): boolean {
    const restsUntil = isAttempt ? this.restsUntil(receiver, now) : undefined;
    // A probe is alone.
    if (restsUntil !== undefined && restsUntil <= now && receiver.inFlight > 0) return false;
    const time = Math.max(receiver.pausedUntil, restsUntil ?? 0, isAttempt ? receiver.bucket.next(now) : 0);
    if (time <= now) return true;
    if (receiver.wakesAt <= now || receiver.wakesAt > time) {
      receiver.wakesAt = time;
      this.timers.add(time, { receiver });
    }
    return false;
  }

  private restsUntil(receiver: ServedReceiver, now: number): number | undefined {
    const { rest } = receiver.state.health;
    if (rest === undefined) return undefined;
    if (receiver.restEnd.of !== rest) {
      const ms = Math.min(this.parts.msUntil(rest.until), rest.ms);
      receiver.restEnd = { of: rest, until: now + ms };
    }
    return receiver.restEnd.until;
  }

  /** What is sent next is a probe, at once. */
  private endRest(receiver: ServedReceiver, now: number): void {
    const { rest } = receiver.state.health;
    receiver.restEnd = { of: rest, until: now };
    if (rest !== undefined) receiver.lane.preferRedelivery();
    this.wake(receiver);
  }

  private plan(receiver: ServedReceiver, retry: number, next: number, now: number): void {
    this.timers.add(this.dueAt(next, now), { receiver, retry, next });
  }

  /**
   * When a retry is due whose time (epoch ms) was stored: even if the system clock was set since, no later than any
   * schedule has it.
   */
  private dueAt(next: number, now: number): number {
    return now + Math.min(this.parts.msUntil(next), LONGEST_DELAY_MS);
  }

  private elapse(now: number): void {
    for (let due = this.timers.takeDue(now); due !== undefined; due = this.timers.takeDue(now)) {
      const { receiver, retry, next } = due;
      // It may have been tried before its time.
      if (retry !== undefined && receiver.state.retries.get(retry)?.next === next) receiver.lane.retry(retry);
      this.wake(receiver);
    }
    this.slots.elapse(now, this.turns.size);
  }
}

/** Limits a rate: at most `burst` at once, and `perSecond` in the long run. Times are in ms. */
class TokenBucket {
  private tokens: number;

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private at: number,
  ) {
    this.tokens = burst;
  }

  /** When the next one may be taken: now, or later. */
  next(now: number): number {
    this.fill(now);
    return this.tokens >= 1 ? now : Math.ceil(now + ((1 - this.tokens) * 1000) / this.perSecond);
  }

  take(now: number): void {
    this.fill(now);
    this.tokens -= 1;
  }

  private fill(now: number): void {
    if (now <= this.at) return;
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.at) * this.perSecond) / 1000);
    this.at = now;
  }
}

/** Items by the time when they are due: a heap. */
export class Timers<Item> {
  private readonly heap: { readonly time: number; readonly item: Item }[] = [];

  /** When the first one is due. */
  get next(): number | undefined {
    return this.heap[0]?.time;
  }

  add(time: number, item: Item): void {
    const { heap } = this;
    const added = { time, item };
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const parent = heap[above];
      if (parent === undefined || parent.time <= time) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = added;
  }

  takeDue(now: number): Item | undefined {
    const { heap } = this;
    const first = heap[0];
    if (first === undefined || first.time > now) return undefined;
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) this.sink(last);
    return first.item;
  }

  /** Puts an entry in place of the first one, below all that are earlier. */
  private sink(entry: { readonly time: number; readonly item: Item }): void {
    const { heap } = this;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      if (left === undefined) break;
      const isRight = right !== undefined && right.time < left.time;
      const child = isRight ? right : left;
      if (child.time >= entry.time) break;
      heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = entry;
  }
}
