import { SYSTEM_CLOCK } from '../runtime/clock';
import { type OpenServed, serveThread } from '../runtime/thread';
import { type ThreadName } from './start-thread';
import { joinTraces } from './tracing';

/** Each is loaded only by the threads of this name. */
const THREADS: Readonly<Record<ThreadName, () => Promise<{ readonly run: OpenServed<ThreadName> }>>> = {
  automation: () => import('./threads/automation.js'),
  exporter: () => import('./threads/exporter.js'),
  loader: () => import('./threads/loader.js'),
  notifier: () => import('./threads/notifier.js'),
  projector: () => import('./threads/projector.js'),
  rebuilder: () => import('./threads/rebuilder.js'),
  replay: () => import('./threads/replay.js'),
  validator: () => import('./threads/validator.js'),
};

/** The entry of the threads that `startNamed` and `startOver` start. */
serveThread(SYSTEM_CLOCK, async (data, report, name: ThreadName) => {
  const endTraces = await joinTraces(name, report);
  const { calls, close } = await (await THREADS[name]()).run(data, report, name);
  return { calls, close: [...close, endTraces] };
});
