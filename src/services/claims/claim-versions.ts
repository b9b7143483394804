import { toFolded } from '../../kernel/decider';
import { streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { eventsOnDemand } from '../../domain/keys/history';
import { type OutputVersion } from './answered-fields';
import { CLAIM, claimDecider, type ClaimEvent, type ClaimState } from '../../domain/claims/claim';
import { storedAfter, type StoredClaim } from '../../domain/claims/stored-claim';

/** A claim after an event of its stream. */
interface ClaimAt {
  readonly revision: number;
  readonly state: ClaimState;
  /** Absent if the event is no version of its own. */
  readonly version?: ClaimAtVersion;
}

export interface ClaimAtVersion {
  /** ISO 8601. */
  readonly at: string;
  readonly by: OutputVersion['by'];
  readonly stored: StoredClaim;
}

/** A claim after each event up to before a revision, in batches that are read on demand. */
export async function* claimHistory(
  log: EventLog,
  claimId: number,
  options: { readonly to?: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<readonly ClaimAt[]> {
  let state: ClaimState = claimDecider.initial;
  let stored: StoredClaim | undefined;
  let by: OutputVersion['by'] = 'publisher';
  const after = (event: ClaimEvent): ClaimAtVersion | undefined => {
    stored = storedAfter(stored, event);
    if (stored === undefined || INVISIBLE.has(event.type)) return undefined;
    const cause = (by = changedBy(event, by));
    // Their screening follows at once, and is part of the change.
    if (event.type === 'ClaimFiled' || event.type === 'ClaimRevised') return undefined;
    by = 'system';
    return { at: event.data.at, by: cause, stored };
  };
  for await (const batch of eventsOnDemand(log, streamOf(CLAIM, claimId), options))
    yield batch.map((recorded) => {
      const event = toFolded<ClaimEvent>(recorded);
      state = claimDecider.evolve(state, event);
      const version = after(event);
      return { revision: recorded.revision, state, ...(version === undefined ? {} : { version }) };
    });
}

/** Their parties do not see these. */
const INVISIBLE: ReadonlySet<ClaimEvent['type']> = new Set(['ClaimTracked', 'ClaimKeyReclaimed']);

/** Who has caused an event. A screening belongs to the change before it, unless that was screened already. */
function changedBy(event: ClaimEvent, last: OutputVersion['by']): OutputVersion['by'] {
  if (event.type === 'ClaimScreened') return event.data.by ?? last;
  return event.type === 'ClaimRuled' ? event.data.by : 'publisher';
}
