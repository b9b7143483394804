import { type Clock } from '../runtime/clock';
import { crash } from '../runtime/failure-report';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { type IsGone, type Leases } from '../kernel/leases';
import { reasonOf } from '../runtime/unavailable';
import { Rerenderer } from './matching/rerender';
import { MatcherRunner } from './matching/matcher-runner';
import { RatesPublisher } from './matching/rates';
import { claimDeliveries, type Owner } from '../domain/deliveries/ownership';
import { DeliveryRunner, type ReceiverCounts } from './scheduling/delivery-runner';
import { FollowedSubscriptions, Recipients } from './scheduling/recipients';
import { type Secrets } from '../domain/subscriptions/subscription';
import { type Sender } from './sending/sender';
import { type Topic } from '../domain/subscriptions/topic';

export interface NotifierParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly leases: Leases;
  readonly deliveries: EventLog;
  readonly topics: readonly Topic[];
  readonly secrets: Secrets;
  readonly owner: Owner;
  /** What makes the attempts, until it stops delivering. */
  readonly newSender: () => Pick<Sender, 'attempt' | 'close'>;
  /** File or URL with exchange rates. */
  readonly rates?: string;
  readonly keepMs: number;
}

export interface NotifierOptions {
  readonly name: string;
  readonly code?: string;
  /** Whether another one is gone for certain. */
  readonly isGone?: IsGone;
  readonly report: (failure: unknown) => void;
}

const NO_RECEIVERS: ReceiverCounts = {
  receivers: { active: 0, failing: 0, resting: 0, disabled: 0 },
  waiting: 0,
};

/** How often to check whether this installation may deliver (ms). */
const CLAIM_MS = 5_000;

/** Everything that a process with the role `notifier` does: rates, matching, sending. */
export class Notifier {
  private readonly stopping = new AbortController();
  private delivering: DeliveryRunner | undefined;
  private runners: readonly { start(): void; stop(): Promise<void>; trouble(): string | undefined }[] = [];
  private end: () => Promise<void> = async () => undefined;
  private running: Promise<void> | undefined;
  /** Why this process does not deliver. */
  private refusal: string | undefined;

  constructor(
    private readonly parts: NotifierParts,
    private readonly options: NotifierOptions,
  ) {}

  start(): void {
    if (this.running !== undefined) return;
    this.running = this.run();
    this.running.catch(crash);
  }

  /** Stops after what is in flight, for a few seconds at most. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Why it does not deliver, or makes no progress; undefined while it does. */
  trouble(): string | undefined {
    const troubles = this.runners.map((runner) => runner.trouble());
    return this.refusal ?? troubles.find((trouble) => trouble !== undefined);
  }

  /** Of the partitions of this process. */
  receivers(): ReceiverCounts {
    return this.delivering?.counts() ?? NO_RECEIVERS;
  }

  /** Delivers as long as this installation may; otherwise it takes no part, so the others share everything. */
  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.claim();
      if (this.refusal === undefined && this.runners.length === 0) this.deliver();
      if (this.refusal !== undefined) await this.endDelivering();
      await this.parts.clock.pause(CLAIM_MS, signal).catch(() => undefined);
    }
    await this.endDelivering();
  }

  /** Finds out whether this installation may deliver, and reports why it may not as long as that lasts. */
  private async claim(): Promise<void> {
    const { clock, log, owner } = this.parts;
    try {
      const refusal = await claimDeliveries(clock, log, owner);
      // At each check: the log has it once a minute.
      if (refusal !== undefined) this.options.report(`no notifications are sent: ${refusal}`);
      this.refusal = refusal;
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      // Once it delivers, it knows by itself what to do without the log.
      if (this.runners.length === 0) this.refusal = reasonOf(error);
    }
  }

  private deliver(): void {
    const { clock, log, leases, deliveries, topics, secrets, newSender, rates, keepMs } = this.parts;
    const { name, isGone, code = '', report } = this.options;
    const owner = { owner: name, ...(isGone === undefined ? {} : { isGone }) };
    const following = new AbortController();
    const subscriptions = new FollowedSubscriptions(clock, log, following.signal, report);
    const sender = newSender();
    const recipients = new Recipients(subscriptions, secrets);
    const attempt = sender.attempt.bind(sender);
    const rerenderer = new Rerenderer(log, topics, report);
    const delivery = { clock, log, deliveries, leases, recipients, rerenderer, attempt, report };
    this.delivering = new DeliveryRunner(delivery, { ...owner, keepMs });
    this.runners = [
      new MatcherRunner({ log, deliveries, leases, topics }, { ...owner, clock, code, report }),
      this.delivering,
      ...(rates === undefined ? [] : [new RatesPublisher(clock, log, rates, { report })]),
    ];
    this.end = async () => {
      await Promise.all(this.runners.map(async (runner) => runner.stop()));
      await sender.close();
      following.abort();
      await subscriptions.ended;
    };
    for (const runner of this.runners) runner.start();
  }

  private async endDelivering(): Promise<void> {
    if (this.runners.length > 0) await this.end();
    this.runners = [];
    this.delivering = undefined;
  }
}
