import { BroadcastChannel } from 'node:worker_threads';
import { type Engines, joinEngines } from '../../engines/open';
import { type Remote } from '../../runtime/calls';
import { SYSTEM_CLOCK } from '../../runtime/clock';
import { type Report } from '../../runtime/failure-report';
import { type Served } from '../../runtime/thread';
import { type ReadModels } from '../read-models';
import { startOver, type Ticketed } from '../start-thread';
import { runningCode } from '../../projector/parked';
import { type Moved } from '../../projector/wait';

interface ProjectorData extends Ticketed {
  readonly keepMs: number;
  readonly retainMs: number;
}

export async function run({ ticket, keepMs, retainMs }: ProjectorData, report: Report): Promise<Served> {
  const { ReadModels } = await import('../read-models.js');
  const engines = await joinEngines(ticket, { writes: true });
  const own = { clock: SYSTEM_CLOCK, owner: SYSTEM_CLOCK.uuid(), code: await runningCode() };
  const moves = new BroadcastChannel(MOVES);
  const options = { ...own, report, retainMs, moved: (moved: Moved) => moves.postMessage(moved) };
  const models = await ReadModels.open(engines, options, keepMs);
  return { calls: models, close: [() => models.stop(), () => moves.close(), () => engines.close()] };
}

/** On this channel the threads of a process hear how far its projector has moved the read models of the domain. */
const MOVES = 'affilog-moves';

/** Calls back whenever the projector of this process has moved the read models. Returns what ends this. */
export function whenMoved(onMoved: (moved: Moved) => void): () => void {
  const moves = new BroadcastChannel(MOVES);
  moves.onmessage = ({ data }) => onMoved(data as Moved);
  moves.unref();
  return () => moves.close();
}

/** A projector, in this thread or another. */
export type Projector = Pick<Remote<ReadModels>, 'start' | 'progress' | 'trouble' | 'stop'>;

/**
 * A projector in a thread of its own; needs compiled code. `keepMs`: how long messages are kept, `retainMs`:
 * generations that were replaced. `report` receives failures after which it continues.
 */
export function startProjector(
  engines: Engines,
  kept: { readonly keepMs: number; readonly retainMs: number },
  report: Report,
): Projector {
  const { calls, end } = startOver<ReadModels>(engines, 'projector', {
    methods: ['start', 'progress', 'trouble'],
    data: kept,
    report,
    onRestart: ({ start }) => start(),
    // More takes memory, and projects no faster (`npm run bench -- project`).
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  return { ...calls, stop: end };
}
