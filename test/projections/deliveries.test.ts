import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type Engines, openEngines } from '../../src/engines/open';
import { deliveryRunner } from '../../src/app/read-models';
import { EngineUnavailable, type ExpiringLog } from '../../src/kernel/event-log';
import { without } from '../../src/kernel/values';
import { EVERYTHING } from '../../src/kernel/query';
import {
  DELIVERY_STREAMS,
  MATCHED,
  type MatchedEvent,
  type Message,
} from '../../src/domain/deliveries/delivery-events';
import { acting, listActions } from '../../src/operations/actions';
import { parkedIn, skip } from '../../src/operations/parked';
import { DELIVERY_LOG, type Projection } from '../../src/projector/projection';
import { rebuild } from '../../src/projector/rebuild';
import { rebuildProjections } from '../../src/operations/rebuild';
import { Runner } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { TestClock } from '../support/clock';
import { DeliveryHistory } from '../support/delivery-history';
import { golden } from '../support/golden';
import { pauseCall } from '../support/pause-call';
import { cases } from '../support/size';

type RedeliveryDue = Extract<MatchedEvent, { readonly type: 'RedeliveryDue' }>;

const DAY_MS = 24 * 60 * 60 * 1000;
const KEEP_MS = 30 * DAY_MS;

let folder: string;
let engines: Engines;
let log: ExpiringLog;
let history: DeliveryHistory;
let now: number;
const runners: Runner[] = [];
const reports: unknown[] = [];
const report = (error: unknown): unknown => reports.push(error);
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-deliveries-'));
  engines = await openEngines({ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  log = await engines.deliveries();
  history = new DeliveryHistory(log);
  now = Date.now();
});
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.stop();
  await engines.close();
  await rm(folder, { recursive: true });
  expect(reports.splice(0)).toEqual([]);
});

type Due = Message & { readonly revision: number };

test('a message is due until it is delivered; what was sent is not in the read model (decisions N14)', async () => {
  const message = await history.due('a', { at: at(0), stateId: 3, sequence: 7 });
  await project();
  const { subscriptionId, organisationId, receiver, topic, subject, sequence, stateId } = message;
  const facts = { subscriptionId, organisationId, receiver, topic, subject, sequence, stateId, at: at(0) };
  const due = { ...facts, matched: 0, state: 'due', attempted: 0, attempts: [] };
  expect(await delivery(message)).toEqual(due);

  await history.outcome(message, { at: at(1), ms: 30, status: 204 });
  await settled();
  expect(await delivery(message)).toEqual({
    ...due,
    state: 'delivered',
    changed: at(1),
    attempted: 1,
    attempts: [{ attempt: 1, at: at(1), ms: 30, status: 204 }],
  });
});

test('failed attempts are listed, the last twenty, with the time of the next one (decisions N3)', async () => {
  const message = await history.due('a', { at: at(0) });
  for (let attempt = 1; attempt <= 25; attempt += 1)
    await history.outcome(message, {
      outcome: 'failed',
      attempt,
      error: 'status 500',
      answer: 'no',
      next: at(9),
    });
  await project();

  const stored = await delivery(message);
  expect(stored).toMatchObject({ state: 'retrying', next: at(9) });
  const attempts = stored?.['attempts'] as readonly { readonly attempt: number }[];
  expect(attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 20 }, (_, n) => n + 6));
  expect(attempts[0]).toEqual({
    attempt: 6,
    at: at(0),
    ms: 12,
    status: 500,
    error: 'status 500',
    answer: 'no',
  });

  await history.outcome(message, { outcome: 'dead', attempt: 26, error: 'status 500' });
  await settled();
  expect(await delivery(message)).toMatchObject({ state: 'dead' });
  expect(await delivery(message)).not.toHaveProperty('next');
});

test('redeliveries count as attempts, whatever their number', async () => {
  const message = await history.due('a', { at: at(0) });
  for (let attempt = 1; attempt <= 10; attempt += 1)
    await history.outcome(message, { outcome: attempt === 10 ? 'dead' : 'failed', attempt });
  await history.redeliver(message, at(5));
  await history.outcome(message, { outcome: 'failed', attempt: 1, isManual: true, at: at(6) });
  await project();
  expect(await delivery(message)).toMatchObject({ state: 'dead', attempted: 11 });
});

test('a message that is given up without an attempt has the reason (decisions N10)', async () => {
  const message = await history.due('a', { at: at(0) });
  await history.decided(message, { outcome: 'dead', error: 'the URL is longer than 8 KiB' });
  await project();
  expect(await delivery(message)).toMatchObject({
    ...{ state: 'dead', attempts: [], reason: 'the URL is longer than 8 KiB' },
  });
});

test('a redelivery changes the state only if it succeeds (decisions N14)', async () => {
  const message = await history.due('a', { at: at(0) });
  await history.outcome(message, { outcome: 'dead', attempt: 10, error: 'status 500' });
  await history.redeliver(message, at(5));
  await project();
  expect(await delivery(message)).toMatchObject({ state: 'dead', redelivery: at(5) });

  await history.outcome(message, { outcome: 'failed', attempt: 11, isManual: true });
  await settled();
  expect(await delivery(message)).toMatchObject({ state: 'dead', redelivered: at(5) });
  expect(await delivery(message)).not.toHaveProperty('redelivery');

  await history.redeliver(message, at(6));
  await history.outcome(message, { outcome: 'dead', attempt: 10, error: 'status 500' });
  await settled();
  expect(await delivery(message)).toMatchObject({ redelivery: at(6), redelivered: at(5) });
  await history.outcome(message, { attempt: 12, isManual: true });
  await settled();
  expect(await delivery(message)).toMatchObject({ state: 'delivered', redelivered: at(6) });
});

test('of two redeliveries, the second is asked for until it is attempted itself (decisions N17)', async () => {
  const message = await history.due('a', { at: at(0) });
  await history.outcome(message, { outcome: 'dead', attempt: 10 });
  const first = await history.redeliver(message, at(5));
  const second = await history.redeliver(message, at(6));
  await history.outcome(message, { outcome: 'failed', attempt: 11, isManual: true, redelivery: first });
  await project();
  expect(await delivery(message)).toMatchObject({ attempted: 2, redelivery: at(6) });
  expect(await delivery(message)).not.toHaveProperty('redelivered');
  await history.outcome(message, { outcome: 'failed', attempt: 12, isManual: true, redelivery: second });
  await settled();
  expect(await delivery(message)).toMatchObject({ attempted: 3, redelivered: at(6) });
  expect(await delivery(message)).not.toHaveProperty('redelivery');
});

test('a retry ends the redelivery that was asked for meanwhile, and counts in the schedule (decisions N17)', async () => {
  const message = await history.due('a', { at: at(0) });
  await history.outcome(message, { outcome: 'failed', attempt: 1, next: at(6) });
  const asked = await history.redeliver(message, at(5));
  await history.outcome(message, { outcome: 'failed', attempt: 2, next: at(7), redelivery: asked });
  await project();
  expect(await delivery(message)).toMatchObject({
    ...{ state: 'retrying', next: at(7), attempted: 2, redelivered: at(5) },
    attempts: [{ attempt: 1 }, { attempt: 2, isManual: true }],
  });
  expect(await delivery(message)).not.toHaveProperty('redelivery');
  expect((await delivery(message))?.['attempts']).not.toHaveProperty('[0].isManual');
});

test('a redelivery has the last cancellation before it, until it is attempted (decisions N17)', async () => {
  const message = await history.due('a', { at: at(0) });
  const { id, receiver, subscriptionId, organisationId, revision } = message;
  const again = { id, receiver, subscriptionId, organisationId, revision };
  const redelivery = async (data: object) => {
    const { type, data: stored } = golden<RedeliveryDue>('RedeliveryDue', '-cancelledBefore').event;
    await history.matched({ type, data: { ...stored, ...again, ...data } });
  };
  await redelivery({});
  await project();
  const cancelledBefore = '2026-03-01T11:00:00.000Z';
  expect(await delivery(message)).toMatchObject({ redelivery: '2026-03-01T12:00:00.000Z', cancelledBefore });
  await history.redeliver(message, at(6));
  await settled();
  expect(await delivery(message)).not.toHaveProperty('cancelledBefore');
  await redelivery({ cancelledBefore: at(7) });
  await history.outcome(message, { outcome: 'dead', attempt: 10 });
  await settled();
  expect(await delivery(message)).toMatchObject({ cancelledBefore: at(7) });
  await history.outcome(message, { outcome: 'failed', attempt: 11, isManual: true });
  await settled();
  expect(await delivery(message)).not.toHaveProperty('cancelledBefore');
});

test('the read models of the domain and of deliveries are projected side by side from their own logs', async () => {
  const domain = new Runner(engines.log, engines.store, PROJECTIONS, {
    clock: SYSTEM_CLOCK,
    owner: 'domain',
    code: 'test',
    report,
  });
  runners.push(domain);
  await Promise.all([domain.start(), project()]);
  const message = await due('a');
  await settled();

  expect(await delivery(message)).toMatchObject({ state: 'due' });
  const rebuilt = await rebuildProjections(engines, 'all');
  expect(rebuilt).toHaveLength(PROJECTIONS.length + DELIVERY_PROJECTIONS.length);
});

test('what is older than it is kept leaves log and read models; a rebuild finds no difference', async () => {
  const old = await history.due('old', { at: new Date(now - 31 * DAY_MS).toISOString() });
  await history.outcome(old, { at: new Date(now - 30.9 * DAY_MS).toISOString() });
  const kept = await history.due('kept', { at: new Date(now - 29 * DAY_MS).toISOString() });
  await history.outcome(kept, { outcome: 'failed', at: new Date(now - 28 * DAY_MS).toISOString() });
  const [at, made] = [31, 28].map((days) => new Date(now - days * DAY_MS).toISOString());
  const backfilled = await history.due('backfilled', { at: at!, made: made! });
  await history.outcome(backfilled, { at: made! });
  await project();

  while ((await delivery(old)) !== undefined) await new Promise(setImmediate);
  expect(await delivery(kept)).toMatchObject({ state: 'retrying' });
  expect(await delivery(backfilled)).toMatchObject({ state: 'delivered', at, made });
  expect(Object.keys(await documents('receivers'))).toHaveLength(1);

  // All were appended just now, so the log still has them, and a rebuild projects them.
  const rebuilt = await rebuildProjections(engines, 'deliveries', { keepMs: KEEP_MS });
  expect(rebuilt[0]).toMatchObject({ documents: 3, comparison: { differing: 0 } });
});

test('random histories: the live read models are those of a rebuild, whatever has expired in between', async () => {
  const receivers = ['0123456789abcdef', 'fedcba9876543210'];
  const step = fc.record({
    does: fc.constantFrom('due', 'failed', 'delivered', 'dead', 'redeliver', 'decided'),
    which: fc.nat(9),
    hours: fc.integer({ min: 0, max: 50 }),
  });
  const steps = fc.array(step, { minLength: 3, maxLength: 12 });
  let clock = now;
  let expired = new Date(0);
  const options = {
    code: 'test',
    source: DELIVERY_LOG,
    clock: new TestClock(
      () => clock,
      () => clock,
    ),
  };
  const expireLog = (): Promise<void> => log.expire(expired, DELIVERY_STREAMS);
  const expiry = { keepMs: KEEP_MS, expireLog };
  const runner = new Runner(log, engines.store, DELIVERY_PROJECTIONS, {
    ...options,
    owner: 'live',
    report,
    expiry,
  });
  runners.push(runner);
  await runner.start();
  let rounds = 0;
  await fc.assert(
    fc.asyncProperty(steps, steps, async (before, after) => {
      const messages: Due[] = [];
      const play = async (part: typeof before): Promise<void> => {
        for (const { does, which, hours } of part) {
          const time = new Date(clock - hours * 60 * 60 * 1000).toISOString();
          const message = messages[which % Math.max(1, messages.length)];
          const id = `m${rounds}-${messages.length}`;
          const made = which % 3 === 0 ? { made: new Date(clock).toISOString() } : {};
          if (does === 'due' || message === undefined)
            messages.push(await history.due(id, { at: time, receiver: receivers[which % 2]!, ...made }));
          else if (does === 'redeliver') await history.redeliver(message, time);
          else if (does === 'decided') await history.decided(message, { outcome: 'cancelled' });
          else await history.outcome(message, { outcome: does, at: time, attempt: which + 1 });
        }
      };
      await play(before);
      // What was appended until now is older than it is kept, and the log forgets it before the read models do.
      while (Date.now() <= expired.getTime()) await new Promise(setImmediate);
      expired = new Date();
      while (Date.now() <= expired.getTime()) await new Promise(setImmediate);
      clock += KEEP_MS + 60 * DAY_MS;
      await play(after);
      await expireLog();
      await settled();
      const all = { ...options, owner: 'rebuild' };
      const kept = await rebuild(log, engines.store, DELIVERY_PROJECTIONS, { ...all, keepMs: KEEP_MS });
      expect(kept.map(({ comparison }) => comparison?.differing)).toEqual([0, 0, 0]);
      rounds += 1;
    }),
    { numRuns: cases(30, 4) },
  );
});

test('a document that could not be folded is folded from both streams when it is retried (decisions X47)', async () => {
  const message = await due('a');
  await history.outcome(message, { outcome: 'failed', at: at(1) });
  await history.outcome(message, { at: at(2), attempt: 2 });
  const failing = DELIVERY_PROJECTIONS.map((projection) => ({
    ...projection,
    fold: (...[before, event]: Parameters<Projection['fold']>) => {
      if (event.type === 'MessageAttempted') throw new Error('not yet');
      return projection.fold(before, event);
    },
  }));
  const parked = new Runner(log, engines.store, failing, {
    clock: SYSTEM_CLOCK,
    ...{ owner: 'failing', code: 'old', source: DELIVERY_LOG, report: () => undefined },
  });
  await parked.start();
  await settled();
  expect(await delivery(message)).toMatchObject({ state: 'due' });
  expect((await parkedIn(engines, 'deliveries')).map(({ id }) => id)).toEqual([message.id]);
  await parked.stop();

  await project();
  expect(await delivery(message)).toMatchObject({ state: 'delivered' });
  expect(await parkedIn(engines, 'all')).toEqual([]);
});

test.each([
  ['a transaction', 'd0', 'transactions'],
  ['a claim', '1234', 'claims'],
])('the oldest messages, which have no topic, are about %s', async (_, subject, topic) => {
  const { event } = golden<MatchedEvent & { type: 'MessageDue' }>('MessageDue');
  const old = { ...without(event.data, 'topic'), subject, at: at(0) };
  await history.append(MATCHED, { type: 'MessageDue', data: old });
  await project();
  expect(await parkedIn(engines, 'deliveries')).toEqual([]);
  expect((await documents('deliveries'))[old.id]).toMatchObject({ subject, topic, state: 'due' });
});

test('a read model of deliveries skips nothing unless it is recorded who has done it (decisions X117)', async () => {
  await project();
  await history.append(MATCHED, { type: 'MessageDue', data: { id: 'msg_broken' } as Message });
  const broken = async () => (await parkedIn(engines, 'deliveries'))[0];
  while ((await broken()) === undefined) await SYSTEM_CLOCK.pause(1);
  const id = (await broken())?.id ?? '';
  reports.splice(0);
  const before = await log.head();
  const skipping = async () => {
    const reason = 'a test';
    const action = { name: 'parked skip', by: { user: 'nobody' }, reason, asked: {} } as const;
    const decision = { reason, by: 'user nobody', at: at(0) };
    await acting(SYSTEM_CLOCK, engines, action, (watched) =>
      skip(watched, { name: 'deliveries', id }, decision),
    );
  };
  const refusing = pauseCall(engines.log, 'append', 1);
  const refused = skipping();
  await refusing.reached;
  expect(await log.head()).toBe(before);
  refusing.release(new EngineUnavailable('the disk is full'));
  await expect(refused).rejects.toThrow('the disk is full');
  expect(await log.head()).toBe(before);
  refusing.release();
  await skipping();
  expect(await log.head()).not.toBe(before);
  expect(await listActions(engines.log, { actions: [], most: 9 })).toMatchObject([
    { action: 'parked skip', reason: 'a test', state: 'done' },
  ]);
});

function due(name: string): Promise<Due> {
  return history.due(name, { at: at(0) });
}

async function project(): Promise<void> {
  const options = {
    owner: 'deliveries',
    code: 'test',
    report,
    clock: new TestClock(
      () => now,
      () => now,
    ),
  };
  const runner = await deliveryRunner(engines, options, { keepMs: KEEP_MS });
  runners.push(runner);
  await runner.start();
  await settled();
}

async function settled(): Promise<void> {
  expect(
    await waitForPosition(SYSTEM_CLOCK, engines.store, DELIVERY_PROJECTIONS, await log.head(), 30_000),
  ).toBe(true);
}

async function delivery({ id }: Due): Promise<Record<string, unknown> | undefined> {
  return (await documents('deliveries'))[id] as Record<string, unknown> | undefined;
}

async function documents(collection: string): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {};
  for await (const page of engines.store.scan({ collection }, EVERYTHING))
    for (const { id, body } of page) found[id] = JSON.parse(body);
  return found;
}

/** Hours after the start of the day before yesterday. */
function at(hours: number): string {
  return new Date((Math.floor(now / DAY_MS) - 2) * DAY_MS + hours * 60 * 60 * 1000).toISOString();
}
