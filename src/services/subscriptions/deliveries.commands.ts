import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { oldestDeliveries, type OldestDeliveries } from '../../../projections/delivery-list';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Position } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { whyUnsendable } from '../../domain/deliveries/delivery-events';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { type Refusals } from '../../wire/api/posted';
import { ListCursors } from '../../wire/keys/pages';
import { complete } from '../../wire/record/read';
import { Subscriptions, type Which } from './commands';
import {
  type OutputDeliveryDetails,
  type OutputRedeliveries,
  type PostedRedeliveries,
} from './deliveries.fields';
import { heldReceivers } from './deliveries.output';
import { DeliveryQueries } from './deliveries.queries';
import { checkReceiverId, receiverProblem } from './owned-subscription';
import { type Asked, pendingSince, Redeliveries } from './redeliveries';

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

/** Has the dead letters, or other messages, of a period sent again. Raises everything that is wrong with it. */
export class RedeliverDeadLetters extends Command<OutputRedeliveries & { readonly position: Position }> {
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

@CommandHandler(RedeliverMessage)
export class RedeliverMessageHandler implements ICommandHandler<RedeliverMessage> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly queries: DeliveryQueries,
    private readonly log: EventLog,
  ) {}

  async execute({ which, messageId }: RedeliverMessage) {
    const known = await this.subscriptions.owned(which);
    const listed = await this.queries.delivery(which, messageId);
    const message = await this.queries.toSend(which.kind, known, listed);
    if (message === undefined)
      throw fault.unknownDelivery(
        `${messageId}: what was sent is no longer kept, so it cannot be sent again`,
      );
    if (message.request === undefined)
      throw fault.content(`${messageId} cannot be sent: ${whyUnsendable(message)}`);
    checkReceiverId(which.id, known.state, listed.receiver);
    const redeliveries = new Redeliveries(this.subscriptions, this.log);
    const before = await redeliveries.read(which, Date.parse(listed.at), known);
    const at = this.subscriptions.now();
    const { asked, position = await this.probe(which, listed, at) } = await redeliveries.request(
      before,
      [listed],
      at,
    );
    const { state } = asked.known;
    const redelivery = pendingSince(listed, asked);
    const pending = { ...listed, ...(redelivery === undefined ? {} : { redelivery }) };
    const details = await this.queries.detailsOf(which, asked.known, pending);
    const isHeld = heldReceivers(which.id, state).has(listed.receiver);
    return { delivery: isHeld ? details : { ...details, nextAttempt: at }, position };
  }

  /** The message is asked for already: if its receiver rests, it is tried now. */
  private async probe(which: Which, { receiver }: ListedDelivery, at: string): Promise<Position> {
    const isResting = (await this.queries.resting([receiver])).size > 0;
    if (!isResting) return await this.log.head();
    const known = await this.subscriptions.owned(which);
    return (await this.subscriptions.change(which.id, { do: 'probe', at, receiver }, known)).position;
  }
}

/** Most messages of one command, and of one append. */
const MOST = 10_000;
const APPEND = 500;

type PeriodKeys = Omit<PostedRedeliveries, 'dryRun' | 'cursor'> & { readonly cursor: string | undefined };

const cursors = new ListCursors<PeriodKeys>({ presentation: [], excluded: [], refuse: fault.content });

function keysOf({ minTime, maxTime, receiverId, state, cursor }: PostedRedeliveries): PeriodKeys {
  return { minTime, maxTime, state, ...(receiverId === undefined ? {} : { receiverId }), cursor };
}

@CommandHandler(RedeliverDeadLetters)
export class RedeliverDeadLettersHandler implements ICommandHandler<RedeliverDeadLetters> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly store: ReadStore,
    private readonly log: EventLog,
  ) {}

  async execute({ which, posted }: RedeliverDeadLetters) {
    const known = await this.subscriptions.owned(which);
    const period = checkedPeriod(which, known.state, posted);
    const at = this.subscriptions.now();
    const redeliveries = new Redeliveries(this.subscriptions, this.log);
    let asked = await redeliveries.read(which, Date.parse(period.minTime), known);
    const { found, remaining, next } = await this.found(asked, period);
    const more = {
      remaining,
      ...(next === undefined ? {} : { cursor: cursors.write(keysOf(period), next) }),
    };
    if (period.dryRun) return { requested: found.length, ...more, position: await this.log.head() };
    let [requested, position]: [number, Position | undefined] = [0, undefined];
    for (let from = 0; from < found.length; from += APPEND) {
      const done = await redeliveries.request(asked, found.slice(from, from + APPEND), at);
      ({ asked, position = position } = done);
      requested += done.count;
    }
    return { requested, ...more, position: position ?? (await this.log.head()) };
  }

  /**
   * Those to receivers that the subscription still has, and that were attempted or may be rendered, without those that are asked
   * for already.
   */
  private async found(asked: Asked, period: PostedRedeliveries): Promise<OldestDeliveries> {
    const { id } = asked.which;
    const { minTime, maxTime, receiverId, state } = period;
    const at = { min: Date.parse(minTime), max: Date.parse(maxTime) };
    const receiver =
      receiverId === undefined ? [...receiversOf(id, asked.known.state.content).keys()] : [receiverId];
    const criteria = { subscriptionId: [id], receiver, states: [{ state }], at };
    const page = { most: MOST, start: cursors.read(keysOf(period)) ?? null };
    return await oldestDeliveries(this.store, criteria, page, (listed) => {
      const mayBeSent = listed.attempts.length > 0 || state === 'cancelled' || listed.renderable === true;
      return mayBeSent && listed.isTest !== true && pendingSince(listed, asked) === undefined;
    });
  }
}
