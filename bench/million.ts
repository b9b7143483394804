import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ReportedImport } from '../src/products/import-report';
import { type Bench, type Figure, quantile, timed } from './harness';
import { ADVERTISER_TOKEN, PUBLISHER_TOKEN } from './network';
import { bodyOf } from './products';
import { Server } from './server';

/** With 100,000 products as the count: a million. */
const TIMES = 10;
/** The feed that is replaced, and the one that is searched meanwhile. */
const [LARGE, SEARCHED] = [1, 2] as const;
/** Searches that are made while nothing else happens. */
const IDLE = 200;

/** Least products a second to the durable answer, most MB of the process, most times as slow as idle (p99). */
const GOALS = { rate: 10_000, memory: 1000, slowdown: 3 } as const;

/**
 * A feed of ten times the count replaced as a whole, twice by the same products: how long until they are durable, and
 * until all are found; how much memory the process took; how searches in another feed of as many products as the count
 * fared meanwhile. The bodies are made while they are sent.
 */
export async function million(bench: Bench): Promise<readonly Figure[]> {
  const count = bench.count * TIMES;
  const server = await Server.start(join(bench.folder, 'million'), 'api,projector');
  const replaced = async (): Promise<{ readonly ms: number; readonly position: string }> => {
    let position = '';
    const body = Readable.from(bodyOf('json', count));
    const ms = await timed(async () => (position = await server.post(LARGE, 'json', body, ';mode=replace')));
    return { ms, position };
  };
  try {
    await server.shows(await server.post(SEARCHED, 'json', await bench.body('json')));
    const idle: number[] = [];
    while (idle.length < IDLE) idle.push(await searchTime(server));

    const meanwhile: number[] = [];
    let ends = false;
    const searchOn = async (): Promise<void> => {
      while (!ends) meanwhile.push(await searchTime(server));
    };
    const [{ ms, position }] = await Promise.all([replaced().finally(() => (ends = true)), searchOn()]);
    const untilFound = ms + (await timed(() => server.shows(position)));
    await requireLast(server, { new: count });

    const again = await replaced();
    await server.shows(again.position);
    await requireLast(server, { unchanged: count });
    return [
      atLeast('million', (count / ms) * 1000, GOALS.rate),
      { ...atLeast('million until found', (count / untilFound) * 1000, GOALS.rate), goal: null },
      atLeast('million unchanged', (count / again.ms) * 1000, GOALS.rate),
      atMost('million memory', server.peakMemory(), GOALS.memory, 'MB'),
      atMost('million search p99', quantile(meanwhile, 0.99), GOALS.slowdown * quantile(idle, 0.99), 'ms'),
    ];
  } finally {
    await server.stop();
  }
}

async function searchTime(server: Server): Promise<number> {
  const path = `/1.0/products.json;fid=${SEARCHED};brand=Gruflo;pageSize=20?token=${PUBLISHER_TOKEN}`;
  return await timed(() => server.get(path));
}

/** Fails unless the last load of the large feed did these things and no others. */
async function requireLast(server: Server, expected: Partial<ReportedImport>): Promise<void> {
  const answer = await server.get(`/1.0/products/imports.json;fid=${LARGE}?token=${ADVERTISER_TOKEN}`);
  const [last] = (JSON.parse(answer) as { imports: readonly ReportedImport[] }).imports;
  const wanted = { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, refused: 0, ...expected };
  for (const [name, value] of Object.entries(wanted)) {
    const found = last?.[name as keyof ReportedImport];
    if (found !== value)
      throw new Error(`the load has ${name} ${JSON.stringify(found)}, not ${JSON.stringify(value)}`);
  }
}

function atLeast(figure: string, measured: number, limit: number): Figure {
  return { figure, measured, limit, ratio: measured / limit, goal: 1, unit: 'products/s' };
}

function atMost(figure: string, measured: number, limit: number, unit: string): Figure {
  return { figure, measured, limit, ratio: limit / measured, goal: 1, unit };
}
