import { type RecordedEvent } from '../../kernel/event';
import { type MatchedEvent } from '../../domain/deliveries/delivery-events';
import { type PartitionState } from './partition-state';
import { isUsableMatched } from './usable-deliveries';

/** Within a text of JSON the quotes are escaped, so this finds the property only. */
const RECEIVER = /"receiver":"([^"]*)"/;

const OF_RECEIVERS: ReadonlySet<string> = new Set<MatchedEvent['type']>([
  'MessageDue',
  'RedeliveryDue',
  'ProbeDue',
  'RedeliveriesWithdrawn',
]);

/** The receiver that an event is about, without parsing all of it; undefined for other events. */
export function receiverIn({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): string | undefined {
  return OF_RECEIVERS.has(type) ? RECEIVER.exec(data)?.[1] : undefined;
}

/** Lets the state of the receiver's partition take an event of `matched`. False if it was taken before, or is not usable. */
export function takeMatched(
  state: PartitionState,
  receiver: string,
  { type, data, revision }: RecordedEvent,
): boolean {
  if (revision <= state.matchedUpTo || !isUsableMatched({ type, data })) return false;
  if (type === 'MessageDue') state.due(receiver, revision);
  else if (type === 'RedeliveriesWithdrawn') state.cancelRedeliveries(receiver, revision);
  else if (type === 'ProbeDue')
    state.probe(receiver, revision, Date.parse((JSON.parse(data) as DataOf<'ProbeDue'>).at));
  else state.redeliver(receiver, revision, (JSON.parse(data) as DataOf<'RedeliveryDue'>).revision);
  return true;
}

/** Whether a `MessageDue` is a test, without parsing all of it. */
export function isTestMessage({ data }: Pick<RecordedEvent, 'data'>): boolean {
  return data.includes('"isTest":true');
}

type DataOf<Type extends MatchedEvent['type']> = Extract<MatchedEvent, { readonly type: Type }>['data'];
