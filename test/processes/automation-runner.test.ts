import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LeaseFile } from '../../src/engines/embedded/leases';
import { type Automation, AutomationRunner } from '../../src/processes/automation-runner';
import { FollowedDirectory } from '../../src/network/follower';
import { openEmbeddedStore } from '../../src/engines/embedded/store/open-store';
import { EngineUnavailable, type EventLog } from '../../src/kernel/event-log';
import { START } from '../../src/kernel/event';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { AUTOMATION_LEASE } from '../../src/runtime/lease-holder';
import { AUTOMATION_ACTIONS } from '../../src/runtime/metrics';
import { type CollectionSpec, NoGeneration, type ReadStore } from '../../src/kernel/read-store';
import { parkedCount, parkedIn, retry } from '../../src/operations/parked';
import { prepareParked } from '../../src/projector/parked';
import { type Projection } from '../../src/projector/projection';
import { live } from '../contracts/read-store/subject';
import { TestClock } from '../support/clock';
import { growthOf } from '../support/metrics';
import { storeFolder } from '../support/store-folder';
import { withLog } from '../support/temporary-log';

const TASKS: CollectionSpec = { name: 'tasks', version: 1, fields: { due: 'number' }, sorts: ['due'] };
const PROJECTION: Projection = {
  collection: TASKS,
  streams: ['task-'],
  handles: [],
  idOf: ({ stream }) => stream,
  fold: (document) => document,
  describe: (document) => ({ document, fields: {} }),
};
const AT = 1_700_000_000_000;

let monotonic: number;
let reports: Error[];
/** What was done, in order. */
let done: string[];
beforeEach(() => ([monotonic, reports, done] = [0, [], []]));

function tasks(act: (id: string) => unknown = () => undefined): Automation {
  return {
    name: 'tasks',
    projection: PROJECTION,
    orderBy: 'due',
    due: (now) => [{ field: 'due', max: now }],
    act: async ({ id }) => {
      done.push(id);
      await act(id);
      return {};
    },
  };
}

/** A store with tasks that are due at these times, and a runner over it. */
async function withTasks(
  dues: readonly number[],
  use: (runner: AutomationRunner, store: ReadStore, leases: LeaseFile) => Promise<void>,
  automation = tasks(),
): Promise<void> {
  const { directory, remove } = await storeFolder();
  const store = openEmbeddedStore({ directory, threads: false, readers: 0 });
  const leases = new LeaseFile(join(directory, 'leases.sqlite'));
  await live(store, TASKS);
  const writes = dues.map((due, at) => ({
    version: START,
    put: { id: `task ${at}`, fields: { due }, body: '{}' },
  }));
  await store.write({ collection: TASKS.name }, writes);
  await withLog((log) =>
    following(log, async (follower) => {
      const runner = new AutomationRunner({ log, store, leases, follower }, [automation], {
        owner: 'a',
        clock: new TestClock(
          () => AT + monotonic,
          () => monotonic,
        ),
        report: (failure) => reports.push(failure as Error),
      });
      await use(runner, store, leases);
      await runner.stop();
    }),
  );
  await leases.close();
  await store.close();
  await remove();
}

async function following(log: EventLog, use: (follower: FollowedDirectory) => Promise<void>): Promise<void> {
  const ending = new AbortController();
  const follower = new FollowedDirectory(SYSTEM_CLOCK, log, ending.signal);
  await use(follower);
  ending.abort();
  await follower.ended;
}

test('what is due is done, the oldest first, and nothing else', async () => {
  await withTasks([AT, AT - 5, AT + 1, AT - 9], async (runner) => {
    expect(await runner.turn(tasks())).toBe(false);
    expect(done).toEqual(['task 3', 'task 1', 'task 0']);
  });
});

test('actions that fail delay no others, are reported together, and retried after a minute', async () => {
  const failing = tasks((id) => {
    if (id !== 'task 1500') throw new Error(`${id} is broken`);
  });
  const dues = Array.from({ length: 1501 }, (_, at) => AT - 2000 + at);
  await withTasks(dues, async (runner) => {
    const counted = growthOf(AUTOMATION_ACTIONS);
    await runner.turn(failing);
    // Automations are counted by the names of those of this program.
    expect(counted()).toEqual({ 'other done': 1, 'other failed': 1500 });
    expect([done.length, done.at(-1)]).toEqual([1501, 'task 1500']);
    expect(reports.map(({ message }) => message)).toEqual([
      'tasks: 1500 could not be executed and are retried in a minute; the first is task 0',
    ]);
    expect(reports[0]?.cause).toEqual(new Error('task 0 is broken'));
    monotonic = 59_999;
    await runner.turn(failing);
    expect(done.slice(1501)).toEqual(['task 1500']);
    monotonic = 60_000;
    await runner.turn(failing);
    expect(done).toHaveLength(2 * 1501 + 1);
    expect(reports).toHaveLength(2);
  });
});

test('nothing more is done once another process has got the lease (docs/architecture.md, Processes)', async () => {
  const { name, ms } = AUTOMATION_LEASE;
  const dues = Array.from({ length: 1500 }, (_, at) => AT - 2000 + at);
  await withTasks(dues, async (runner, _, leases) => {
    const losing = tasks(async () => {
      if (done.length !== 200) return;
      monotonic += ms + 1;
      expect(await leases.lease(name, 'b', () => AT + monotonic, ms)).toMatchObject({ owner: 'b' });
    });
    await runner.turn(losing);
    // Those under way are finished.
    expect(done.length).toBeLessThan(200 + 2 * 128);
    expect(await runner.turn(losing)).toBe(false);
    monotonic += ms + 1;
    while (done.length < 1500) await runner.turn(losing);
  });
});

test('the lease is renewed while an action takes long', async () => {
  const { name, ms } = AUTOMATION_LEASE;
  await withTasks([AT], async (runner, _, leases) => {
    const long = tasks(async () => {
      monotonic = ms - 1;
      while (!(await leases.owners(name, AT + ms + 1, ms)).includes('a')) await pause(100);
    });
    await runner.turn(long);
    expect(done).toEqual(['task 0']);
  });
});
test('actions that fail are listed as parked as long as they do, also by the next process, and retried when somebody asks (decisions X103)', async () => {
  let isBroken = true;
  const failing = tasks((id) => {
    if (isBroken && id !== 'task 2') throw new Error(`${id} is broken`);
  });
  const listed = async (store: ReadStore) =>
    (await parkedIn({ log: undefined as never, store }, 'automations')).map(({ id, entry }) => [
      id,
      entry.error.split('\n')[0],
    ]);
  await withTasks([AT, AT - 1, AT - 2], async (runner, store, leases) => {
    // No projector has run yet.
    await runner.turn(failing);
    expect(await listed(store)).toEqual([]);
    await prepareParked(store);
    monotonic += 60_000;
    await runner.turn(failing);
    const broken = ['task 0', 'task 1'].map((id) => [`tasks/${id}`, `Error: ${id} is broken`]);
    expect(await listed(store)).toEqual(broken);
    expect(await parkedCount(store)).toBe(2);
    // The action of one is no longer due.
    await store.write({ collection: TASKS.name }, [{ version: START, remove: 'task 1' }]);
    await runner.turn(failing);
    expect(await listed(store)).toEqual([broken[0]]);
    const calls = done.length;
    await runner.turn(failing);
    expect(done.slice(calls)).toEqual(['task 2']);
    await retry({ log: undefined as never, store }, 'automations', 'tasks/task 0', '');
    await runner.turn(failing);
    expect(done.slice(calls + 1)).toEqual(['task 2', 'task 0']);
    expect(await listed(store)).toEqual([broken[0]]);
    isBroken = false;
    const next = new AutomationRunner({ log: undefined as never, store, leases, follower: IDLE }, [failing], {
      owner: 'a',
      clock: new TestClock(
        () => AT + monotonic,
        () => monotonic,
      ),
    });
    await next.turn(failing);
    expect(await listed(store)).toEqual([]);
  });
});

const IDLE = { reachedInTime: async () => undefined, directory: undefined } as unknown as FollowedDirectory;

test('an engine that is unavailable is reported once, and what is due is done when it is back', async () => {
  let failures = 0;
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const automation = tasks(() => {
    if (done.length > 3) {
      finish();
      return;
    }
    failures += 1;
    throw new EngineUnavailable('the event log is not available: the disk is full');
  });
  await withTasks(
    [AT],
    async (runner) => {
      runner.start();
      await finished;
      expect(failures).toBe(3);
      expect(reports.map(({ message }) => message)).toEqual([
        'the event log is not available: the disk is full',
      ]);
    },
    automation,
  );
});

test('a read model that has yet to be built is no failure', async () => {
  const others = { ...PROJECTION, collection: { ...TASKS, name: 'others' } };
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const automation = { ...tasks(finish), projection: others };
  await withTasks(
    [],
    async (runner, store) => {
      await expect(runner.turn(automation)).rejects.toThrow(NoGeneration);
      runner.start();
      await live(store, others.collection);
      const document = { id: 'first', fields: { due: AT }, body: '{}' };
      await store.write({ collection: 'others' }, [{ version: START, put: document }]);
      await finished;
      expect([reports, runner.trouble()]).toEqual([[], undefined]);
    },
    automation,
  );
});
