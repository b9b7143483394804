import { receiverHealth, restingUntil, type StoredHealth } from '../../projections/receivers';
import { type Engines } from '../../src/engines/open';
import { positionOf } from '../../src/kernel/event';
import { EVERYTHING } from '../../src/kernel/query';
import { type Message, type OutcomeKind } from '../../src/domain/deliveries/delivery-events';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { type DeliveryHistory } from '../support/delivery-history';
import { openTestedEngines, type TestedFolder } from '../support/engines';

const [SECOND, DAY] = [1000, 86_400_000] as const;
const RECEIVERS = ['0123456789abcdef', 'fedcba9876543210'] as const;
const MIDNIGHT = Date.parse('2026-03-02T00:00:00.000Z');

let folder: TestedFolder;
let engines: Engines;
let deliveries: AppDeliveries;
let history: DeliveryHistory;
let now: number;
beforeEach(async () => {
  now = MIDNIGHT;
  ({ folder, engines } = await openTestedEngines());
  deliveries = await projectDeliveries({ engines }, () => now);
  ({ history } = deliveries);
});
afterEach(async () => {
  await deliveries.stop();
  await engines.close();
  await folder.remove();
});

/** Seconds after midnight. */
function at(seconds: number): string {
  return new Date(MIDNIGHT + seconds * SECOND).toISOString();
}

describe('a receiver rests (decisions N7)', () => {
  const START = -10;
  /** As of a time: which receivers rest, and until when. */
  const restingAt = async (seconds: number): Promise<readonly (readonly [string, string])[]> => {
    await deliveries.settled();
    const found = await restingUntil(engines.store, RECEIVERS, MIDNIGHT + seconds * SECOND);
    return [...found].map(([receiver, until]) => [receiver, new Date(until).toISOString()] as const);
  };
  const due = () => history.due('a', { at: at(START) });
  const timeOut = (message: Message & { readonly revision: number }, seconds: number): Promise<void> =>
    history.outcome(message, { outcome: 'failed', at: at(seconds), ms: 0, isTimeout: true });

  test('until a time that is known, over midnight too, and no longer', async () => {
    const message = await due();
    for (let seconds = 0; seconds < 5; seconds += 1) await timeOut(message, START + seconds);
    expect(await restingAt(START)).toEqual([[RECEIVERS[0], at(24)]]);
    expect(await restingAt(24)).toEqual([]);

    await timeOut(message, 24);
    expect(await restingAt(24)).toEqual([[RECEIVERS[0], at(84)]]);
    await history.outcome(message, { at: at(84), ms: 0 });
    expect(await restingAt(24)).toEqual([]);
  });

  test('whatever is decided without an attempt, but not once it is gone', async () => {
    const message = await due();
    for (let seconds = 0; seconds < 5; seconds += 1) await timeOut(message, START + seconds);
    await history.decided(message, { outcome: 'dead', error: 'the URL is longer than 8 KiB' });
    expect(await restingAt(START)).toHaveLength(1);
    await history.decided(message, { outcome: 'cancelled', error: 'its backfill was cancelled' });
    expect(await restingAt(START)).toHaveLength(1);
    await history.decided(message, { outcome: 'cancelled' });
    expect(await restingAt(START)).toEqual([]);
  });

  test('after failures of the last two days only, so that a rebuild gives the same', async () => {
    const message = await due();
    for (const seconds of [0, 1, 2, 3, 2 * 86_400 + 4]) await timeOut(message, START + seconds);
    now = MIDNIGHT + 3 * DAY;
    expect(await restingAt(START)).toEqual([]);
  });
});

test('receivers have counts by day, and since when they fail (decisions N8)', async () => {
  const hour = (hours: number): string => at(hours * 3600);
  const due = (name: string) => history.due(name, { at: hour(0) });
  const days = async (): Promise<readonly { readonly day: string }[]> => {
    await deliveries.settled();
    const found: { readonly day: string }[] = [];
    for await (const page of engines.store.scan({ collection: 'receivers' }, EVERYTHING))
      found.push(...page.map(({ body }) => JSON.parse(body) as { readonly day: string }));
    return found;
  };

  const messages = [await due('a'), await due('b'), await due('c')] as const;
  await history.outcome(messages[0], { at: hour(1) });
  await history.outcome(messages[1], { at: hour(2), outcome: 'failed', error: 'status 500' });
  await history.outcome(messages[2], { at: hour(3), outcome: 'failed', error: 'timeout' });
  await history.outcome(messages[1], { at: hour(4), outcome: 'dead', attempt: 2, error: 'timeout' });
  expect(await days()).toMatchObject([
    {
      ...{ day: '2026-03-02', attempts: 4, delivered: 1, failed: 3, dead: 1, failingSince: hour(2) },
      lastSuccess: { at: hour(1), status: 200 },
      lastFailure: { at: hour(4), status: 500, error: 'timeout' },
    },
  ]);

  await history.outcome(messages[2], { at: hour(25), attempt: 2 });
  const [first, second] = await days();
  expect([first?.day, second?.day]).toEqual(['2026-03-02', '2026-03-03']);
  expect(second).not.toHaveProperty('failingSince');
});

test('what is known of a receiver is the same, wherever batches end (decisions N7)', () => {
  const message = { id: 'm', receiver: RECEIVERS[0], subscriptionId: 's', organisationId: 1, revision: 0 };
  const after = (before: StoredHealth | undefined, outcome: OutcomeKind, seconds: number) =>
    receiverHealth.fold(before, {
      type: 'MessageAttempted',
      data: { ...message, outcome, at: at(seconds), ...(outcome === 'cancelled' ? {} : { attempt: 1 }) },
      ...{ stream: 'partition-00', revision: seconds, position: positionOf(seconds) },
    });
  const cancelled = after(after(undefined, 'delivered', 1), 'cancelled', 2);
  const stored = JSON.parse(JSON.stringify(cancelled)) as StoredHealth;
  expect(after(stored, 'cancelled', 3)).toEqual(after(cancelled, 'cancelled', 3));
});
