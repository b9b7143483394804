import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ClaimWriter, type NewClaim } from '../../../src/domain/claims/claim-writer';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { DIST } from '../../support/built';
import { SHARED_LOGS, type SharedLog } from '../../support/shared-logs';
import { AT, contentOf, finishBatches, LATER, newClaim, ordersIn } from '../../domain/claims/claim-log';

/**
 * When a process is killed, and whether its claims are filed nevertheless. Over a server, which takes longer, half of
 * them.
 */
const MOMENTS = [
  ['it has an id', 'sequence', 'after', 'nothing'],
  ['it reserves a key', 'claimkey', 'before', 'nothing'],
  ['it has reserved a key', 'claimkey', 'after', 'nothing'],
  ['it accepts a post', 'claim-batch', 'before', 'nothing'],
  ['it has accepted a post', 'claim-batch', 'after', 'all'],
  ['it files a claim', 'claim', 'before', 'all'],
  ['it has filed a claim', 'claim', 'after', 'all'],
] as const;

describe.each(Object.keys(SHARED_LOGS))('Over %s', (engine) => {
  let shared: SharedLog;
  beforeEach(async () => {
    shared = await SHARED_LOGS[engine]!();
  });
  afterEach(() => shared.close());

  type Commands = readonly (readonly NewClaim[] | { readonly id: number; readonly claim: object })[];

  /** What another process says that does this; what ended it, if anything did. */
  async function elsewhere(commands: Commands, ...death: readonly string[]) {
    const script = join(__dirname, '../../support/write-claims.cjs');
    const args = [script, DIST, shared.where, JSON.stringify(commands), ...death];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit') as Promise<[unknown, string | null]>;
    const said = await text(child.stdout);
    const [, signal] = await exit;
    return { said, signal };
  }

  const create = (orders: readonly string[], at = AT) =>
    new ClaimWriter(SYSTEM_CLOCK, shared.log).create(orders.map(newClaim), at);

  it('of 100 creations of one key that race in two processes one is stored (decisions C4)', async () => {
    const posts = Array.from({ length: 50 }, () => [newClaim('A')]);
    const theirs = elsewhere(posts);
    const writer = new ClaimWriter(SYSTEM_CLOCK, shared.log);
    const ours = await Promise.allSettled(posts.map((post) => writer.create(post, AT)));
    const stored = ours.filter(({ status }) => status === 'fulfilled').length;
    const said = (await theirs).said.trim().split('\n');
    expect(said.filter((one) => one === 'ok').length + stored).toBe(1);
    expect(said.filter((one) => one === 'UTS_397').length + ours.length - stored).toBe(99);
    expect(await ordersIn(shared.log)).toEqual(['A']);
  });

  it.each(MOMENTS.filter(([, , when]) => engine === 'SQLite' || when === 'after'))(
    'a process that is killed when %s has filed all claims of its post or none, and their keys are not stuck (decisions C3, C4)',
    async (_, category, when, expected) => {
      const post = [newClaim('A'), newClaim('B'), newClaim('C')];
      expect(await elsewhere([post], category, when)).toMatchObject({ signal: 'SIGKILL', said: '' });
      await finishBatches(shared.log);
      const orders = expected === 'all' ? ['A', 'B', 'C'] : [];
      expect(await ordersIn(shared.log)).toEqual(orders);
      if (expected === 'all') await expect(create(['A'], LATER)).rejects.toMatchObject({ code: 'UTS_397' });
      else await create(['A', 'B', 'C'], LATER);
      expect(await ordersIn(shared.log)).toEqual(['A', 'B', 'C']);
    },
  );

  it('a process that is killed when it has reserved the only key has filed nothing (decisions C4)', async () => {
    expect(await elsewhere([[newClaim('A')]], 'claimkey', 'after')).toMatchObject({ signal: 'SIGKILL' });
    await expect(create(['A'])).rejects.toMatchObject({ code: 'UTS_397' });
    await create(['A'], LATER);
    expect(await ordersIn(shared.log)).toEqual(['A']);
  });

  it('a process that is killed when it has updated a key leaves the former one free (decisions C4)', async () => {
    const [id = NaN] = (await create(['A'])).ids;
    const update = { id, claim: contentOf('B') };
    expect(await elsewhere([update], 'claim', 'after')).toMatchObject({ signal: 'SIGKILL' });
    await create(['A']);
    expect(await ordersIn(shared.log)).toEqual(['A', 'B']);
  });
});
