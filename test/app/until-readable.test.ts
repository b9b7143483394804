import { Startup, untilReadable } from '../../src/app/start';
import { type Runner } from '../../src/projector/runner';
import { PROJECTIONS } from '../../projections';
import { defined, listed } from '../projector/sample-events';
import { World } from '../projector/world';
import { pauseCall } from '../support/pause-call';
import { overrideLog } from '../support/temporary-log';

describe('a start waits until the read models can be read (decisions X98)', () => {
  let world: World;
  let reasons: string[];
  const ending = new AbortController();
  const { signal } = ending;
  beforeEach(async () => {
    world = await World.open();
    await world.emit(defined('1', 'Lamps'), ...Array.from({ length: 100 }, (_, n) => listed(`p${n}`)));
    reasons = [];
  });
  afterEach(() => world.end());

  /** As a projector in another thread. */
  const remote = (runner: Runner) => ({
    start: () => runner.start(),
    progress: async () => runner.progress(),
    trouble: async () => runner.trouble(),
    stop: () => runner.stop(),
  });

  /** Resolves when a reason like this is shown. */
  function shown(pattern: RegExp): { readonly show: (reason: string) => void; readonly seen: Promise<void> } {
    let see: () => void;
    const seen = new Promise<void>((resolve) => (see = resolve));
    const show = (reason: string): void => {
      reasons.push(reason);

      if (pattern.test(reason)) see();
    };
    return { show, seen };
  }

  it('while this process builds them: with the share of the log and the time left', async () => {
    let go: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (go = resolve));
    const log = overrideLog(world.log, {
      async *readAll(options) {
        for await (const batch of world.log.readAll({ ...options, batchSize: 25 })) {
          yield batch;
          // Only a build reads batches of this size.
          if (options.batchSize === 5_000) await released;
        }
      },
    });
    const runner = world.runner({}, PROJECTIONS, { log, store: world.store });
    const { show, seen } = shown(/^the read models are being built: \d+ % of the log(, about \d+ s left)?$/);
    void runner.start();
    while (runner.progress() === undefined) await new Promise(setImmediate);
    // However long it takes from here.
    const options = { projector: remote(runner), show, signal, patience: 0 };
    const waiting = untilReadable({ store: world.store, ...options });
    await seen;
    go();
    expect(await waiting).toBeUndefined();
    expect(runner.progress()).toBeUndefined();
  });

  it('while this process completes them', async () => {
    const finishing = pauseCall(world.store, 'finish', 1, ({ collection }) => collection === 'products');
    const runner = world.runner({}, PROJECTIONS);
    const { show, seen } = shown(/: the log has been read, indexes are being built$/);
    const waiting = untilReadable({ store: world.store, projector: remote(runner), show, signal });
    await finishing.reached;
    await seen;
    finishing.release();
    expect(await waiting).toBeUndefined();
  });

  it('while another process builds them', async () => {
    const finishing = pauseCall(world.store, 'finish', 1, ({ collection }) => collection === 'products');
    const building = world.runner({}, PROJECTIONS).start();
    await finishing.reached;
    const { show, seen } = shown(/^the read models are being built$/);
    const waiting = untilReadable({ store: world.store, show, signal, patience: 0 });
    await seen;
    finishing.release();
    await building;
    expect(await waiting).toBeUndefined();
  });

  it('but not for ever when nobody builds them, since posts need none: it returns the reason', async () => {
    const options = { store: world.store, show: () => undefined, signal, patience: 0 };
    expect(await untilReadable(options)).toBe('the read models are being opened');
    await world.store.close();
    expect(await untilReadable(options)).toBe('the read store is closed');
  });

  it('not at all when they are there', async () => {
    await world.runner({}, PROJECTIONS).start();
    const { show } = shown(/./);
    expect(await untilReadable({ store: world.store, show, signal })).toBeUndefined();
    expect(reasons).toEqual([]);
  });

  it('and ends with the start', async () => {
    const failing = new AbortController();
    const { show, seen } = shown(/./);
    const waiting = untilReadable({ store: world.store, show, signal: failing.signal });
    await seen;
    failing.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('a start logs what it waits for after a second, then every five seconds (decisions X98)', () => {
  const lines: string[] = [];
  let time = 0;
  const startup = new Startup(
    (line) => lines.push(line),
    () => time,
  );
  for (time = 0; time <= 13_000; time += 250) startup.waitsFor(`step ${time}`);
  expect(startup.reason).toBe('step 13000');
  expect(lines).toEqual(['starting: step 1000', 'starting: step 6000', 'starting: step 11000']);
});

test('a step that lasts is logged all the same, until the start has ended (decisions X98)', () => {
  jest.useFakeTimers();
  const lines: string[] = [];
  const startup = new Startup((line) => lines.push(line));
  const end = startup.repeat();
  startup.waitsFor('the demo network is being created');
  jest.advanceTimersByTime(41_000);
  expect(lines).toHaveLength(9);
  expect(new Set(lines)).toEqual(new Set(['starting: the demo network is being created']));
  end();
  jest.advanceTimersByTime(41_000);
  expect(lines).toHaveLength(9);
  jest.useRealTimers();
});
