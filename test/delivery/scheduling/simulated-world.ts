import { type Message, type Outcome } from '../../../src/domain/deliveries/delivery-events';
import { afterProbeRequest } from '../../../src/domain/deliveries/health';
import { outcomeOf, outcomeWithout } from '../../../src/delivery/scheduling/outcome';
import { PartitionState } from '../../../src/delivery/scheduling/partition-state';
import {
  type Permission,
  Scheduler,
  type ServedReceiver,
  type Started,
  Timers,
} from '../../../src/delivery/scheduling/scheduler';
import { type AttemptResult } from '../../../src/delivery/sending/attempt';

/** How a receiver answers: how long that takes (ms), and how it ends. */
export type Answer = Pick<AttemptResult, 'end' | 'ms' | 'retryAfter'>;

export interface WorldOptions {
  readonly answer: (message: Message, now: number) => Answer;
  /** The host of a receiver; by default each has its own. */
  readonly hostOf?: (receiver: string) => string;
  /** The organisation of a receiver; by default it is 1. */
  readonly ownerOf?: (receiver: string) => number;
  readonly body?: string;
  readonly permission?: (receiver: string) => Permission;
  /** How long an outcome takes to be durable, and a message to be read (ms). */
  readonly latencyMs?: number;
  /** Messages are not in memory at first. */
  readonly loads?: boolean;
}

export interface Sent {
  readonly message: Message;
  readonly revision: number;
  readonly started: number;
  ended: number;
  readonly kind: Started['kind'];
  outcome: Outcome | undefined;
}

const EPOCH = Date.parse('2026-03-01T00:00:00Z');

/**
 * Scheduler and state with receivers and a clock that are simulated: as fast as it can be computed, and always the
 * same.
 */
export class World {
  readonly state = new PartitionState();
  readonly sent: Sent[] = [];
  /** Messages that had to be read. */
  readonly loads: number[] = [];
  /** Checked at each start. */
  readonly inFlight = new Set<Started>();
  readonly scheduler: Scheduler;
  now = EPOCH;
  /** By how much (ms) the system clock differs from the time that has passed. */
  clockError = 0;
  onStart: (started: Started) => void = () => undefined;
  private readonly messages: Message[] = [];
  private readonly loaded = new Set<number>();
  private readonly events = new Timers<() => void>();

  constructor(private readonly options: WorldOptions) {
    const { permission = () => 'send' as const, latencyMs = 3, loads = false } = options;
    this.scheduler = new Scheduler({
      peek: (revision) => (!loads || this.loaded.has(revision) ? this.messages[revision] : undefined),
      load: (receiver, revision) => {
        this.loads.push(revision);
        this.after(latencyMs, () => {
          this.loaded.add(revision);
          this.scheduler.loaded(receiver);
        });
      },
      permission: (_, receiver) => permission(receiver),
      ratesFor: () => '',
      isOpen: () => true,
      msUntil: (time) => time - this.wall,
    });
  }

  /** What the system clock shows. */
  get wall(): number {
    return this.now + this.clockError;
  }

  /** A message is due; returns its revision. */
  due(receiver: string, subject: string, { strictOrder = false, isTest = false } = {}): number {
    const revision = this.messages.length;
    const { hostOf = (id) => `${id}.example`, ownerOf = () => 1, body } = this.options;
    this.messages.push({
      id: `msg_${revision}`,
      subscriptionId: 's',
      organisationId: ownerOf(receiver),
      receiver,
      topic: 'transactions',
      subject,
      sequence: revision,
      stateId: 1,
      at: new Date(this.wall).toISOString(),
      cause: '0',
      request: {
        method: 'POST',
        url: `https://${hostOf(receiver)}/${revision}`,
        ...(body === undefined ? {} : { body }),
      },
      ...(strictOrder ? { strictOrder } : {}),
      ...(isTest ? { isTest } : {}),
    });
    this.state.due(receiver, revision);
    const served = this.served(receiver);
    if (isTest) this.scheduler.sendTest(served, revision, this.now);
    else this.scheduler.wake(served);
    return revision;
  }

  /** Somebody asks for a message again. */
  redeliver(receiver: string, redelivery: number, revision: number): void {
    this.state.redeliver(receiver, redelivery, revision);
    this.scheduler.redeliver(this.served(receiver), redelivery, this.now);
  }

  /** Somebody asks for a probe. */
  probe(receiver: string): void {
    const state = this.state.receiver(receiver);
    state.health = afterProbeRequest(state.health, this.wall);
    this.scheduler.probe(this.served(receiver), this.now);
  }

  served(receiver: string): ServedReceiver {
    return this.scheduler.serve(receiver, 0, this.state.receiver(receiver), this.now);
  }

  after(ms: number, work: () => void): void {
    this.events.add(this.now + ms, work);
  }

  /** Lets time pass until nothing is left to do, or a time (ms from the start). */
  run(untilMs = Infinity): void {
    for (;;) {
      this.startAll();
      const next = Math.min(this.events.next ?? Infinity, this.scheduler.nextTime ?? Infinity);
      if (next === Infinity || next > EPOCH + untilMs) break;
      this.now = Math.max(this.now, next);
      for (let work = this.events.takeDue(this.now); work !== undefined; work = this.events.takeDue(this.now))
        work();
    }
    if (untilMs !== Infinity) this.now = EPOCH + untilMs;
  }

  private startAll(): void {
    for (;;) {
      const started = this.scheduler.next(this.now);
      if (started === undefined) return;
      this.inFlight.add(started);
      this.onStart(started);
      this.begin(started);
    }
  }

  private begin(started: Started): void {
    const { latencyMs = 3 } = this.options;
    const { message, revision, kind, receiver, permission } = started;
    if (permission !== 'send') {
      const outcome = outcomeWithout(started, 'cancelled', this.wall);
      this.after(latencyMs, () => this.end(started, outcome));
      return;
    }
    const sent: Sent = { message, revision, started: this.now, ended: NaN, kind, outcome: undefined };
    this.sent.push(sent);
    const answer = this.options.answer(message, this.now);
    this.after(answer.ms, () => {
      sent.ended = this.now;
      const at = this.wall - answer.ms;
      const asked = answer.end === 'success' ? receiver.lane.askedFor(revision) : undefined;
      const ended = { ...started, redelivery: started.redelivery ?? asked };
      if (answer.end !== 'aborted') sent.outcome = outcomeOf(ended, receiver.state, { ...answer, at });
      const { outcome } = sent;
      this.after(latencyMs, () => this.end(started, outcome));
    });
  }

  private end(started: Started, outcome: Outcome | undefined): void {
    this.inFlight.delete(started);
    if (outcome !== undefined) this.state.settle(outcome);
    this.scheduler.ended(started, outcome, this.now, outcome === undefined ? 1000 : 0);
  }
}
