import { type PartitionState } from './partition-state';
import { type Recipients } from './recipients';
import { type Scheduler } from './scheduler';

/**
 * Drops receivers that no subscription has any more, once nothing is left to send to them. Whoever makes one again starts anew
 * (`docs/decisions.md#n8`). Only before a snapshot: so whoever continues from it has dropped them too.
 */
export function dropGone({ receivers }: PartitionState, scheduler: Scheduler, recipients: Recipients): void {
  for (const [id, state] of receivers) {
    const isOpen = !state.isDone || (scheduler.served(id)?.inFlight ?? 0) > 0;
    if (isOpen || recipients.mayHave(id)) continue;
    receivers.delete(id);
    scheduler.leave(id);
  }
}
