import { readdirSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { mutatedRequests } from './mutated-requests';
import { type Server } from './server';

/** Time limit (ms) for an answer, and for `/health/live` during or after an attack: far more than it takes. */
export const PATIENCE_MS = 30_000;

/** Time (ms) after which an unanswered client stops sending. */
const LEAVE_MS = 250;

/** Concurrent clients. */
const CLIENTS = 16;

/** Result of an attack. */
export interface Attack {
  /** Number of answers by status; 0 is a connection closed without an answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests with an unacceptable answer. */
  readonly wrong: readonly { readonly request: string; readonly answer: string }[];
}

/** Sends a request over its own connection and returns everything received until it closes. */
async function answerTo(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const late = setTimeout(() => {
      received += '[no end]';
      socket.destroy();
    }, PATIENCE_MS);
    // Sends no more, whatever length it declared; half-closing at once would look like a disconnect.
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

/** Unacceptable: an unexpected failure, a stack trace, an endless answer. */
function isWrong(answer: string): boolean {
  const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
  return (
    statuses.some((status) => status >= 500 && status !== 503) ||
    /\n\s+at \S+ \(|node_modules|FST_ERR|unknown error \(request|\[no end\]/.test(answer)
  );
}

/** Sends requests mutated with a seed. */
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

/** Number of open files and connections of the server, except those of read models, which SQLite closes later. */
export function openFiles({ pid }: Server): number {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => !/\.sqlite/.test(target(`/proc/${pid}/fd/${fd}`)))
    .length;
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    // Closed in the meantime.
    return '';
  }
}

/** Waits until the server has at most `most` files open. */
export async function untilClosed(server: Server, most: number): Promise<void> {
  const deadline = AbortSignal.timeout(2 * PATIENCE_MS);
  while (openFiles(server) > most) {
    if (deadline.aborted) throw new Error(`${openFiles(server)} files are open: expected at most ${most}`);
    await live(server);
  }
}

/** Duration of `/health/live` in milliseconds; raises an error unless it is 200 in time. */
export async function live(server: Server): Promise<number> {
  const asked = performance.now();
  const answer = await fetch(`${server.url}/health/live`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  await answer.arrayBuffer();
  if (answer.status !== 200) throw new Error(`/health/live is ${answer.status}`);
  return performance.now() - asked;
}

/** Number of unexpected failures, as counted by the server. */
export async function unexpectedFailures(server: Server): Promise<unknown> {
  const answer = await fetch(`${server.url}/health/ready`);
  return ((await answer.json()) as { readonly unexpectedFailures?: number }).unexpectedFailures;
}
