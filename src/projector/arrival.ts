import { type RecordedEvent } from '../kernel/event';
import { type Projection, type ParsedEvent } from './projection';

/** An event on its way through several projections: parsed once, and only if one of them wants it. */
export class Arrival {
  private parsed: ParsedEvent | undefined;
  private about: { readonly by: Pick<Projection, 'idOf'>; readonly id: string } | undefined;

  constructor(readonly event: RecordedEvent) {}

  parse(): ParsedEvent {
    const { type, data, stream, position } = this.event;
    return (this.parsed ??= { type, data: JSON.parse(data) as object, stream, position });
  }

  /** The document that it is about: found out once for all projections that tell it in the same way. */
  idBy(projection: Pick<Projection, 'idOf'>): string {
    if (this.about?.by.idOf !== projection.idOf)
      this.about = { by: projection, id: projection.idOf(this.parse()) };
    return this.about.id;
  }
}
