import { execute } from '../../src/kernel/decider';
import { type EventLog } from '../../src/kernel/event-log';
import { transactionDecider } from '../../src/domain/transactions/transaction';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { overrideLog } from '../support/temporary-log';
import { CLAIM_TOKENS, claimOf, claimWorld } from './claim-network';
import { CONVERSION_TOKENS, PATH, type Result, transactionWorld } from './transaction-network';
import { NOW } from './voucher-network';

/** The log, with the streams that are being read, at most and in all, and the bytes of their events. */
function watched(log: EventLog, categories: readonly string[]) {
  const seen = { now: 0, most: 0, bytes: 0 };
  const watching = overrideLog(log, {
    async *readStream(stream, options) {
      const isOfInterest = categories.some((category) => stream.startsWith(category));
      if (isOfInterest) seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      try {
        // Others have the opportunity to begin as well.
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
        for await (const batch of log.readStream(stream, options)) {
          if (isOfInterest) for (const { data } of batch) seen.bytes += Buffer.byteLength(data);
          yield batch;
        }
      } finally {
        if (isOfInterest) seen.now -= 1;
      }
    },
  });
  return { log: watching, seen };
}

const inject = (url: string, token: string, body: object) => ({
  method: 'POST' as const,
  url: `${url}?token=${token}`,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  payload: JSON.stringify(body),
});

describe('transitions that name many transactions (decisions T5)', () => {
  const world = transactionWorld();

  it('have at most 288 of them in memory, in all lists together', async () => {
    const { log, seen } = watched(world.app.engines.log, ['transaction-']);
    const app = await world.app.again({ eventLog: log });
    const unknown = Array.from({ length: 600 }, (_, at) => at.toString(16).padStart(32, '0'));
    const list = unknown.map((transactionId) => ({ transactionId, action: 'approve' }));
    const answers = await Promise.all(
      (['nord', 'casa', 'operator'] as const).map((one) =>
        app.inject(inject(`${PATH}/transitions/bulk`, CONVERSION_TOKENS[one], list)),
      ),
    );
    await app.close();
    for (const answer of answers) {
      const results = answer.json<readonly Result[]>();
      expect(results).toHaveLength(600);
      for (const { errors } of results) expect(errors).toMatchObject([{ code: 'CON_500' }]);
    }
    expect(seen.most).toBeLessThanOrEqual(288);
  });

  it('read a few events of each, however often it was amended, by either of its ids', async () => {
    const { log, seen } = watched(world.app.engines.log, ['transaction-']);
    const orders = Array.from({ length: 10 }, (_, at) => `LONG-${at}`);
    const reportInfo = `f1=lamp&f2=${'x'.repeat(10_000)}`;
    const ids: string[] = [];
    for (const order of orders) ids.push((await world.create(order, { reportInfo })).transactionId);
    for (const id of ids)
      for (let orderValue = 1; orderValue <= 30; orderValue += 1) {
        const at = new Date(NOW).toISOString();
        await execute(SYSTEM_CLOCK, log, transactionDecider, id, {
          do: 'amend',
          at,
          amendments: { orderValue },
        });
      }
    const app = await world.app.again({ eventLog: log });
    for (const [turn, named] of [
      ids.map((transactionId) => ({ transactionId })),
      orders.map((order) => ({ legacyTransactionId: `${order}_301_1` })),
    ].entries()) {
      seen.bytes = 0;
      const list = named.map((one) => ({
        ...one,
        action: 'amend',
        orderValue: 100 + turn,
      }));
      const answer = await app.inject(inject(`${PATH}/transitions/bulk`, CONVERSION_TOKENS.nord, list));
      expect(answer.json()).toEqual(
        orders.map(() => expect.objectContaining({ outcome: 'moved' }) as object),
      );
      // The first event, the last two, and for a legacy id the first one once more.
      expect(seen.bytes).toBeLessThan(orders.length * 4.5 * 10_500);
    }
    await app.close();
  });
});

describe('lists of claims and of updates (decisions C9)', () => {
  const world = claimWorld();

  it.each([
    ['of 1,000 items are executed two at a time, which read 256 claims each', 3, 1_000, 2 * 256],
    ['of few items are executed as many at a time as have 1,500', 100, 20, 1_500],
  ])('of one organisation %s', async (_, lists, items, most) => {
    const { log, seen } = watched(world.app.engines.log, ['claim-']);
    const app = await world.app.again({ eventLog: log });
    const updates = Array.from({ length: items }, (__, at) => ({
      claimId: 9000 + at,
      statusIdClaim: 3,
      versionNo: 0,
    }));
    const post = () => app.inject(inject('/1.0/claimUpdates', CLAIM_TOKENS.nord, { claimUpdates: updates }));
    const answers = await Promise.all(Array.from({ length: lists }, post));
    await app.close();
    for (const { statusCode, body } of answers)
      expect([statusCode, body.includes('UTS_402')]).toEqual([404, true]);
    expect(seen.most).toBeLessThanOrEqual(most);
    expect(seen.most).toBeGreaterThan(most / 2);
  });

  const TAKEN = Array.from({ length: 800 }, (__, at) => claimOf(`taken-${at}`));
  beforeAll(() => world.file(TAKEN));

  it.each([
    ['new claims', '/1.0/claims', {}, 409],
    ['checked claims', '/1.0/claims/check', {}, 409],
    ['refused claims', '/1.0/claims', { orderValue: 'a' }, 400],
  ])(
    'are executed two at a time of one caller if they are long: %s, whose keys are taken',
    async (_, url, changes, status) => {
      const { log, seen } = watched(world.app.engines.log, ['claimkey-', 'claim-']);
      const app = await world.app.again({ eventLog: log });
      const claims = TAKEN.map((claim) => ({ ...claim, ...changes }));
      const post = () => app.inject(inject(url, CLAIM_TOKENS.preisblick, { claims }));
      const answers = await Promise.all(Array.from({ length: 3 }, post));
      await app.close();
      for (const { statusCode, body } of answers)
        expect([statusCode, body.includes('UTS_397')]).toEqual([status, true]);
      expect(seen.most).toBeLessThanOrEqual(2 * 256);
    },
  );
});
