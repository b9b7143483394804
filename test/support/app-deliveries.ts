import { DELIVERY_PROJECTIONS } from '../../projections';
import { deliveryRunner } from '../../src/app/read-models';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type TestApp } from './app';
import { TestClock } from './clock';
import { DeliveryHistory } from './delivery-history';

const KEEP_MS = 30 * 24 * 60 * 60 * 1000;

/** The deliveries of a test's application: written by `history`, as by matcher and sender, and projected. */
export interface AppDeliveries {
  readonly history: DeliveryHistory;
  /** Waits until everything written is visible to reads. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Projects the deliveries of an application; `now` is the clock by which they expire. */
export async function projectDeliveries(
  { engines }: Pick<TestApp, 'engines'>,
  now: () => number,
): Promise<AppDeliveries> {
  const log = await engines.deliveries();
  // A test may make the store unavailable, which a projector waits out.
  const report = (error: unknown): void => {
    if (!(error instanceof EngineUnavailable)) throw error;
  };
  const runner = await deliveryRunner(
    engines,
    { clock: new TestClock(now, now), owner: 'deliveries', code: 'test', report },
    { keepMs: KEEP_MS },
  );
  await runner.start();
  return {
    history: new DeliveryHistory(log),
    settled: async () => {
      const { store } = engines;
      if (!(await waitForPosition(SYSTEM_CLOCK, store, DELIVERY_PROJECTIONS, await log.head(), 30_000)))
        throw new Error('the deliveries are not visible within 30 s');
    },
    stop: () => runner.stop(),
  };
}
