import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { deliveryOf } from '../../projections/delivery-list';
import { restingUntil } from '../../projections/receiver-list';
import { Backoff } from '../kernel/backoff';
import { type Position } from '../kernel/event';
import { EngineUnavailable } from '../kernel/event-log';
import { NoGeneration, ReadStore } from '../kernel/read-store';
import { messageIdOf } from '../notifications/receiver-id';
import { type ListedDelivery } from '../notifications/stored-delivery';
import { Subscriptions, type Which } from './commands';
import { type OutputTest } from './fields';
import { checkEnabled, checkReceiverId } from './owned-subscription';
import { SubscriptionParts } from './subscription-parts';

/** Enables a receiver that the system has disabled; one that rests is tried at once. Raises CON_530. */
export class EnableReceiver extends Command<{ readonly position: Position }> {
  constructor(
    readonly which: Which,
    readonly receiver: string,
  ) {
    super();
  }
}

/** Sends a message with example values to a receiver, and waits for its outcome. Raises CON_530 and CON_350. */
export class TestReceiver extends Command<Tested> {
  constructor(
    readonly which: Which,
    readonly receiver: string,
    readonly options: {
      /** By default the first one of the filter. */
      readonly stateId?: number | undefined;
      /** Whether nobody waits for the answer any more. */
      readonly isGone: () => boolean;
    },
  ) {
    super();
  }
}

export interface Tested {
  readonly answer: OutputTest;
  /** It was attempted, or cannot be. */
  readonly isOver: boolean;
  readonly position: Position;
}

@CommandHandler(EnableReceiver)
export class EnableReceiverHandler implements ICommandHandler<EnableReceiver> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly store: ReadStore,
  ) {}

  async execute({ which, receiver }: EnableReceiver) {
    const known = await this.subscriptions.owned(which);
    checkReceiverId(which.id, known.state, receiver);
    const at = this.subscriptions.now();
    const enabled = await this.subscriptions.change(which.id, { do: 'enableReceiver', at, receiver }, known);
    const isResting =
      (await ifAvailable(restingUntil(this.store, [receiver], Date.parse(at))))?.has(receiver) ?? true;
    if (enabled.ids.length > 0 || !isResting) return enabled;
    return await this.subscriptions.change(which.id, { do: 'probe', at, receiver }, known);
  }
}

/** Tests whose outcome this process waits for at a time: others are answered at once. */
const MOST_WAITING = 200;

const BACKOFF = { first: 50, longest: 500 } as const;

@CommandHandler(TestReceiver)
export class TestReceiverHandler implements ICommandHandler<TestReceiver> {
  private waiting = 0;

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly store: ReadStore,
    private readonly parts: SubscriptionParts,
  ) {}

  async execute({ which, receiver, options }: TestReceiver): Promise<Tested> {
    const known = await this.subscriptions.owned(which);
    checkReceiverId(which.id, known.state, receiver);
    checkEnabled(which.id, known.state, receiver);
    const { stateId = known.state.content.filter.stateIds[0] ?? NaN, isGone } = options;
    const command = { do: 'test', at: this.subscriptions.now(), receiver, stateId } as const;
    const changed = await this.subscriptions.change(which.id, command, known);
    const messageId = messageIdOf(changed.ids[0] ?? '', receiver);
    const isHeld = receiver in changed.subscription.disabledReceivers;
    const ended = isHeld ? undefined : await this.ended(messageId, isGone);
    const answer =
      ended === undefined ? ({ messageId, state: isHeld ? 'held' : 'due' } as const) : toTest(ended);
    return { answer, isOver: ended !== undefined, position: changed.position };
  }

  /** The message when it has an outcome; undefined: not in time. */
  private async ended(messageId: string, isGone: () => boolean): Promise<ListedDelivery | undefined> {
    if (this.waiting >= MOST_WAITING) return undefined;
    this.waiting += 1;
    try {
      const backoff = new Backoff(BACKOFF);
      const until = performance.now() + this.parts.testWithin;
      for (;;) {
        const listed = await ifAvailable(deliveryOf(this.store, messageId));
        if (listed !== undefined && listed.state !== 'due') return listed;
        const left = until - performance.now();
        if (left <= 0 || isGone()) return undefined;
        await backoff.wait(undefined, left);
      }
    } finally {
      this.waiting -= 1;
    }
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
  return {
    messageId,
    state,
    ...(status === undefined ? {} : { status }),
    ...(ms === undefined ? {} : { milliseconds: Math.round(ms) }),
    ...(error === undefined ? {} : { error }),
    ...(answer === undefined ? {} : { answer }),
    ...(next === undefined ? {} : { nextAttempt: next }),
  };
}
