import { join } from 'node:path';
import { startThread, type Thread, type ThreadData, type ThreadOptions } from '../runtime/thread';

/**
 * What a thread does: `roles/<role>.ts` has what runs in the thread, and how its owner starts and calls it. Owners load
 * this file too, so `run` imports itself what only the thread needs.
 */
export type ThreadRole =
  'automation' | 'exporter' | 'loader' | 'log-endpoint' | 'notifier' | 'projector' | 'validator';

/** Starts a thread with this role; needs compiled code. */
export function startRole<T extends object, Data extends ThreadData = object>(
  role: ThreadRole,
  options: Omit<ThreadOptions<T, Data>, 'file' | 'role'>,
): Thread<T> {
  return startThread({ ...options, file: join(__dirname, 'role.thread.js'), role });
}
