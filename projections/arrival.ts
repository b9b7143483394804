import { type RecordedEvent } from '../src/kernel/event';
import { type Told } from './projection';

/** An event on its way through several projections: parsed once, and only if one of them wants it. */
export class Arrival {
  private parsed: Told | undefined;

  constructor(readonly event: RecordedEvent) {}

  told(): Told {
    const { type, data, stream, position } = this.event;
    return (this.parsed ??= { type, data: JSON.parse(data) as object, stream, position });
  }
}
