import { Inject, Injectable } from '@nestjs/common';
import { deliveryOf } from '../../../projections/deliveries';
import { restingUntil } from '../../../projections/receivers';
import { Backoff } from '../../runtime/unavailable';
import { type Position } from '../../kernel/event';
import { EngineUnavailable } from '../../kernel/event-log';
import { NoGeneration, ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { messageIdOf } from '../../domain/subscriptions/receiver-id';
import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import { Subscriptions } from './commands';
import { type OutputTest } from './fields';
import { checkEnabled, checkReceiverId, SubscriptionParts, type Which } from './subscription.queries';

interface ReceiverTest {
  /** By default the first one of the filter. */
  readonly stateId?: number | undefined;
  /** Whether nobody waits for the answer any more. */
  readonly isGone: () => boolean;
}

export interface Tested {
  readonly answer: OutputTest;
  /** It was attempted, or cannot be. */
  readonly isOver: boolean;
  readonly position: Position;
}

/**
 * Requests for tests that wait for the outcome at a time, of one organisation and of all: others are answered at once.
 */
const MOST_WAITING = { own: 10, all: 200 } as const;

/** Tests that this process remembers, and for how long (ms): read models forget messages in the end. */
const MOST_ASKED = 1_000;
const ASKED_MS = 60 * 60 * 1000;

const BACKOFF = { first: 50, longest: 500 } as const;

interface AskedTest {
  readonly messageId: string;
  readonly position: Position;
}

interface Remembered {
  readonly asked: Promise<AskedTest>;
  readonly since: number;
}

/** What owners may do with a receiver of a subscription. Raises CON_530 for one that it does not have (ADR 18). */
@Injectable()
export class ReceiverCommands {
  /** By organisation. */
  private readonly waiting = new Map<number, number>();
  private allWaiting = 0;
  /** The latest test by receiver and state, oldest first. */
  private readonly tests = new Map<string, Remembered>();

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly store: ReadStore,
    @Inject(SubscriptionParts) private readonly parts: Pick<SubscriptionParts, 'testWithin'>,
  ) {}

  /** Enables a receiver that the system has disabled; one that rests is tried at once. */
  async enable(which: Which, receiver: string): Promise<{ readonly position: Position }> {
    const known = await this.subscriptions.owned(which);
    checkReceiverId(which.id, known.state, receiver);
    const at = this.subscriptions.now();
    const enabled = await this.subscriptions.change(which.id, { do: 'enableReceiver', at, receiver }, known);
    const isResting =
      (await ifAvailable(restingUntil(this.store, [receiver], Date.parse(at))))?.has(receiver) ?? true;
    if (enabled.isChanged || !isResting) return enabled;
    return await this.subscriptions.request(which.id, { type: 'ProbeRequested', data: { at, receiver } });
  }

  /** Sends a message with example values to a receiver, and waits for its outcome. Raises CON_350 too. */
  async test(which: Which, receiver: string, options: ReceiverTest): Promise<Tested> {
    const known = await this.subscriptions.owned(which);
    checkReceiverId(which.id, known.state, receiver);
    checkEnabled(which.id, known.state, receiver);
    const { stateId = known.state.content.filter.stateIds[0] ?? NaN, isGone } = options;
    const { messageId, position } = await this.asked(`${which.id} ${receiver} ${stateId}`, async () => {
      const data = { at: this.subscriptions.now(), receiver, stateId };
      const { id, position } = await this.subscriptions.request(which.id, { type: 'TestRequested', data });
      return { messageId: messageIdOf(id, receiver), position };
    });
    const isHeld = receiver in known.state.disabledReceivers;
    const { organisationId } = which.caller;
    const ended = isHeld ? undefined : await this.ended(messageId, organisationId, isGone);
    const answer =
      ended === undefined ? ({ messageId, state: isHeld ? 'held' : 'due' } as const) : toTest(ended);
    return { answer, isOver: ended !== undefined, position };
  }

  /** The test that was asked for last, as long as it is not attempted; otherwise a new one. */
  private async asked(key: string, ask: () => Promise<AskedTest>): Promise<AskedTest> {
    const known = this.tests.get(key);
    if (known !== undefined && (await this.isUnattempted(known))) return await known.asked;
    const other = this.tests.get(key);
    // Another request was faster.
    if (other !== undefined && other !== known) return await other.asked;
    const added = { asked: ask(), since: this.subscriptions.clock.monotonic() };
    this.tests.delete(key);
    this.tests.set(key, added);
    const [oldest] = this.tests.keys();
    if (this.tests.size > MOST_ASKED && oldest !== undefined) this.tests.delete(oldest);
    try {
      return await added.asked;
    } catch (error) {
      if (this.tests.get(key) === added) this.tests.delete(key);
      throw error;
    }
  }

  private async isUnattempted({ asked, since }: Remembered): Promise<boolean> {
    const { messageId } = await asked;
    if (this.subscriptions.clock.monotonic() - since > ASKED_MS) return false;
    const listed = await ifAvailable(deliveryOf(this.store, messageId));
    return listed === undefined || listed.state === 'due';
  }

  /** The message when it has an outcome; undefined: not in time. */
  private async ended(
    messageId: string,
    organisationId: number,
    isGone: () => boolean,
  ): Promise<ListedDelivery | undefined> {
    const own = this.waiting.get(organisationId) ?? 0;
    if (own >= MOST_WAITING.own || this.allWaiting >= MOST_WAITING.all) return undefined;
    this.count(organisationId, 1);
    try {
      const backoff = new Backoff(this.subscriptions.clock, BACKOFF);
      const until = this.subscriptions.clock.monotonic() + this.parts.testWithin;
      for (;;) {
        const listed = await ifAvailable(deliveryOf(this.store, messageId));
        if (listed !== undefined && listed.state !== 'due') return listed;
        const left = until - this.subscriptions.clock.monotonic();
        if (left <= 0 || isGone()) return undefined;
        await backoff.wait(undefined, left);
      }
    } finally {
      this.count(organisationId, -1);
    }
  }

  private count(organisationId: number, by: 1 | -1): void {
    this.allWaiting += by;
    const own = (this.waiting.get(organisationId) ?? 0) + by;
    if (own === 0) this.waiting.delete(organisationId);
    else this.waiting.set(organisationId, own);
  }
}

/** What was asked for is in the log: undefined if read models are unavailable, or being built. */
async function ifAvailable<Found>(found: Promise<Found>): Promise<Found | undefined> {
  return await found.catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable || error instanceof NoGeneration)) throw error;
    return undefined;
  });
}

function toTest({ messageId, state, attempts, reason, next }: ListedDelivery): OutputTest {
  const { status, ms, error = reason, answer } = attempts.at(-1) ?? {};
  const milliseconds = ms && Math.round(ms);
  return defined({ messageId, state, status, milliseconds, error, answer, nextAttempt: next });
}
