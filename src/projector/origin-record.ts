import { type RecordedEvent } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Generation, type ReadStore } from '../kernel/read-store';
import { claimStore, isClaimLive, OtherLog, recordApplied, takeStore } from './origin';
import { type Projection } from './projection';
import { type Source } from './source';

/** What a projector records in the read store about the log that it projects. */
export class OriginRecord {
  /** The record that the store belongs to this log, once the log has events. */
  private claimed: Generation | undefined;
  private recorded: { readonly event: RecordedEvent; readonly at: number } | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly projections: readonly Projection[],
    private readonly source: Source,
    private readonly now: () => number,
  ) {}

  /**
   * Claims the store for this log. Raises `OtherLog`, unless read models of another log are replaced: then they are retired,
   * and `warn` receives a message.
   */
  async claim(warn: (message: string) => void): Promise<void> {
    const { log, store, projections, source } = this;
    this.recorded = undefined;
    try {
      this.claimed = await claimStore(log, store, projections, source);
    } catch (error) {
      if (!(error instanceof OtherLog) || source.replacesOther === undefined) throw error;
      await takeStore(log, store, projections, source);
      this.claimed = await claimStore(log, store, projections, source);
      warn(replaced(projections, source.replacesOther));
    }
  }

  /** Claims the store if the log had no events before; false once the claim has been replaced. */
  async isLive(): Promise<boolean> {
    this.claimed ??= await claimStore(this.log, this.store, this.projections, this.source);
    return this.claimed === undefined || (await isClaimLive(this.store, this.claimed, this.source));
  }

  /** Records the last applied event, which identifies an older log; at most once per `intervalMs`. */
  async record(applied: RecordedEvent | undefined, intervalMs: number): Promise<void> {
    const { claimed, recorded } = this;
    if (claimed === undefined || applied === undefined || applied === recorded?.event) return;
    const now = this.now();
    if (recorded !== undefined && now - recorded.at < intervalMs) return;
    await recordApplied(this.store, claimed, applied);
    this.recorded = { event: applied, at: now };
  }
}

function replaced(projections: readonly Projection[], where: string): string {
  const names = projections.map(({ collection }) => collection.name).join(', ');
  return `the read models ${names} are of another log, which was removed or replaced (${where}): they are unavailable until they are built again from the present one`;
}
