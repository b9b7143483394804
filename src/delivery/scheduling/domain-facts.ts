import { toNewEvent } from '../../kernel/decider';
import { NO_STREAM, streamOf } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type DeadLetter, type DeadLetterEvent, type Outcome } from '../../domain/deliveries/delivery-events';
import { changeSubscription } from '../../domain/subscriptions/loaded-subscription';
import { type DisabledReason } from '../../domain/subscriptions/subscription';

/** Records in the domain log that a message is a dead letter, unless it is there already. */
export async function recordDeadLetter(log: EventLog, deadLetter: DeadLetter): Promise<void> {
  const event: DeadLetterEvent = { type: 'MessageDeadLettered', data: deadLetter };
  try {
    await log.append(streamOf('deadletter', deadLetter.id), NO_STREAM, [toNewEvent(event)]);
  } catch (error) {
    if (!(error instanceof RevisionConflict)) throw error;
  }
}

/** False if it is disabled already, or there is none any more. */
export async function disableReceiver(
  log: EventLog,
  { subscriptionId, receiver, at }: Outcome,
  reason: DisabledReason,
): Promise<boolean> {
  const command = { do: 'disableReceiver', at, receiver, reason } as const;
  return (await changeSubscription(log, subscriptionId, command)).position !== undefined;
}
