import { setTimeout as after } from 'node:timers/promises';
import { PROJECTIONS } from '../../projections';
import { type ReadStore } from '../kernel/read-store';
import { reasonOf } from '../runtime/unavailable';
import { availabilityOf } from '../projector/generations';
import { type RebuildProgress } from '../projector/rebuild';
import { type Projector } from './roles/projector';

/** How long nobody may be building missing read models before requests are accepted without them (ms): writes need none. */
const PATIENCE_MS = 5_000;
const POLL_MS = 250;

interface Options {
  readonly store: ReadStore;
  /** The projector of this process, which is started. */
  readonly projector?: Projector | undefined;
  /** Called regularly with what is being waited for. */
  readonly show: (reason: string) => void;
  readonly signal: AbortSignal;
  readonly patience?: number;
}

/**
 * Waits until every read model can be read, however long building them takes (`docs/decisions.md#x98`). Returns why
 * not, if nobody has been building them for a while: an unavailable read store, no projector.
 */
export async function untilReadable(options: Options): Promise<string | undefined> {
  const { store, projector, show, signal, patience = PATIENCE_MS } = options;
  const opening = projector?.start().then(() => true);
  // Awaited below; until then a failure must not count as unhandled.
  opening?.catch(() => undefined);
  for (let quietSince = performance.now(); ;) {
    const { state, reason } = await look(store, projector);
    if (state === 'live') return undefined;
    if (state === 'building') quietSince = performance.now();
    else if (performance.now() - quietSince > patience) return reason;
    show(reason);
    const pause = after(POLL_MS, false, { signal }).catch(() => false);
    const isOpen = await Promise.race(opening === undefined ? [pause] : [opening, pause]);
    signal.throwIfAborted();
    if (isOpen) return undefined;
  }
}

interface Look {
  readonly state: 'live' | 'building' | 'missing';
  readonly reason: string;
}

async function look(store: ReadStore, projector: Projector | undefined): Promise<Look> {
  const [trouble, progress] = await Promise.all([projector?.trouble(), projector?.progress()]);
  if (trouble !== undefined) return { state: 'missing', reason: trouble };
  if (progress !== undefined) return { state: 'building', reason: textOf(progress) };
  try {
    const state = await availabilityOf(store, PROJECTIONS);
    return { state, reason: state === 'building' ? BUILDING : OPENING };
  } catch (error) {
    return { state: 'missing', reason: reasonOf(error) };
  }
}

const BUILDING = 'the read models are being built';
const OPENING = 'the read models are being opened';

/** Phases that take a part of the time that cannot be estimated. */
const PHASES = {
  index: 'the log has been read, indexes are being built',
  compare: 'they are being compared with the live generation',
  swap: 'they are being swapped in',
} as const;

function textOf({ phase, events, total, secondsLeft }: RebuildProgress): string {
  if (phase !== 'project') return `${BUILDING}: ${PHASES[phase]}`;
  const percent = total === 0 ? 0 : Math.floor((100 * events) / total);
  return `${BUILDING}: ${percent} % of the log, about ${Math.ceil(secondsLeft)} s left`;
}
