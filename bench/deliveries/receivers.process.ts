import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { now as sharedNow } from './clock';

/** What the receivers have got since they were last asked to forget it. Times are in epoch ms. */
export interface Arrivals {
  /** When the first request came, whether it is answered or not; 0: none has come. */
  readonly begun: number;
  /** Of requests that are answered: how many, the first and the last one. */
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** When each URL was first requested, by its query, if they were asked to keep the times: of the shared clock. */
  readonly times: Readonly<Record<string, number>>;
}

/** What they are asked; each is answered with a message. */
export type Request =
  | { readonly ask: 'arrivals' }
  /** From now on, requests to the first `hung` receivers are not answered, and of the others so many. */
  | { readonly ask: 'reset'; readonly hung: number; readonly most: number; readonly keepTimes: boolean };

let arrivals = { begun: 0, count: 0, first: 0, last: 0 };
let times: Record<string, number> = {};
let hung = 0;
let most = Number.MAX_SAFE_INTEGER;
let keepsTimes = false;

/** A process with many receivers: one per loopback address, so that each is a host of its own. */
const server = createServer((request, response) => {
  const [path = '', query = ''] = request.url?.split('?') ?? [];
  const receiver = Number(path.slice(2));
  request.resume();
  request.once('end', () => {
    const now = Date.now();
    arrivals.begun ||= now;
    if (receiver < hung || arrivals.count >= most) return;
    arrivals = { ...arrivals, count: arrivals.count + 1, first: arrivals.first || now, last: now };
    if (keepsTimes) times[query] ??= sharedNow();
    response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '0.0.0.0', () => process.send?.((server.address() as AddressInfo).port));

process.on('message', (request: Request) => {
  if (request.ask === 'reset') {
    arrivals = { begun: 0, count: 0, first: 0, last: 0 };
    times = {};
    hung = request.hung;
    most = request.most;
    keepsTimes = request.keepTimes;
  }
  process.send?.({ ...arrivals, times });
});
process.once('disconnect', () => process.exit());
