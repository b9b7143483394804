import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Position } from '../../../src/kernel/event';
import { type VoucherPost, VoucherWriter } from '../../../src/domain/vouchers/voucher';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { DIST } from '../../support/built';
import { SHARED_LOGS, type SharedLog } from '../../support/shared-logs';
import { AT, checked } from '../../domain/vouchers/posted';

/**
 * When a process is killed, and what of its voucher is in the log then. Over a server, which takes longer, half of
 * them.
 */
const MOMENTS = [
  ['before it has an id', 'sequence', 'before', []],
  ['when it has an id', 'sequence', 'after', []],
  ['before the reservation', 'voucherkey', 'before', []],
  ['between reservation and voucher', 'voucherkey', 'after', ['KeyReserved']],
  ['just before the voucher', 'voucher', 'before', ['KeyReserved']],
  ['when the voucher is written', 'voucher', 'after', ['KeyReserved', 'VoucherPublished']],
] as const;

describe.each(Object.keys(SHARED_LOGS))('Over %s', (engine) => {
  let shared: SharedLog;
  let before: Position;
  /** Each test has a program of its own. */
  let programId = 100;
  beforeAll(async () => {
    shared = await SHARED_LOGS[engine]!();
  });
  afterAll(() => shared.close());
  beforeEach(async () => {
    before = await shared.log.head();
    programId += 1;
  });

  const posted = (title: string): VoucherPost => ({ ...checked({ title }, 'spring'), programId });

  /** Some of them differ, and are edits of what the others have made. */
  const racing = () =>
    Array.from({ length: 100 }, (_, at) => posted(at % 20 === 0 ? `Offer ${at}` : 'Offer'));

  /** What another process says that does this; what ended it, if anything did. */
  async function elsewhere(
    command: readonly ['post', readonly VoucherPost[]] | readonly ['withdraw', number],
    ...death: readonly string[]
  ): Promise<{ readonly said: string; readonly signal: string | null }> {
    const [verb, what] = command;
    const script = join(__dirname, '../../support/post-voucher.cjs');
    const args = [script, DIST, shared.where, verb, JSON.stringify(what), ...death];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit') as Promise<[unknown, string | null]>;
    const said = await text(child.stdout);
    const [, signal] = await exit;
    return { said, signal };
  }

  /** Events of the test at hand in their order, those of ids left out. */
  async function written(): Promise<readonly { readonly type: string; readonly stream: string }[]> {
    const all: { type: string; stream: string }[] = [];
    for await (const { events } of shared.log.readAll({ after: before, prefixes: ['voucher'] }))
      all.push(...events);
    return all;
  }

  const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

  /** That of everything posted one voucher came out. */
  async function expectOne(ids: readonly number[]): Promise<void> {
    expect(new Set(ids).size).toBe(1);
    const events = await written();
    const first = typesOf(events).filter((type) => type !== 'VoucherRevised');
    expect(first).toEqual(['KeyReserved', 'VoucherPublished']);
    const streams = events.map(({ stream }) => stream).filter((stream) => stream.startsWith('voucher-'));
    expect(new Set(streams)).toEqual(new Set([`voucher-${ids[0]}`]));
  }

  it('of 100 posts of one new sourceId that race in two processes one voucher comes out (decisions V2)', async () => {
    const posts = racing();
    const theirs = elsewhere(['post', posts.slice(50)]);
    const vouchers = new VoucherWriter(SYSTEM_CLOCK, shared.log);
    const ours = await Promise.all(posts.slice(0, 50).map((post) => vouchers.post(post, AT)));
    const ids = (await theirs).said.trim().split('\n').map(Number);
    expect(ids).toHaveLength(50);
    await expectOne([...ours.map(({ id }) => id), ...ids]);
  });

  it.each(MOMENTS.filter(([, , when]) => engine === 'SQLite' || when === 'after'))(
    'a process that is killed %s leaves it so that of 100 that race afterwards one voucher comes out (ADR 11; decisions V2)',
    async (_, category, when, left) => {
      const { signal } = await elsewhere(['post', [posted('First')]], category, when);
      expect([signal, typesOf(await written())]).toEqual(['SIGKILL', left]);
      const processes = [
        new VoucherWriter(SYSTEM_CLOCK, shared.log),
        new VoucherWriter(SYSTEM_CLOCK, shared.log),
      ];
      const posts = racing().map((post, at) => processes[at % 2]!.post(post, AT));
      await expectOne((await Promise.all(posts)).map(({ id }) => id));
    },
  );

  it('a process that is killed when it has withdrawn one and not let go of its key leaves it so that the next post is a new voucher (ADR 11)', async () => {
    const { id } = await new VoucherWriter(SYSTEM_CLOCK, shared.log).post(posted('First'), AT);
    expect(await elsewhere(['withdraw', id], 'voucher', 'after')).toMatchObject({ signal: 'SIGKILL' });
    const posts = [
      new VoucherWriter(SYSTEM_CLOCK, shared.log),
      new VoucherWriter(SYSTEM_CLOCK, shared.log),
    ].map((vouchers) => vouchers.post(posted('Second'), AT));
    const [one, other] = await Promise.all(posts);
    expect([one!.id === id, one!.id === other!.id]).toEqual([false, true]);
    const types = typesOf(await written());
    expect(types.filter((type) => type === 'VoucherPublished')).toHaveLength(2);
  });
});
