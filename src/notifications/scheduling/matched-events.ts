import { type RecordedEvent } from '../../kernel/event';
import { type MatchedEvent } from '../delivery-events';
import { type PartitionState } from './partition-state';

/** Within a text of JSON the quotes are escaped, so this finds the property only. */
const RECEIVER = /"receiver":"([^"]*)"/;

/** The receiver of a `MessageDue` or `RedeliveryDue`, without parsing all of it; undefined for other events. */
export function receiverIn({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): string | undefined {
  return type === 'MessageDue' || type === 'RedeliveryDue' ? RECEIVER.exec(data)?.[1] : undefined;
}

/** Lets the state of the receiver's partition take an event of `matched`. False if it was taken before. */
export function takeMatched(
  state: PartitionState,
  receiver: string,
  { type, data, revision }: RecordedEvent,
): boolean {
  if (revision <= state.matchedUpTo) return false;
  if (type === 'MessageDue') state.due(receiver, revision);
  else {
    const redelivery = JSON.parse(data) as Extract<MatchedEvent, { type: 'RedeliveryDue' }>['data'];
    state.redeliver(receiver, revision, redelivery.revision);
  }
  return true;
}
