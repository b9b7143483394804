import {
  type AppendResult,
  EventStoreDBClient,
  type JSONEventData,
  jsonEvent,
  NO_STREAM,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { type NewEvent } from '../../src/kernel/event';

/** EventStoreDB with only its official client, as in its documentation. */
export class BareClient {
  private readonly client: EventStoreDBClient;

  constructor(url: string) {
    this.client = EventStoreDBClient.connectionString(url);
  }

  /** Appends all batches to a new stream, one after the other. */
  async append(stream: string, batches: readonly (readonly JSONEventData[])[]): Promise<void> {
    let expectedRevision: bigint | typeof NO_STREAM = NO_STREAM;
    for (const batch of batches) {
      const appended: AppendResult = await this.client.appendToStream(stream, [...batch], {
        expectedRevision,
      });
      expectedRevision = appended.nextExpectedRevision;
    }
  }

  /** Reads a number of events of streams with a prefix from the start of the log. */
  async follow(prefix: string, count: number): Promise<void> {
    const filter = streamNameFilter({ prefixes: [prefix] });
    const subscription = this.client.subscribeToAll({ fromPosition: START, filter });
    let left = count;
    for await (const { event } of subscription) {
      if (event !== undefined) left -= 1;
      if (left === 0) break;
    }
    await subscription.unsubscribe();
  }

  async close(): Promise<void> {
    await this.client.dispose();
  }
}

/** The events in the form of this client: their data as objects. */
export function toProposed(events: readonly NewEvent[]): readonly JSONEventData[] {
  return events.map(({ id, type, data, meta }) =>
    jsonEvent({ id, type, data: objectOf(data), metadata: objectOf(meta) }),
  );
}

function objectOf(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}
