import { join } from 'node:path';
import { type Engines, type EngineTicket } from '../engines/open';
import { type Remote } from '../runtime/calls';
import { type Report } from '../runtime/failure-report';
import { type ReadModels } from './read-models';
import { startThread } from '../runtime/thread';

/** A projector, in this thread or another. */
export type Projector = Pick<Remote<ReadModels>, 'start' | 'status' | 'progress' | 'trouble' | 'stop'>;

/**
 * A projector in a thread of its own; needs compiled code. `keepMs`: how long messages are kept. `report` receives failures after
 * which it continues.
 */
export function startProjector(engines: Engines, keepMs: number, report: Report): Projector {
  const { calls, end } = startThread<ReadModels, { readonly ticket: EngineTicket; readonly keepMs: number }>({
    file: join(__dirname, 'projector.thread.js'),
    methods: ['start', 'status', 'progress', 'trouble'],
    data: () => ({ ticket: engines.ticket(), keepMs }),
    report,
    onRestart: ({ start }) => start(),
    // More takes memory, and projects no faster (`npm run bench -- project`).
    resourceLimits: { maxYoungGenerationSizeMb: 16 },
  });
  return { ...calls, stop: end };
}
