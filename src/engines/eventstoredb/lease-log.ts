import { randomUUID } from 'node:crypto';
import { NO_STREAM } from '../../kernel/event';
import { RevisionConflict } from '../../kernel/event-log';
import { EventStoreLog } from './event-store-log';

/** The streams of leases in EventStoreDB. */
export class EventStoreLeaseLog extends EventStoreLog {
  /** Sets the metadata of a stream, unless it has some. */
  async describe(stream: string, metadata: object): Promise<void> {
    const event = { id: randomUUID(), type: '$metadata', data: JSON.stringify(metadata), meta: '{}' };
    try {
      await this.appendTo(`$$${this.serverName(stream)}`, NO_STREAM, [event]);
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
}
