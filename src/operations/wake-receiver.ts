import { conversionFaults as fault } from '../domain/conversion-faults';
import { directoryAt } from '../network/directory';
import { type Engines } from '../engines/open';
import { Clock } from '../http/clock';
import { Fault, Faults } from '../kernel/fault';
import { type EventLog } from '../kernel/event-log';
import { loadSubscription } from '../domain/subscriptions/loaded-subscription';
import { TOPICS } from '../domain/topics';
import { Subscriptions, type Which } from '../services/subscriptions/commands';
import { heldReceivers } from '../services/subscriptions/deliveries.output';
import { stateField } from '../domain/subscriptions/topic';
import { missingSubscription, ownedSubscription } from '../services/subscriptions/subscription.queries';
import { postedState } from '../services/subscriptions/fields';
import {
  EnableReceiver,
  EnableReceiverHandler,
  type Tested,
  TestReceiver,
  TestReceiverHandler,
} from '../services/subscriptions/receivers.commands';

/** The subscription or its receiver is unknown, or cannot be tested. */
class RefusedReceiver extends Error {
  override readonly name = 'RefusedReceiver';
}

export interface ReceiverOf {
  readonly subscriptionId: string;
  readonly receiverId: string;
}

export interface TestOptions {
  /** The state of the example; by default the first one of the filter. */
  readonly stateId: number | undefined;
  /** How long to wait for the outcome (ms). */
  readonly within: number;
  readonly signal: AbortSignal;
}

type Parts = Pick<Engines, 'log' | 'store'>;

/** Sends a test to a receiver of any owner, as its owner may (`docs/decisions.md#n16`). Raises `RefusedReceiver`. */
export async function testReceiver(
  { log, store }: Parts,
  { subscriptionId, receiverId }: ReceiverOf,
  { stateId, within, signal }: TestOptions,
): Promise<Tested> {
  return await refusing(async () => {
    const which = await ofOwner(log, subscriptionId);
    const tested = stateId === undefined ? undefined : await checkedState(log, which, stateId);
    const handler = new TestReceiverHandler(subscriptionsOf(log), store, { testWithin: within });
    const isGone = (): boolean => signal.aborted;
    return await handler.execute(new TestReceiver(which, receiverId, { stateId: tested, isGone }));
  });
}

/**
 * Enables a receiver of any owner, or has one that rests tried at once, as its owner may. False: its owner has disabled it, which
 * stays so. Raises `RefusedReceiver`.
 */
export async function enableReceiver(
  { log, store }: Parts,
  { subscriptionId, receiverId }: ReceiverOf,
): Promise<boolean> {
  return await refusing(async () => {
    const which = await ofOwner(log, subscriptionId);
    await new EnableReceiverHandler(subscriptionsOf(log), store).execute(
      new EnableReceiver(which, receiverId),
    );
    const { state } = await ownedSubscription(log, which.kind, which.id, which.caller);
    return !heldReceivers(subscriptionId, state).has(receiverId);
  });
}

/** A command does not wait until lists of running servers show what it has done. */
function subscriptionsOf(log: EventLog): Subscriptions {
  return new Subscriptions(log, { after: async () => await log.head() }, new Clock());
}

/** A subscription in the name of its owner. */
async function ofOwner(log: EventLog, id: string): Promise<Which> {
  const { state } = await loadSubscription(log, id);
  if (state.is !== 'active') throw missingSubscription(id);
  const { topic, organisationId, content } = state;
  const { siteId } = content;
  const caller = { organisationId, ...(siteId === undefined ? {} : { siteId }) };
  return { kind: TOPICS[topic], id, caller };
}

async function checkedState(
  log: EventLog,
  { kind, caller }: Which,
  stateId: number,
): Promise<number | undefined> {
  const owner = (await directoryAt(log)).organisations.get(caller.organisationId);
  if (owner === undefined) throw fault.notRelated(`the organisation ${caller.organisationId} was removed`);
  const posted = JSON.stringify({ [stateField(kind.states)]: stateId });
  return postedState(kind, Buffer.from(posted), owner);
}

/** Raises `RefusedReceiver` for what the API would answer as a fault. */
async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const isFault = error instanceof Fault || error instanceof Faults;
    throw isFault ? new RefusedReceiver(error.message) : error;
  }
}
