import { readdirSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { mutatedRequests } from './mutated-requests';
import { type Server } from './server';

/** Milliseconds for an answer, and for `/health/live` beside or after an attack: far more than it takes. */
export const PATIENCE_MS = 30_000;

/** Milliseconds after which a client that was not answered sends nothing more. */
const LEAVE_MS = 250;

/** Clients that attack at the same time. */
const CLIENTS = 16;

/** What an attack has come to. */
export interface Attack {
  /** How often each status was answered; 0 is a connection that was closed without an answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests that were answered as none may be, and how. */
  readonly wrong: readonly { readonly request: string; readonly answer: string }[];
}

/** Sends a request over a connection of its own and gives all that comes back until that ends. */
async function answerTo(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const late = setTimeout(() => {
      received += '[no end]';
      socket.destroy();
    }, PATIENCE_MS);
    // Whatever length is declared, nothing more comes; to say so at once would be to go away.
    const leave = setTimeout(() => socket.end(), LEAVE_MS);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      received += data.toString('latin1');
      socket.end();
    });
    socket.on('close', () => {
      clearTimeout(leave);
      clearTimeout(late);
      resolve(received);
    });
    socket.write(Buffer.from(request, 'latin1'));
  });
}

/** A bug, a stack, an answer that does not end. */
function isWrong(answer: string): boolean {
  const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
  return (
    statuses.some((status) => status >= 500 && status !== 503) ||
    /\n\s+at \S+ \(|node_modules|FST_ERR|unknown error \(request|\[no end\]/.test(answer)
  );
}

/** Sends requests that were mutated by a seed. */
export async function attackWithMutations(server: Server, count: number, seed: number): Promise<Attack> {
  const port = Number(new URL(server.url).port);
  const requests = mutatedRequests(count, seed).values();
  const statuses: Record<string, number> = {};
  const wrong: { request: string; answer: string }[] = [];
  const client = async (): Promise<void> => {
    for (const request of requests) {
      const answer = await answerTo(port, request);
      const status = /^HTTP\/1\.1 (?!1\d\d)(\d{3})/m.exec(answer)?.[1] ?? '0';
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (isWrong(answer)) wrong.push({ request, answer: answer.slice(0, 2000) });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { statuses, wrong };
}

/** How many files and connections the server has open, but those of read models: SQLite closes them when it can. */
export function openFiles({ pid }: Server): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => !/\.sqlite/.test(target(`/proc/${pid}/fd/${fd}`)))
    .length;
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    // Closed meanwhile.
    return '';
  }
}

/** Resolves when the server has no more than `most` files open: what was left is closed after a while. */
export async function untilClosed(server: Server, most: number): Promise<void> {
  const deadline = AbortSignal.timeout(2 * PATIENCE_MS);
  while (openFiles(server) > most) {
    if (deadline.aborted)
      throw new Error(`${openFiles(server)} files are open, at most ${most} were expected`);
    await live(server);
  }
}

/** How long `/health/live` takes, in milliseconds; raises an error if it is not 200 in time. */
export async function live(server: Server): Promise<number> {
  const asked = performance.now();
  const answer = await fetch(`${server.url}/health/live`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`/health/live is ${answer.status}`);
  return performance.now() - asked;
}

/** How many requests have met a bug, as the server counts them. */
export async function unexpectedFailures(server: Server): Promise<unknown> {
  const answer = await fetch(`${server.url}/health/ready`);
  return ((await answer.json()) as { readonly unexpectedFailures?: number }).unexpectedFailures;
}
