import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { RequestJournal } from '../../src/http/idempotency';
import { SystemClock, type Timer } from '../../src/runtime/clock';
import { eventsOf, overrideLog, withLog } from '../support/temporary-log';

const KEY = new Uint8Array(32).fill(7);
const MINUTE = 60_000;
const IDENTITY = { request: '0000000a0000000000000000000000', content: 'c' };
const ANSWER = { status: 200, headers: {}, body: '[1]' };

/** A clock of one process: intervals fire when the test says so. */
class StepClock extends SystemClock {
  private readonly intervals = new Set<() => void>();

  constructor(private readonly time: { now: number }) {
    super();
  }

  override wall(): number {
    return this.time.now;
  }

  override interval(_ms: number, callback: () => void): Timer {
    this.intervals.add(callback);
    const timer: Timer = { cancel: () => void this.intervals.delete(callback), unref: () => timer };
    return timer;
  }

  fire(): void {
    for (const callback of this.intervals) callback();
  }
}

/** Two processes that record requests in one log. */
async function withTwo(
  use: (parts: {
    readonly mine: RequestJournal;
    readonly other: RequestJournal;
    readonly clock: StepClock;
    readonly time: { now: number };
    readonly log: EventLog;
    /** Appends of the first one wait for it. */
    readonly held: { until: Promise<unknown>; fails?: boolean };
  }) => Promise<void>,
): Promise<void> {
  await withLog(async (log) => {
    const time = { now: Date.now() };
    const clock = new StepClock(time);
    const held: { until: Promise<unknown>; fails?: boolean } = { until: Promise.resolve() };
    const holding = overrideLog(log, {
      append: async (...args) => {
        await held.until;
        if (held.fails === true) throw new EngineUnavailable('out of reach');
        return log.append(...args);
      },
    });
    const mine = new RequestJournal(clock, () => Promise.resolve(holding), KEY);
    const other = new RequestJournal(new StepClock(time), () => Promise.resolve(log), KEY);
    await use({ mine, other, clock, time, log, held });
  });
}

const appended = async (log: EventLog) => (await eventsOf(log)).map(({ type }) => type);

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise(setImmediate);
}

describe('the journal of requests (decisions A22)', () => {
  it('no other process executes a request that takes minutes', async () => {
    await withTwo(async ({ mine, other, clock, time, log }) => {
      await mine.begin(IDENTITY);
      for (let minute = 1; minute <= 10; minute += 1) {
        clock.fire();
        await until(async () => (await appended(log)).length === minute + 1);
        await expect(other.begin(IDENTITY)).rejects.toMatchObject({ status: 409 });
        time.now += MINUTE / 4;
      }
      await mine.end(IDENTITY, ANSWER);
      clock.fire();
      expect(await other.begin(IDENTITY)).toEqual(ANSWER);
      expect((await appended(log)).at(-1)).toBe('RequestAnswered');
    });
  });

  it('a request is executed again when its process has said nothing for 20 seconds', async () => {
    await withTwo(async ({ mine, other, time }) => {
      expect(await mine.begin(IDENTITY)).toEqual({ mayHaveRun: false });
      time.now += 19_999;
      await expect(other.begin(IDENTITY)).rejects.toMatchObject({ status: 409 });
      time.now += 1;
      expect(await other.begin(IDENTITY)).toEqual({ mayHaveRun: true });
    });
  });

  it('an answer is recorded after what was said before', async () => {
    await withTwo(async ({ mine, other, clock, log, held }) => {
      await mine.begin(IDENTITY);
      let release: () => void = () => undefined;
      held.until = new Promise<void>((resolve) => (release = resolve));
      clock.fire();
      const ended = mine.end(IDENTITY, ANSWER);
      release();
      await ended;
      expect(await appended(log)).toEqual(['RequestStarted', 'RequestStarted', 'RequestAnswered']);
      expect(await other.begin(IDENTITY)).toEqual(ANSWER);
    });
  });

  it('survives a log that is out of reach for a while', async () => {
    await withTwo(async ({ mine, other, clock, held }) => {
      await mine.begin(IDENTITY);
      held.fails = true;
      clock.fire();
      await expect(mine.end(IDENTITY, ANSWER)).rejects.toThrow(EngineUnavailable);
      held.fails = false;
      await expect(mine.begin(IDENTITY)).rejects.toMatchObject({ status: 409 });
      await expect(other.begin(IDENTITY)).rejects.toMatchObject({ status: 409 });
    });
  });

  it('nobody without the key of the journal knows the stream of a request', () => {
    const caller = { organisationId: 1, siteId: undefined, system: 'VOUCHERS', tokenHash: '' } as never;
    const [mine, others] = [KEY, new Uint8Array(32)].map((key) =>
      new RequestJournal(new SystemClock(), () => Promise.reject(new Error('not asked')), key).requestOf(
        caller,
        'key',
      ),
    );
    expect(mine).toMatch(/^[0-9a-f]{32}$/);
    expect(mine).not.toBe(others);
  });
});
