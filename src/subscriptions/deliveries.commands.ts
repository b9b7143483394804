import { type ListedDelivery } from '../notifications/stored-delivery';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { deadLetters, type DeadLetters } from '../../projections/delivery-list';
import { conversionFaults as fault } from '../conversions/faults';
import { type StateAt, toNewEvent } from '../kernel/decider';
import { type Position, streamOf } from '../kernel/event';
import { EventLog, RevisionConflict } from '../kernel/event-log';
import { ReadStore } from '../kernel/read-store';
import { receiversOf } from '../notifications/receiver-id';
import {
  type ActiveSubscription,
  SUBSCRIPTION,
  type SubscriptionCommand,
  subscriptionDecider,
} from '../notifications/subscription';
import { Subscriptions, type Which } from './commands';
import {
  type OutputDeliveryDetails,
  type OutputRedeliveries,
  type PostedRedeliveries,
} from './deliveries.fields';
import { DeliveryQueries } from './deliveries.queries';
import { type Refusals } from '../wire/posted';
import { complete } from '../wire/record-read';
import { checkReceiverId, receiverProblem } from './owned-subscription';

/** Has a message sent again (`docs/decisions.md#n14`). Raises CON_540 if it is no longer kept. */
export class RedeliverMessage extends Command<{
  readonly delivery: OutputDeliveryDetails;
  readonly position: Position;
}> {
  constructor(
    readonly which: Which,
    readonly messageId: string,
  ) {
    super();
  }
}

/** What was posted, as far as it could be read, and what is wrong with it so far. */
export interface UncheckedPeriod {
  readonly period: Partial<PostedRedeliveries>;
  readonly refusals: Refusals;
}

/** Has the dead letters of a period sent again. Raises everything that is wrong with it. */
export class RedeliverDeadLetters extends Command<
  OutputRedeliveries & { readonly position: Position | undefined }
> {
  constructor(
    readonly which: Which,
    readonly posted: UncheckedPeriod,
  ) {
    super();
  }
}

function checkedPeriod(
  { id }: Which,
  subscription: ActiveSubscription,
  { period, refusals }: UncheckedPeriod,
): PostedRedeliveries {
  const { minTime, maxTime, receiverId } = period;
  if (minTime !== undefined && maxTime !== undefined && Date.parse(minTime) > Date.parse(maxTime))
    refusals.add(fault.content, `minTime is ${minTime}: expected a time up to maxTime, ${maxTime}`);
  const problem = receiverId === undefined ? undefined : receiverProblem(id, subscription, receiverId);
  if (problem !== undefined) refusals.add(fault.unknownReceiver, problem);
  return complete<PostedRedeliveries>(period, refusals);
}

type Redelivery = Extract<SubscriptionCommand, { readonly do: 'redeliver' }>;

@CommandHandler(RedeliverMessage)
export class RedeliverMessageHandler implements ICommandHandler<RedeliverMessage> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly queries: DeliveryQueries,
  ) {}

  async execute({ which, messageId }: RedeliverMessage) {
    const known = await this.subscriptions.owned(which);
    const listed = await this.queries.delivery(which, messageId);
    const message = await this.queries.message(listed);
    if (message === undefined)
      throw fault.unknownDelivery(
        `${messageId}: what was sent is no longer kept, so it cannot be sent again`,
      );
    if (message.request === undefined)
      throw fault.content(`${messageId} cannot be sent: ${message.unsendable ?? 'it has no request'}`);
    checkReceiverId(which.id, known.state, listed.receiver);
    const at = this.subscriptions.now();
    const { subscription, position } = await this.subscriptions.change(
      which.id,
      redeliveryOf(listed, at),
      known,
    );
    const asked = { ...listed, redelivery: at };
    return { delivery: await this.queries.detailsOf(which, subscription, asked), position };
  }
}

function redeliveryOf({ receiver, messageId, matched }: ListedDelivery, at: string): Redelivery {
  return { do: 'redeliver', at, receiver, message: messageId, revision: matched };
}

/** Most messages of one command, and of one append. */
const MOST = 10_000;
const APPEND = 500;

@CommandHandler(RedeliverDeadLetters)
export class RedeliverDeadLettersHandler implements ICommandHandler<RedeliverDeadLetters> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly store: ReadStore,
    private readonly log: EventLog,
  ) {}

  async execute({ which, posted }: RedeliverDeadLetters) {
    let known = await this.subscriptions.owned(which);
    const period = checkedPeriod(which, known.state, posted);
    const at = this.subscriptions.now();
    const { found, remaining } = await this.deadLetters(which, known.state, period);
    let position: Position | undefined;
    for (let from = 0; from < found.length; from += APPEND) {
      const commands = found.slice(from, from + APPEND).map((listed) => redeliveryOf(listed, at));
      ({ known, position } = await this.append(which, known, commands));
    }
    return { requested: found.length, remaining, position };
  }

  /** Those to receivers that the subscription still has. */
  private async deadLetters(
    { id }: Which,
    subscription: ActiveSubscription,
    { minTime, maxTime, receiverId }: PostedRedeliveries,
  ): Promise<DeadLetters> {
    const at = { min: Date.parse(minTime), max: Date.parse(maxTime) };
    const receiver =
      receiverId === undefined ? [...receiversOf(id, subscription.content).keys()] : [receiverId];
    return await deadLetters(this.store, { subscriptionId: [id], receiver, at }, MOST);
  }

  /** Appends what is asked for; again, if others have changed the subscription meanwhile. */
  private async append(which: Which, before: StateAt<ActiveSubscription>, commands: readonly Redelivery[]) {
    for (let known = before; ; known = await this.subscriptions.owned(which)) {
      const events = commands.flatMap((command) => subscriptionDecider.decide(command, known.state));
      try {
        const stream = streamOf(SUBSCRIPTION, which.id);
        const { revision, position } = await this.log.append(
          stream,
          known.revision,
          events.map((event) => toNewEvent(event)),
        );
        return { known: { state: known.state, revision }, position };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }
}
