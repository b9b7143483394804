import { cp, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDeliveryLog, openLog } from '../../../src/engines/embedded/log/open-log';
import { type RecordedEvent } from '../../../src/kernel/event';
import { appendAtEnd, fill, newEvent } from '../../contracts/event-log/events';
import { startEsdbServer } from '../../support/esdb-server';
import { killedAt } from '../../support/killed';
import { type ProgramResult, removeFolder, runProgram, Server, temporaryFolder } from '../../support/server';
import { eventsOf } from '../../support/temporary-log';

const COUNT = 150_000;

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(() => removeFolder(folder));

const at = (name: string): string => join(folder, name);
const run = (data: string, ...args: readonly string[]): Promise<ProgramResult> =>
  runProgram(args, { DATA_DIR: at(data) });

async function logIn(data: string, count = 0, stream = 'feed-1'): Promise<readonly RecordedEvent[]> {
  const { log } = await openLog(join(at(data), 'log.sqlite'), false);
  try {
    if (count > 0) await fill(log, stream, count);
    return await eventsOf(log);
  } finally {
    await log.close();
  }
}

async function deliveriesIn(data: string, isMore = false): Promise<readonly RecordedEvent[]> {
  const { log } = await openDeliveryLog(join(at(data), 'deliveries.sqlite'), false);
  try {
    if (isMore) await appendAtEnd(log, 'matched', newEvent());
    return await eventsOf(log);
  } finally {
    await log.close();
  }
}

const own = ({ stream }: RecordedEvent): boolean => stream !== 'operator-actions';

test('a backup and a restore that are killed lose nothing, and are never taken for complete ones (decisions X118)', async () => {
  expect((await run('data', 'log', 'stats')).code).toBe(0);
  const first = await logIn('data', 1_000);
  const firstDeliveries = await deliveriesIn('data', true);
  await writeFile(join(at('data'), 'notify.key'), `${'a'.repeat(64)}\n`);
  const made = await run('data', 'backup', at('backup'), '--with-key');
  expect([made.code, made.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^1001 events up to position \d+, 1001 of them new; with the delivery log, with the key\n$/,
    ),
  ]);
  for (const name of ['backup.json', 'notify.key', 'deliveries-1.sqlite'])
    expect([name, (await stat(join(at('backup'), name))).mode & 0o777]).toEqual([name, 0o600]);

  await logIn('data', COUNT, 'feed-2');
  await deliveriesIn('data', true);
  // All under the lock: what is copied first, the delivery log, has another name each time.
  const moments = [
    'chmod deliveries-',
    'written events-000002.ndjson.gz.part',
    'renamed events-000002.ndjson.gz',
    'written events-000003.ndjson.gz.part',
  ];
  const meanwhile = async (): Promise<void> => {
    const second = await run('data', 'backup', at('backup'));
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringContaining('another backup into this folder is under way: wait until it has ended'),
    ]);
  };
  for (const moment of moments)
    expect(await killedAt(['backup', at('backup')], { DATA_DIR: at('data') }, moment, { meanwhile })).toBe(
      'SIGKILL',
    );
  // What is there is the first backup.
  const early = await run('early', 'restore', at('backup'));
  expect([early.code, early.stdout]).toEqual([
    0,
    expect.stringMatching(/^1001 events .* with the delivery log, with/),
  ]);
  expect((await logIn('early')).filter(own)).toEqual(first.filter(own));
  expect(await deliveriesIn('early')).toEqual(firstDeliveries);
  expect(await readFile(join(at('early'), 'notify.key'), 'utf8')).toBe(`${'a'.repeat(64)}\n`);
  expect((await stat(join(at('early'), 'notify.key'))).mode & 0o777).toBe(0o600);
  expect((await run('early', 'actions')).stdout).toContain('\trestore\t');

  const whole = await run('data', 'backup', at('backup'), '--json');
  expect(JSON.parse(whole.stdout)).toMatchObject({ hasDeliveries: true, hasKey: true });
  expect((await readdir(at('backup'))).filter((name) => name.startsWith('deliveries-'))).toHaveLength(1);

  for (const nth of [2, 5])
    expect(
      await killedAt(['restore', at('backup')], { DATA_DIR: at('late') }, 'committed Happened', { nth }),
    ).toBe('SIGKILL');
  const refused = await run('late', 'log', 'stats');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`has not finished: run \`affilog restore ${at('backup')}\` again`),
  ]);
  const late = await run('late', 'restore', at('backup'));
  expect([late.code, late.stdout]).toEqual([0, expect.stringMatching(/ [1-9]\d* of them restored earlier;/)]);
  expect((await logIn('late')).filter(own)).toEqual((await logIn('data')).filter(own));
  expect(await deliveriesIn('late')).toEqual(await deliveriesIn('data'));

  // It is not restored over anything.
  for (const data of ['late', 'data']) {
    const again = await run(data, 'restore', at('backup'));
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('the event log is not empty')]);
  }
  // Nor a damaged one at all.
  for (const name of ['log/events-000001.ndjson.gz', 'notify.key', 'backup.json']) {
    await cp(at('backup'), at('damaged'), { recursive: true, force: true });
    await truncate(join(at('damaged'), name), 20);
    const damaged = await run('nothing', 'restore', at('damaged'));
    expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringMatching(/is damaged|expected what/)]);
    expect(await logIn('nothing')).toEqual([]);
  }
  const foreign = await run('early', 'backup', at('backup'));
  expect([foreign.code, foreign.stderr]).toEqual([
    1,
    expect.stringContaining('has an export of another log'),
  ]);
}, 300_000);

test('a backup while a server writes; a restore is refused while one runs (decisions X118)', async () => {
  const server = await Server.start(at('served'), { args: ['--demo'] });
  const running = await run('served', 'backup', at('live'));
  expect([running.code, running.stdout]).toEqual([0, expect.stringContaining('with the delivery log')]);
  const target = await Server.start(at('empty'));
  const refused = await run('empty', 'restore', at('live'));
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/a server works on this log|not empty/),
  ]);
  expect(await target.end()).toBe(0);
  expect(await server.end()).toBe(0);
  expect((await run('back', 'restore', at('live'))).code).toBe(0);
  const checked = await run('back', 'log', 'check');
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('no problems')]);

  // Between engines.
  const esdb = await startEsdbServer();
  try {
    const settings = { DATA_DIR: at('esdb'), EVENT_LOG: esdb.url };
    const into = await runProgram(['restore', at('live')], settings);
    expect([into.code, into.stdout]).toEqual([0, expect.stringContaining('without the delivery log')]);
    const again = await runProgram(['backup', at('of servers')], settings);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('without the delivery log')]);
  } finally {
    await esdb.stop();
  }
  expect((await run('from servers', 'restore', at('of servers'))).code).toBe(0);
  const streams = async (data: string) =>
    (await logIn(data)).filter(own).map(({ stream, revision, id }) => `${stream} ${revision} ${id}`);
  expect(await streams('from servers')).toEqual(await streams('back'));
}, 300_000);
