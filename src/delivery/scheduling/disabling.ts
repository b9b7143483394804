import { type EventLog } from '../../kernel/event-log';
import { type Outcome } from '../../domain/deliveries/delivery-events';
import { disableReceiver } from './domain-facts';
import { disables, endedOf, type Health } from '../../domain/deliveries/health';
import { disabledBy } from './outcome';
import { type OwnedPartition } from './owned-partition';
import { untilDone } from './until-done';

/** Disables receivers that have failed for too long, or are gone (`docs/decisions.md#n8`), and reports it. */
export class Disabling {
  /** Outcomes that have disabled their receivers: an owner may have enabled one before its outcome is durable. */
  private readonly done = new WeakSet<Outcome>();

  constructor(
    private readonly log: EventLog,
    private readonly report: (failure: unknown) => void,
  ) {}

  /** An outcome is recorded as another one. */
  becomes(before: Outcome, after: Outcome): void {
    if (this.done.has(before)) this.done.add(after);
  }

  /** `health`: of the receiver before the failed attempt. */
  async check(partition: OwnedPartition, health: Health, outcome: Outcome): Promise<void> {
    const reason = this.done.has(outcome) ? undefined : disables(health, endedOf(outcome));
    if (reason === undefined) return;
    this.done.add(outcome);
    const disable = (): Promise<boolean> => disableReceiver(this.log, outcome, reason);
    if ((await untilDone(disable, () => partition.isLost, this.report)) === true)
      this.report(disabledBy(reason, outcome));
  }
}
