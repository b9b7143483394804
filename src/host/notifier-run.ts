import { setTimeout as pause } from 'node:timers/promises';
import { EngineUnavailable, type EventLog, type ExpiringLog } from '../kernel/event-log';
import { type ReadStore } from '../kernel/read-store';
import { reasonOf } from '../kernel/unavailable';
import { EXPIRING_STREAMS } from '../notifications/delivery-events';
import { MatcherRunner } from '../notifications/matching/matcher-runner';
import { RatesPublisher } from '../notifications/matching/rates-publisher';
import { FollowedSubscriptions } from '../notifications/matching/subscription-book';
import { claimDeliveries, type Owner } from '../notifications/ownership';
import { DeliveryRunner } from '../notifications/scheduling/delivery-runner';
import { Recipients } from '../notifications/scheduling/recipients';
import { type Secrets } from '../notifications/secrets';
import { type AllowedAddresses } from '../notifications/sending/allowed-addresses';
import { Sender } from '../notifications/sending/sender';
import { type Topic } from '../notifications/topic';

export interface NotifierParts {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly deliveries: ExpiringLog;
  readonly topics: readonly Topic[];
  readonly secrets: Secrets;
  /** This installation. */
  readonly owner: Owner;
  readonly allowed: AllowedAddresses;
  /** File or URL with exchange rates. */
  readonly rates?: string;
  /** How long messages are kept (ms). */
  readonly keepMs: number;
}

export interface NotifierOptions {
  /** A name that no other process uses. */
  readonly name: string;
  /** Receives failures after which it continues. */
  readonly report: (failure: unknown) => void;
}

/** How often a process that may not deliver checks whether it may (ms). */
const CLAIM_MS = 5_000;
/** How often the delivery log is freed of what has expired (ms). */
const EXPIRE_MS = 60 * 60 * 1000;
const LOOK_MS = 1_000;

interface Part {
  start(): void;
  stop(): Promise<void>;
  trouble(): string | undefined;
}

/** Everything that a process with the role `notifier` does: rates, matching, sending, expiry. */
export class Notifier {
  private readonly stopping = new AbortController();
  private parts: readonly Part[] = [];
  private running: Promise<void> | undefined;
  /** Why this process does not deliver. */
  private refusal: string | undefined;
  private failure: string | undefined;

  constructor(
    private readonly surface: NotifierParts,
    private readonly options: NotifierOptions,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Stops after what is in flight, for a few seconds at most. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Why it does not deliver, or makes no progress; undefined while it does. */
  trouble(): string | undefined {
    const troubles = this.parts.map((part) => part.trouble());
    return this.refusal ?? this.failure ?? troubles.find((trouble) => trouble !== undefined);
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    if (!(await this.mayDeliver())) return;
    const { log, store, deliveries, topics, secrets, allowed, rates, keepMs } = this.surface;
    const { name, report } = this.options;
    const following = new AbortController();
    const subscriptions = new FollowedSubscriptions(log, following.signal);
    const sender = new Sender({ allowed });
    const recipients = new Recipients(subscriptions, secrets);
    const attempt = sender.attempt.bind(sender);
    this.parts = [
      new MatcherRunner({ log, deliveries, store, topics }, { owner: name, report }),
      new DeliveryRunner({ log, deliveries, store, recipients, attempt, report }, { owner: name, keepMs }),
      ...(rates === undefined ? [] : [new RatesPublisher(log, rates, { report })]),
    ];
    for (const part of this.parts) part.start();
    await this.expireRegularly(deliveries, keepMs, signal);
    await Promise.all(this.parts.map(async (part) => part.stop()));
    await sender.close();
    following.abort();
    await subscriptions.ended;
  }

  /** Waits until this installation may deliver; false if it is stopped before. Reports why it may not. */
  private async mayDeliver(): Promise<boolean> {
    const { signal } = this.stopping;
    const { log, owner } = this.surface;
    while (!signal.aborted) {
      const refusal = await claimDeliveries(log, owner, new Date()).catch((error: unknown) => {
        if (!(error instanceof EngineUnavailable)) throw error;
        return reasonOf(error);
      });
      if (refusal !== this.refusal && refusal !== undefined)
        this.options.report(new Error(`no notifications are sent: ${refusal}`));
      this.refusal = refusal;
      if (refusal === undefined) return true;
      await pause(CLAIM_MS, undefined, { signal }).catch(() => undefined);
    }
    return false;
  }

  /** Until it is stopped. */
  private async expireRegularly(deliveries: ExpiringLog, keepMs: number, signal: AbortSignal): Promise<void> {
    let due = -Infinity;
    while (!signal.aborted) {
      if (performance.now() >= due) {
        due = performance.now() + EXPIRE_MS;
        await deliveries.expire(new Date(Date.now() - keepMs), EXPIRING_STREAMS).then(
          () => (this.failure = undefined),
          (error: unknown) => this.fail(error),
        );
      }
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  private fail(error: unknown): void {
    const reason = reasonOf(error);
    if (this.failure !== reason) this.options.report(error);
    this.failure = reason;
  }
}
