import { workerData } from 'node:worker_threads';
import { followDirectory } from '../directory/follower';
import { joinEngines } from '../engines/open';
import { serveCalls } from '../kernel/calls';
import { feedLeases } from './feed-leases';
import { type LoaderThreadData, makeLoader } from './loader';
import { validatorThreads } from './validators';

/** Loads feeds away from the thread that serves HTTP. Answers the calls of a `Loader`; closing it ends the thread. */
async function main({ ticket, dataDir, port }: LoaderThreadData): Promise<void> {
  const engines = await joinEngines(ticket);
  const ending = new AbortController();
  const follower = followDirectory(engines.log, ending.signal);
  // A log in a file is seldom another process's too: after a crash nobody shall wait until a lease runs out.
  const turns = ticket.settings.eventLog === 'sqlite:' ? undefined : feedLeases(engines.store);
  const validators = validatorThreads();
  const loader = makeLoader(engines.log, follower, dataDir, { turns, validate: validators.validate });
  const close = async (): Promise<void> => {
    await loader.close();
    validators.close();
    ending.abort();
    await follower.ended;
    await engines.close();
    setImmediate(() => port.close());
  };
  serveCalls(port, {
    open: loader.open.bind(loader),
    write: loader.write.bind(loader),
    finish: loader.finish.bind(loader),
    abort: loader.abort.bind(loader),
    remove: loader.remove.bind(loader),
    close,
  });
}

void main(workerData as LoaderThreadData);
