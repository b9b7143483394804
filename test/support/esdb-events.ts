import { type EventStoreDBClient, type JSONEventData, jsonEvent, NO_STREAM } from '@eventstore/db-client';

/** An event to be appended by the official client. */
export function happened(type = 'Happened', data: object = {}): JSONEventData {
  return jsonEvent({ type, data: { ...data } });
}

/** Begins a stream with so many events. */
export async function begin(
  client: EventStoreDBClient,
  stream: string,
  count: number,
  type?: string,
): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => happened(type, { n }));
  await client.appendToStream(stream, events, { expectedRevision: NO_STREAM });
}

/** All that a read gives. */
export async function collected<Event>(events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}
