import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { inParallel } from '../src/runtime/concurrency';
import { BareLog, type EventTexts } from './bare/log';
import { type Bench, compareRates, type Figure, timed } from './harness';
import { VOUCHER_TOKENS } from './network';
import { Server } from './server';
import { postedVoucher } from './voucher-posts';

/** Concurrent requests. */
const IN_FLIGHT = 64;

/** Vouchers per round: enough single appends for a measurement. */
const share = (count: number): number => Math.max(IN_FLIGHT, Math.ceil(count / 10));

/**
 * Posts new vouchers with unique `sourceId`, 64 at a time.
 *
 * Ours: over HTTP, from the first post to the last answer; each voucher is durable and listed when it is answered.
 * Bare: the same number of appends of one event of the same size, each durable before the next one: SQLite has one
 * writer. Then the same posts with an `Idempotency-Key` beside posts without one.
 */
export async function voucherCreate(bench: Bench): Promise<readonly Figure[]> {
  const count = share(bench.count);
  const server = await Server.start(join(bench.folder, 'voucher-create'), 'api,projector');
  const log = new BareLog(join(bench.folder, 'voucher-create.sqlite'));
  try {
    const figure = await compareRates(
      { figure: 'voucher-create', goal: 0.5, count },
      (round) => timed(() => createVouchers(server, round, count)),
      (round) => timed(() => appendEach(log, round, count)),
    );
    const keyed = await compareRates(
      { figure: 'voucher-create with keys beside without', goal: 0.5, count },
      (round) => timed(() => createVouchers(server, 10 + round, count, true)),
      (round) => timed(() => createVouchers(server, 20 + round, count)),
    );
    return [figure, { ...keyed, goal: null }].map((one) => ({ ...one, unit: 'vouchers/s' }));
  } finally {
    await server.stop();
    log.close();
  }
}

export async function createVouchers(
  server: Server,
  round: number,
  count: number,
  isKeyed = false,
): Promise<void> {
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  await inParallel(numbers, IN_FLIGHT, async (number) => {
    const voucher = postedVoucher(number, `round ${round}, ${number}`);
    await server.postJson(`/1.0/vouchers?token=${VOUCHER_TOKENS.advertiser}`, voucher, {
      ...(isKeyed ? { 'idempotency-key': randomUUID() } : {}),
    });
  });
}

function appendEach(log: BareLog, round: number, count: number): void {
  for (let number = 1; number <= count; number += 1) {
    const data = JSON.stringify(postedVoucher(number, `round ${round}, ${number}`));
    const event: EventTexts = [randomUUID(), 'VoucherPublished', data, '{}'];
    log.append(`voucher-${round}-${number}`, [event]);
  }
}
