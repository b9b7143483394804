import { Injectable } from '@nestjs/common';
import { type Position } from '../kernel/event';
import { EventLog } from '../kernel/event-log';
import { WaitForReadModels } from './wait-for-read-models';

/** Waits for writes to become visible. */
@Injectable()
export class VisibleWrites {
  constructor(
    private readonly log: EventLog,
    private readonly readModels: WaitForReadModels,
  ) {}

  /**
   * Waits until listings include what was written; returns the position from which they do. An item without a position
   * has written nothing.
   */
  async after(written: readonly { readonly position?: Position | undefined }[]): Promise<Position> {
    let last: Position | undefined;
    let changes = 0;
    for (const { position } of written) {
      if (position === undefined) continue;
      changes += 1;
      if (last === undefined || position > last) last = position;
    }
    const position = last ?? (await this.log.head());
    await this.readModels.afterWrite({ position, changes });
    return position;
  }
}
