import { type EventLog } from '../../kernel/event-log';
import { inParallel } from '../../runtime/in-parallel';
import { recordDeadLetter } from './domain-facts';
import { type OwnedPartition } from './owned-partition';
import { untilDone } from './until-done';

/** Dead letters that are recorded at once: they share commits. */
const AT_ONCE = 8;

/**
 * Records dead letters in the domain log (`docs/decisions.md#n3`) once their outcomes are durable: before that another process
 * may have the partition, and deliver them. Sending does not wait for it.
 */
export class DeadLetters {
  private readonly recording = new WeakMap<OwnedPartition, Promise<void>>();

  constructor(
    private readonly log: EventLog,
    private readonly report: (failure: unknown) => void,
  ) {}

  /** Resolves when all dead letters of the partition are recorded, or it is lost: its next owner records the rest. */
  async record(partition: OwnedPartition): Promise<void> {
    if (partition.state.deadLetters.size === 0) return;
    const recording = this.recording.get(partition) ?? this.recordAll(partition);
    this.recording.set(partition, recording);
    await recording;
  }

  private async recordAll(partition: OwnedPartition): Promise<void> {
    const { deadLetters } = partition.state;
    const record = (): Promise<void> =>
      inParallel(deadLetters.values(), AT_ONCE, async (deadLetter) => {
        await recordDeadLetter(this.log, deadLetter);
        deadLetters.delete(deadLetter.id);
      });
    // While they are recorded, others may be added.
    while (deadLetters.size > 0 && !partition.isLost)
      await untilDone(record, () => partition.isLost, this.report);
    this.recording.delete(partition);
  }
}
