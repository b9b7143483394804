import { join } from 'node:path';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { Directory } from '../../src/network/directory';
import { START } from '../../src/kernel/event';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { FingerprintCache } from '../../src/services/products/load/fingerprint-cache';
import { Loader } from '../../src/services/products/load/loader';
import { product } from '../api/posted';
import { TestClock } from '../support/clock';
import { FeedHistory } from '../support/feed-history';
import { smallNetwork } from '../support/small-network';
import { cliFolder, run } from './run';

const { settings, fileOf, dataDir } = cliFolder();
const FEED = 302;

const WHY = ['--reason', 'a test'];
const restore = (...args: readonly string[]) => run(['feeds', 'restore', ...args, ...WHY], settings());

/** Posts these bodies to the feed, one after the other; returns the ids of the loads. */
async function load(...bodies: readonly (readonly object[])[]): Promise<readonly string[]> {
  const { log } = await openLog(join(dataDir(), 'log.sqlite'), false);
  const loader = new Loader({
    log,
    fingerprints: new FingerprintCache(SYSTEM_CLOCK, log, join(dataDir(), 'cache')),
    spoolFolder: join(dataDir(), 'spool'),
    directory: new Directory(),
    reached: async () => true,
    clock: new TestClock(() => new Date('2026-05-01T12:00:00Z')),
  });
  const ids: string[] = [];
  for (const products of bodies) {
    const id = await loader.open({ feedId: FEED, mode: 'replace', format: 'json', directoryPosition: START });
    const named = products.map((one) => ({ ...one, categories: [{ name: 'x' }] }));
    await loader.write(id, Buffer.from(JSON.stringify({ products: named })));
    ids.push((await loader.finish(id)).loadId ?? '');
  }
  await loader.close();
  await log.close();
  return ids;
}

async function prices(): Promise<Readonly<Record<string, number>>> {
  const { log } = await openLog(join(dataDir(), 'log.sqlite'), false);
  const history = await new FeedHistory().readNew(log, FEED);
  await log.close();
  expect(history.duplicates).toEqual([]);
  return Object.fromEntries(history.prices);
}

describe('affilog feeds restore (decisions X89)', () => {
  let bad: string;
  let first: string;
  beforeEach(async () => {
    await run(['network', 'import', await fileOf(smallNetwork())], settings());
    [first = '', bad = ''] = await load(
      [product('a', { price: 1 }), product('b'), product('c')],
      [product('a', { price: 2 }), product('d')],
    );
  });

  const shown = (id: string) =>
    `load ${id} of feed 302 (replace, 2026-05-01T12:00:00.000Z)\n` +
    'change the price back: a\nlist again: b\nlist again: c\nremove: d\n' +
    'to undo it: new=2, revised=0, repriced=1, removed=1\n';

  it('shows what it would do, and changes nothing with --dry-run', async () => {
    expect(await restore(String(FEED), '--before', bad, '--dry-run')).toEqual({
      code: 0,
      out: shown(bad),
      err: '',
    });
    expect(await prices()).toEqual({ a: 200, d: 1000 });
  });

  it('does it with --yes, and is harmless when repeated', async () => {
    const { code, out, err } = await restore(String(FEED), '--before', bad, '--yes');
    expect([code, err]).toEqual([0, '']);
    expect(out.replace(/[\da-f-]{36}(?=: )/, 'ID')).toBe(
      `${shown(bad)}restored by load ID: new=2, revised=0, repriced=1, removed=1\n`,
    );
    expect(await prices()).toEqual({ a: 100, b: 1000, c: 1000 });
    const again = await restore(String(FEED), '--before', bad, '--yes');
    expect(again.out).toMatch(/\nthere is nothing to undo\n$/);
    expect(await prices()).toEqual({ a: 100, b: 1000, c: 1000 });
  });

  it('asks on a terminal, and requires --yes without one', async () => {
    const ask = (answer: string) => {
      const args = ['feeds', 'restore', String(FEED), '--before', bad, ...WHY];
      return run(args, settings(), { terminal: answer });
    };
    expect(await restore(String(FEED), '--before', bad)).toMatchObject({
      code: 2,
      err: 'affilog: 4 products will change: nothing has been changed; add --yes to confirm, or --dry-run to only see it\n',
    });
    for (const answer of ['n\n', '\n', ''])
      expect(await ask(answer)).toMatchObject({
        code: 1,
        err: expect.stringContaining('4 products will change. Continue? [y/N] ') as string,
      });
    expect(await prices()).toEqual({ a: 200, d: 1000 });
    expect((await ask('Yes\n')).code).toBe(0);
    expect(await prices()).toEqual({ a: 100, b: 1000, c: 1000 });
  });

  it('names the first 20 products, and those that have changed since', async () => {
    const many = Array.from({ length: 30 }, (_, at) => product(`p${at}`));
    const [, worst = ''] = await load(many, [], [many[3]!, product('p4', { price: 77 })]);
    const { out } = await restore(String(FEED), '--before', worst, '--yes');
    const lines = out.split('\n');
    expect(lines.filter((line) => line.startsWith('list again: '))).toHaveLength(20);
    expect(lines).toContain('… and 8 more');
    expect(lines).toContain('changed since by later loads, left alone: 1 (p4)');
    expect(Object.keys(await prices())).toHaveLength(30);
    expect(await prices()).toMatchObject({ p4: 7700 });
  });

  it.each([
    ['an unknown feed', ['7', '--before', 'x'], /^affilog: 7: expected the id of a feed\n$/],
    ['no feed', ['x', '--before', 'y'], /Expected an integer of at least 1/],
    ['no load', ['302'], /required option '--before <load>' not specified/],
    [
      'an unknown load, and names the last ones',
      ['302', '--before', 'x'],
      /^affilog: --before x: expected the id of a load of feed 302; the last are [\da-f-]{36} \(replace, 2026/,
    ],
    ['a load of another feed', ['301', '--before', 'x'], /a load of feed 301; it has none\n$/],
  ])('refuses %s', async (_, args, message) => {
    const { code, out, err } = await restore(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(message);
  });

  it('undoes the first load by emptying the feed of what it listed', async () => {
    const { out } = await restore(String(FEED), '--before', first, '--yes');
    // What the second load has changed since stays.
    expect(out).toContain('changed since by later loads, left alone: 1 (a)');
    expect(await prices()).toEqual({ a: 200, d: 1000 });
  });
});
