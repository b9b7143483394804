import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { type Thread } from '../../../src/runtime/thread';
import { built, DIST } from '../../support/built';

const { startThread } = built('src/runtime/thread') as typeof import('../../../src/runtime/thread');

interface Dying {
  id(): number;
  complain(): void;
  die(): void;
}

const told = new EventEmitter();
let reports: string[];
let thread: Thread<Dying>;

function start(
  cannotOpen = false,
  onRestart?: () => Promise<unknown>,
  data: () => object = () => ({ dist: DIST, cannotOpen }),
  startsWithCall = false,
): void {
  reports = [];
  thread = startThread<Dying, object>({
    clock: SYSTEM_CLOCK,
    file: join(__dirname, '../../support/dying.thread.cjs'),
    methods: ['id', 'complain', 'die'],
    data,
    report: (failure) => {
      reports.push(failure.split('\n')[0] ?? '');
      told.emit('report');
    },
    ...(onRestart === undefined ? {} : { onRestart }),
    startsWithCall,
  });
}

/** Waits for so many reports in all. */
async function reported(count: number): Promise<readonly string[]> {
  while (reports.length < count) await once(told, 'report');
  return reports;
}

describe('a thread of a server', () => {
  afterEach(() => thread.end());

  test('answers calls, reports failures, and is closed in the end', async () => {
    start();
    const id = await thread.calls.id();
    expect(await thread.calls.id()).toBe(id);
    await thread.calls.complain();
    await thread.end();
    expect(await reported(2)).toEqual(['Error: a complaint', 'Error: it was closed']);
    await expect(thread.calls.id()).rejects.toMatchObject({ name: 'EngineUnavailable' });
  });

  test('that dies fails its calls as unavailable, is reported, and is replaced (decisions X81)', async () => {
    let restarted = (): void => undefined;
    const replaced = new Promise<void>((resolve) => (restarted = resolve));
    start(false, async () => restarted());
    const first = await thread.calls.id();
    await expect(thread.calls.die()).rejects.toMatchObject({ name: 'EngineUnavailable' });
    expect(await reported(1)).toEqual(['a thread has died: Error: a bug']);
    await replaced;
    expect(await thread.calls.id()).not.toBe(first);
    expect(reports).toHaveLength(1);
  });

  test('that cannot be opened is reported, and tried again (decisions X81)', async () => {
    start(true);
    await expect(thread.calls.id()).rejects.toMatchObject({ name: 'EngineUnavailable' });
    const failure = 'a thread has died: Error: it cannot be opened';
    expect(await reported(2)).toEqual([failure, failure]);
  });

  test('that the system cannot start anew is tried again as well (decisions X81)', async () => {
    let starts = 0;
    let restarted = (): void => undefined;
    const replaced = new Promise<void>((resolve) => (restarted = resolve));
    start(
      false,
      async () => restarted(),
      () => {
        starts += 1;
        if (starts === 2) throw new Error('no room for a thread');
        return { dist: DIST };
      },
    );
    await expect(thread.calls.die()).rejects.toMatchObject({ name: 'EngineUnavailable' });
    await replaced;
    expect(await thread.calls.id()).toEqual(expect.any(Number));
    expect(reports).toEqual(['a thread has died: Error: a bug', 'Error: no room for a thread']);
  });

  test('starts with the first call if it is seldom needed; what cannot be started then is unavailable', async () => {
    let starts = 0;
    const data = (): object => {
      starts += 1;
      if (starts === 1) throw new Error('no room for a thread');
      return { dist: DIST, cannotOpen: false };
    };
    start(false, undefined, data, true);
    expect(starts).toBe(0);
    await expect(thread.calls.id()).rejects.toMatchObject({ name: 'EngineUnavailable' });
    const [id, same] = await Promise.all([thread.calls.id(), thread.calls.id()]);
    expect([same, starts]).toEqual([id, 2]);
  });

  test('that has never been called ends without having been started', async () => {
    start(false, undefined, () => ({ dist: DIST, cannotOpen: true }), true);
    await thread.end();
    await expect(thread.calls.id()).rejects.toMatchObject({ name: 'EngineUnavailable' });
    expect(reports).toEqual([]);
  });
});
