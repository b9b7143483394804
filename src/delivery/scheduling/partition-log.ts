import { eventsOf, toNewEvent } from '../../kernel/decider';
import { NO_STREAM, type RecordedEvent } from '../../kernel/event';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Outcome, type PartitionEvent, partitionStream } from '../../domain/deliveries/delivery-events';
import { type Clock } from '../../runtime/clock';
import { PartitionState } from './partition-state';
import { restorePartition, type SavedPart } from './saved-partition';
import { isUsableOutcome, isUsablePart } from './matched-events';

/** A partition that this process has taken over: its state, and the revision of its stream. */
export interface TakenPartition {
  readonly state: PartitionState;
  readonly revision: number;
}

/** Events per batch: only those after the last snapshot are needed. */
const BATCH = 200;
const MOST_CONFLICTS = 20;

/**
 * Reads the state of a partition from its stream, without what is new in `matched`, and takes the partition over:
 * appends of the process that had it before conflict from now on. Raises `EngineUnavailable`. Takes nothing once the
 * signal has aborted. Undefined: another process has the lease by now, as `hasLease` finds after each read; one that
 * acquires it afterwards has this one's append conflict.
 */
export async function takePartition(
  clock: Clock,
  log: EventLog,
  partition: number,
  {
    owner,
    hasLease = async () => true,
    report = () => undefined,
    signal,
  }: {
    readonly owner: string;
    readonly hasLease?: () => Promise<boolean>;
    readonly report?: (failure: string) => void;
    readonly signal?: AbortSignal;
  },
): Promise<TakenPartition | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const { state, revision } = await readPartition(log, partition, report);
    // A process that stops may have released the lease during the read: this would acquire it again.
    signal?.throwIfAborted();
    if (!(await hasLease())) return undefined;
    signal?.throwIfAborted();
    try {
      const taken: PartitionEvent = {
        type: 'PartitionTaken',
        data: { at: clock.now().toISOString(), owner },
      };
      const appended = await log.append(partitionStream(partition), revision, [
        toNewEvent(taken, clock.uuid()),
      ]);
      return { state, revision: appended.revision };
    } catch (error) {
      if (!(error instanceof RevisionConflict) || attempt === MOST_CONFLICTS) throw error;
    }
  }
}

/** The state as of the end of the partition's stream. */
async function readPartition(
  log: EventLog,
  partition: number,
  report: (failure: string) => void,
): Promise<TakenPartition> {
  let state: PartitionState | undefined;
  const outcomes: Outcome[] = [];
  let revision: number | undefined;
  let parts: SavedPart[] = [];
  const newestFirst = { backwards: true, batchSize: BATCH };
  for await (const event of eventsOf(log, partitionStream(partition), newestFirst)) {
    revision ??= event.revision;
    const skip = (): void => report(skipped(event));
    if (event.type === 'MessageAttempted') {
      const outcome = JSON.parse(event.data) as Outcome;
      if (isUsableOutcome(outcome)) outcomes.push(outcome);
      else skip();
    }
    if (event.type !== 'PartitionSaved') continue;
    const part = JSON.parse(event.data) as SavedPart;
    // The snapshot before it does as well.
    parts = isUsablePart(part) ? precededBy(parts, part) : [];
    state = parts[0]?.part === 1 ? restored(parts) : undefined;
    if (state !== undefined) break;
    if (!isUsablePart(part) || parts[0]?.part === 1) skip();
  }
  state ??= new PartitionState();
  for (const outcome of outcomes.toReversed()) state.settle(outcome);
  return { state, revision: revision ?? NO_STREAM };
}

/** Undefined: another program has written it. */
function restored(parts: readonly SavedPart[]): PartitionState | undefined {
  const state = new PartitionState();
  try {
    restorePartition(state, parts);
    return state;
  } catch {
    return undefined;
  }
}

function skipped({ type, stream, revision }: RecordedEvent): string {
  return (
    `${type} (${stream}@${revision} of the delivery log) cannot be used, and is ignored: another program ` +
    'has written it'
  );
}

/** The parts of a snapshot from the last one back. One without its last part was interrupted, and is ignored. */
function precededBy(later: readonly SavedPart[], part: SavedPart): SavedPart[] {
  if (part.part === part.parts) return [part];
  return later[0]?.part === part.part + 1 ? [part, ...later] : [];
}
