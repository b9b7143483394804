import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { toNewEvent } from '../../src/kernel/decider';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { parkedEvents, Parking } from '../../src/runtime/parked-events';
import { runCli } from '../../src/cli/run-cli';
import { defined } from '../projector/sample-events';
import { World } from '../projector/world';

const AT = '2026-03-01T12:00:00.000Z';

let world: World;
beforeEach(async () => (world = await World.open()));
afterEach(() => world.end());

async function parked(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const code = await runCli(['parked', ...args, '--data-dir', world.dataDir], {
    environment: {},
    stdout,
    stderr,
    stdin: new PassThrough(),
    stopSignal: () => new AbortController().signal,
    threads: false,
    start: () => Promise.reject(new Error('unexpected start')),
  });
  const textOf = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';
  return { code, out: textOf(stdout), err: textOf(stderr) };
}

/** An event that the matcher could not use. */
async function parkTransaction(): Promise<void> {
  await world.append('transaction-x', toNewEvent({ type: 'TransactionTracked', data: {} }, randomUUID()));
  for await (const [event] of world.log.readStream('transaction-x')) {
    if (event === undefined) throw new Error('no event');
    await new Parking(SYSTEM_CLOCK, world.log, 'matcher', 'a').park(event, {
      error: new TypeError('no data'),
      at: AT,
    });
  }
}

test('an event that the matcher cannot use is listed, shown, retried and given up (decisions X103)', async () => {
  await parkTransaction();
  const list = { code: 0, out: 'matcher transaction-x@0: TypeError: no data\n', err: '' };
  expect(await parked('list')).toEqual(list);
  expect(await parked('list', 'matcher')).toEqual(list);
  expect(await parked('list', 'products')).toMatchObject({ out: 'nothing is parked\n' });
  expect(JSON.parse((await parked('show', 'matcher', 'transaction-x@0')).out)).toMatchObject({
    type: 'TransactionTracked',
    stream: 'transaction-x',
    revision: 0,
    code: 'a',
    at: AT,
  });
  expect(await parked('retry', 'matcher', 'transaction-x@0')).toMatchObject({
    code: 0,
    out: 'retry requested for 1 documents and events\n',
  });
  expect(await parkedEvents(SYSTEM_CLOCK, world.log, 'matcher')).toEqual([]);
});

test('an event that was given up is parked no more, whatever code fails at it (decisions X103)', async () => {
  await parkTransaction();
  const skipped = await parked('skip', 'matcher', 'transaction-x@0', '--reason', 'of a test');
  expect(skipped).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^skipped event \S+ of transaction-x\n$/),
  });
  for await (const [event] of world.log.readStream('transaction-x'))
    expect(
      await new Parking(SYSTEM_CLOCK, world.log, 'matcher', 'b').park(event!, { error: 'e', at: AT }),
    ).toBe(false);
  expect(await parked('list')).toMatchObject({ out: 'nothing is parked\n' });
});

test('an event that the directory cannot use is listed, and tried again by each process that starts (decisions X103)', async () => {
  await world.append('program-7', toNewEvent({ type: 'ProgramDefined', data: {} }, randomUUID()));
  await world.emit(defined('11', 'Audio'));
  expect(await parked('list')).toEqual({
    code: 0,
    out: 'directory program-7@0: ProgramDefined without a usable id: another program has written it\n',
    err: '',
  });
  expect(await parked('show', 'directory', 'program-7@0')).toMatchObject({ code: 0 });
  expect(await parked('retry')).toMatchObject({ out: 'retry requested for 0 documents and events\n' });
  expect(await parked('retry', 'directory')).toMatchObject({
    code: 1,
    // One line, without a stack trace.
    err: expect.stringMatching(/^affilog: events .* tried again by each process when it starts: .*\n$/),
  });
  expect(await parked('skip', 'directory', 'program-7@0', '--reason', 'x')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is ignored anyway'),
  });
});
