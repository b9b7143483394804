import { join } from 'node:path';
import { type Engines, type EngineTicket } from '../engines/open';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { startThread, type Thread, type ThreadData, type ThreadParts } from '../runtime/thread';

/**
 * `threads/<name>.ts` has what runs in the thread, and how its owner starts and calls it. Owners load this file too, so
 * `run` imports itself what only the thread needs.
 */
export type ThreadName =
  'automation' | 'exporter' | 'loader' | 'notifier' | 'projector' | 'rebuilder' | 'replay' | 'validator';

/** Starts a thread; needs compiled code. */
export function startNamed<T extends object, Data extends ThreadData = object>(
  name: ThreadName,
  parts: Omit<ThreadParts<T, Data>, 'clock' | 'file' | 'name'>,
): Thread<T> {
  return startThread({ ...parts, clock: SYSTEM_CLOCK, file: join(__dirname, 'app.thread.js'), name });
}

/** What a thread that works with the engines is started with. */
export interface Ticketed {
  readonly ticket: EngineTicket;
}

/** Starts a thread that works with the engines: its data has a ticket to join them. */
export function startOver<T extends object>(
  engines: Engines,
  name: ThreadName,
  {
    data,
    ...parts
  }: Omit<ThreadParts<T, never>, 'clock' | 'file' | 'name' | 'data'> & { readonly data?: object },
): Thread<T> {
  return startNamed<T, Ticketed>(name, { ...parts, data: () => ({ ...data, ticket: engines.ticket() }) });
}
