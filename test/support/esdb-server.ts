import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { built, DIST } from './built';
import { logFolder } from './log-folder';

/** An embedded log served as EventStoreDB by its own process. */
export interface EsdbServer {
  readonly port: number;
  readonly url: string;
  /** The file of the log. */
  readonly file: string;
  /** Kills the process. */
  kill: () => Promise<void>;
  /** Serves the same log on the same port again. */
  start: () => Promise<void>;
  /** Ends the process and removes the log. */
  stop: () => Promise<void>;
}

/** The endpoint as shipped, with writes, or with the awkward behaviour of a real EventStoreDB. */
export type EsdbMode = 'read-only' | 'writable' | 'awkward';

/**
 * The client and the endpoint share global state in their message classes, and clients share the state of appends, so
 * each has its own process.
 */
export async function startEsdbServer(mode: EsdbMode = 'writable'): Promise<EsdbServer> {
  built('test/support/esdb-awkward/serve-awkward');
  const { file, remove } = await logFolder();
  let served = await serve(file, 0, mode);
  const { port } = served;
  return {
    port,
    url: `esdb://127.0.0.1:${port}?tls=false`,
    file,
    kill: () => ended(served.child, () => served.child.kill('SIGKILL')),
    start: async () => {
      served = await serve(file, port, mode);
    },
    stop: async () => {
      await ended(served.child, () => served.child.stdin?.end());
      await remove();
    },
  };
}

interface Served {
  readonly child: ChildProcess;
  readonly port: number;
}

async function serve(file: string, port: number, mode: EsdbMode): Promise<Served> {
  const script = join(__dirname, 'serve-esdb.cjs');
  const child = spawn(process.execPath, [script, DIST, file, String(port), mode], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [said] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown];
  if (!Buffer.isBuffer(said)) throw new Error('the endpoint has not started');
  return { child, port: Number(said.toString()) };
}

async function ended(child: ChildProcess, end: () => unknown): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  end();
  await exit;
}
