import { type RecordedEvent } from '../src/kernel/event';
import { type Told } from './projection';

/** An event and, once a projection wants it, what its text says: parsed once for all of them. */
export class Arrival {
  private parsed: Told | undefined;

  constructor(readonly event: RecordedEvent) {}

  told(): Told {
    const { type, data, stream, position } = this.event;
    return (this.parsed ??= { type, data: JSON.parse(data) as object, stream, position });
  }
}
