import { join } from 'node:path';
import { CLAIM } from '../src/domain/claims/claim';
import { inParallel } from '../src/runtime/concurrency';
import { appendStreams, streamsIn } from './bare/log';
import { type Bench, compareRates, type Figure, quantile, timed } from './harness';
import { CLAIM_TOKENS } from './network';
import { Server } from './server';

/** Concurrent requests. */
const IN_FLIGHT = 64;

/** Claims per round: enough single posts for a measurement. */
const share = (count: number): number => Math.max(IN_FLIGHT, Math.ceil(count / 10));

const UNIT = 'claims/s';

/**
 * Posts new claims, 64 at a time.
 *
 * Ours: over HTTP, from the first post to the last answer; each claim is durable and listed when it is answered. It
 * takes two appends, one after the other: the reservation of its key, and its events. Bare: the same events of claims
 * and reservations into as many streams, each append durable before the next one. Bare, grouped: the same, with 64
 * appends in one transaction: what SQLite alone can do, without reading, checking, screening, projecting and answering.
 */
export async function claimsCreate(bench: Bench): Promise<readonly Figure[]> {
  const count = share(bench.count);
  const server = await Server.start(join(bench.folder, 'claims-create'), 'api,projector');
  const grouped: number[] = [];
  const fileOf = (name: string, round: number) => join(bench.folder, `claims-${name}-${round}.sqlite`);
  try {
    const figure = await compareRates(
      { figure: 'claims-create', goal: 0.5, count },
      (round) => timed(() => createClaims(server, round, count)),
      async (round) => {
        const streams = [CLAIM, 'claimkey'].flatMap((category) => {
          const found = [...streamsIn(server.logFile, category)].slice(-count);
          if (found.length !== count) throw new Error(`${found.length} of ${count} were filed`);
          return found;
        });
        grouped.push(appendStreams(fileOf('grouped', round), streams, IN_FLIGHT));
        return appendStreams(fileOf('single', round), streams, 1);
      },
    );
    const limit = (count / quantile(grouped, 0.5)) * 1000;
    const { measured } = figure;
    const ratio = measured / limit;
    return [
      { ...figure, unit: UNIT },
      { figure: 'claims-create grouped', measured, limit, ratio, goal: null, unit: UNIT },
    ];
  } finally {
    await server.stop();
  }
}

export async function createClaims(server: Server, round: number, count: number): Promise<void> {
  await inParallel(Array.from({ length: count }).keys(), IN_FLIGHT, async (number) => {
    const claim = postedClaim(`C${round}-${number}`, number);
    await server.postJson(`/1.0/claims?token=${CLAIM_TOKENS.publisher}`, { claims: [claim] });
  });
}

export function postedClaim(orderNumber: string, number: number) {
  return {
    affiliateSiteId: '21',
    programId: '11',
    timeStampEvent: '2026-01-05',
    eventId: '111',
    orderNumber,
    orderValue: '129.90',
    epi: 'spring',
    trackingUrl: `https://clk.example/click?p=11&a=21&epi=${number}`,
    productName: 'Wall lamp',
  };
}
