import { FairQueue, QueueFull } from '../../src/runtime/fair-queue';

/** Work whose end the test controls: `a1` or `a1:20`, of the client `a`, with the weight 20. */
function workload(queue: FairQueue) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, signal?: AbortSignal): Promise<void> =>
    queue.run(
      name.charAt(0),
      () => {
        started.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      },
      { signal, weight: Number(name.split(':')[1] ?? 1) },
    );
  const end = async (name: string, work: Promise<void>): Promise<void> => {
    ends.get(name)?.();
    await work;
  };
  return { started, run, end };
}

test('clients are served round-robin, however many tasks one of them queues (decisions X70)', async () => {
  const { started, run, end } = workload(new FairQueue({ atOnce: 1, perClient: 1 }));
  const tasks = Object.fromEntries(['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => [name, run(name)]));
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await end(name, tasks[name]!);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

test('a client leaves slots for others (decisions X70)', async () => {
  const { started, run, end } = workload(new FairQueue({ atOnce: 2, perClient: 1 }));
  const [first, second, other] = [run('a1'), run('a2'), run('b1')];
  expect(started).toEqual(['a1', 'b1']);
  await end('b1', other);
  expect(started).toEqual(['a1', 'b1']);
  await end('a1', first);
  await end('a2', second);
  expect(started).toEqual(['a1', 'b1', 'a2']);
});

test('how many slots a client may have can depend on it, and is asked again when a task ends (decisions X70)', async () => {
  let most = 1;
  const queue = new FairQueue({ atOnce: 2, perClient: (client) => (client === 'a' ? most : 1) });
  const { started, run, end } = workload(queue);
  const tasks = Object.fromEntries(['a1', 'a2', 'a3'].map((name) => [name, run(name)]));
  expect(started).toEqual(['a1']);
  most = 2;
  await end('a1', tasks['a1']!);
  expect(started).toEqual(['a1', 'a2', 'a3']);
  tasks['a4'] = run('a4');
  tasks['b1'] = run('b1');
  tasks['a5'] = run('a5');
  await end('a2', tasks['a2']!);
  await end('a3', tasks['a3']!);
  // One who waits goes before more of a client that has had its turn.
  expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  for (const name of ['a4', 'b1', 'a5']) await end(name, tasks[name]!);
});

test('a reserved slot is for clients with no running task (decisions X70)', async () => {
  const { started, run, end } = workload(new FairQueue({ atOnce: 3, perClient: 2, reserved: 1 }));
  const tasks = Object.fromEntries(['a1', 'a2', 'b1', 'b2', 'c1'].map((name) => [name, run(name)]));
  expect(started).toEqual(['a1', 'a2', 'b1']);
  await end('a1', tasks['a1']!);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1']);
  await end('c1', tasks['c1']!);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1']);
  await end('a2', tasks['a2']!);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'b2']);
  for (const name of ['b1', 'b2']) await end(name, tasks[name]!);
});

test('the end of the last task of a client starts a task of another client and one of its own', async () => {
  const { started, run, end } = workload(new FairQueue({ atOnce: 3, perClient: 2, reserved: 1 }));
  const tasks = Object.fromEntries(['a1', 'b1', 'b2', 'a2'].map((name) => [name, run(name)]));
  expect(started).toEqual(['a1', 'b1']);
  await end('a1', tasks['a1']!);
  expect(started).toEqual(['a1', 'b1', 'b2', 'a2']);
  for (const name of ['b1', 'b2', 'a2']) await end(name, tasks[name]!);
});

test('an aborted task never starts', async () => {
  const { started, run, end } = workload(new FairQueue({ atOnce: 1, perClient: 1 }));
  const gone = new AbortController();
  const [first, dropped, next] = [run('a1'), run('a2', gone.signal), run('a3')];
  const reason = new Error('gone');
  gone.abort(reason);
  await expect(dropped).rejects.toBe(reason);
  await expect(run('a4', gone.signal)).rejects.toBe(reason);
  await end('a1', first);
  await end('a3', next);
  expect(started).toEqual(['a1', 'a3']);
});

test('tasks beyond the queue limits are refused, per client and in total', async () => {
  const queue = new FairQueue({ atOnce: 1, perClient: 1, waiting: 3, waitingPerClient: 2 });
  const { run, end } = workload(queue);
  const tasks = Object.fromEntries(['a1', 'a2', 'a3'].map((name) => [name, run(name)]));
  await expect(run('a4')).rejects.toBeInstanceOf(QueueFull);
  tasks['b1'] = run('b1');
  await expect(run('c1')).rejects.toBeInstanceOf(QueueFull);
  for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name, tasks[name]!);
});

test('a failed task frees its slot', async () => {
  const queue = new FairQueue({ atOnce: 1, perClient: 1 });
  const failing = queue.run('a', () => Promise.reject(new Error('failed')));
  const next = queue.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('failed');
  expect(await next).toBe('done');
});

test('tasks of a bounded weight run at once, and the last one may exceed it: light ones keep no heavy one waiting (decisions C9)', async () => {
  const { started, run, end } = workload(new FairQueue({ atOnce: 30, perClient: 15, reserved: 5 }));
  const names = ['a1:10', 'a2:10', 'a3:1', 'b1:10', 'c1:10', 'd1:1', 'e1:1', 'c2:1'];
  const tasks = Object.fromEntries(names.map((name) => [name, run(name)]));
  // Client a has 20; 30 are running.
  expect(started).toEqual(['a1:10', 'a2:10', 'b1:10']);
  await end('b1:10', tasks['b1:10']!);
  // The first that waits, not the lightest.
  expect(started.slice(3)).toEqual(['c1:10']);
  await end('a1:10', tasks['a1:10']!);
  expect(started.slice(4)).toEqual(['a3:1', 'd1:1', 'e1:1', 'c2:1']);
  for (const name of ['a2:10', 'c1:10', 'd1:1', 'e1:1', 'a3:1', 'c2:1']) await end(name, tasks[name]!);
});
