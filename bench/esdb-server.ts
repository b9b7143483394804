import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openLog } from '../src/engines/embedded/log/open-log';
import { crash } from '../src/runtime/failure-report';
import { CountedLog } from '../test/support/esdb-writing/counted-log';
import { serveWritable } from '../test/support/esdb-writing/serve-writable';

/** A log served as EventStoreDB by its own thread, which shares no classes with the clients. */
export interface EsdbServer {
  readonly url: string;
  /** The number of events that it has read so far, to send them or to skip them. */
  eventsRead(): Promise<number>;
  stop(): Promise<unknown>;
}

/** Serves the log in a file, which is created if it does not exist. */
export async function startEsdbServer(file: string): Promise<EsdbServer> {
  const worker = new Worker(__filename, { workerData: { esdb: file } });
  const answer = async (): Promise<unknown> => ((await once(worker, 'message')) as unknown[])[0];
  const url = String(await answer());
  return {
    url,
    eventsRead: async () => {
      const answered = answer();
      worker.postMessage('read');
      return Number(await answered);
    },
    stop: () => worker.terminate(),
  };
}

async function serve(file: string): Promise<void> {
  const { log } = await openLog(file, false);
  const counted = new CountedLog(log);
  const { url } = await serveWritable(counted, { host: '127.0.0.1', port: 0 });
  parentPort?.on('message', () => parentPort?.postMessage(counted.read));
  parentPort?.postMessage(url);
}

const asked: unknown = workerData;
if (!isMainThread && typeof asked === 'object' && asked !== null && 'esdb' in asked)
  serve(String(asked.esdb)).catch(crash);
