import { setTimeout as pause } from 'node:timers/promises';
import { listTransactions, transactions } from '../../projections/transactions';
import { positionOf } from '../../src/kernel/event';
import { liveNow } from '../../src/projector/generations';
import { rebuild } from '../../src/projector/rebuild';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type Response, TestApp } from '../support/app';
import { cases } from '../support/size';
import {
  CONVERSION_NETWORK,
  CONVERSION_TOKENS,
  PATH,
  reportOf,
  type Result,
  transactionClientOf,
} from './transaction-network';
import { NOW, refusalOf } from './voucher-network';

interface Listed {
  readonly legacyTransactionId: string;
  readonly orderNumber: string;
  readonly messageTypeId: number;
  readonly orderValue: number;
  readonly changed: string;
}

let app: TestApp;
/** Passes with each look at the clock. */
let now = NOW;
const client = transactionClientOf(() => app);
const { create, get, move, moveAll, reportAll } = client;

beforeAll(async () => {
  app = await TestApp.start({ network: CONVERSION_NETWORK, now: () => new Date((now += 1)) });
});
afterAll(() => app.close());

const changesOf = async (id: string): Promise<readonly string[]> =>
  (await get(`/${id}/transitions`)).json<readonly Listed[]>().map(({ changed }) => changed);

describe('changed (decisions T6)', () => {
  it('is assigned with the append, not when the request began', async () => {
    const answer = await reportAll(['C-1', 'C-2', 'C-3'].map((order) => reportOf(order)));
    const ids = answer.json<readonly Result[]>().map(({ transactionId }) => transactionId);
    const times = (await Promise.all(ids.map(changesOf))).map(([tracked]) => tracked);
    expect(new Set(times).size).toBe(3);
    const moved = moveAll(ids.map((transactionId) => ({ transactionId, action: 'approve' })));
    expect((await moved).statusCode).toBe(200);
    const approved = (await Promise.all(ids.map(changesOf))).map((changes) => changes.at(-1));
    expect(new Set(approved).size).toBe(3);
  });

  it('is never lower than that of the event before, though the clock is set back', async () => {
    const { transactionId } = await create('BACK');
    const [tracked] = await changesOf(transactionId);
    now -= 3_600_000;
    await move({ transactionId, action: 'approve' });
    expect(await changesOf(transactionId)).toEqual([tracked, tracked, tracked]);
    now += 3_600_000;
  });

  it('is that of an amendment too', async () => {
    const { transactionId } = await create('AMENDED');
    const [, pending = ''] = await changesOf(transactionId);
    await move({ transactionId, action: 'amend', orderValue: 5 });
    const { changed } = (await get(`/${transactionId}`)).json<Listed>();
    expect(changed > pending).toBe(true);
    expect(await changesOf(transactionId)).toEqual([pending, pending, changed]);
    const listed = await get(`;orderNumber=AMENDED;minChanged=${changed}`);
    expect(listed.json()).toMatchObject([{ orderValue: 5 }]);
  });
});

describe('following a list by since (decisions T6)', () => {
  const step = async (since: string, keys = '') => {
    const answer = await get(`;since=${since}${keys}`);
    expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
    const next = String(answer.headers['x-next-since']);
    return { next, listed: answer.json<readonly Listed[]>() };
  };

  it('misses nothing while several processes write, and ends with what the list has', async () => {
    const other = await app.again();
    const post = async (path: string, body: unknown) => {
      const url = `${PATH}${path}?token=${CONVERSION_TOKENS.nord}`;
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      return await other.inject({ method: 'POST', url, headers, payload: JSON.stringify(body) });
    };
    const rounds = cases(60, 12);
    const orders = (from: string, round: number) =>
      Array.from({ length: 40 }, (_, at) => `F-${from}-${round}-${at}`);
    let isWriting = true;
    const write = async (
      from: string,
      send: (path: string, body: unknown) => Promise<{ json(): unknown }>,
    ) => {
      for (let round = 0; round < rounds; round += 1) {
        const reported = await send(
          '/bulk',
          orders(from, round).map((order) => reportOf(order, { epi: 'followed' })),
        );
        const moves = (reported.json() as readonly Result[]).map(({ transactionId }, at) => ({
          transactionId,
          ...(at % 3 === 0 ? { action: 'amend', orderValue: at + 1 } : { action: 'approve' }),
        }));
        await send('/transitions/bulk', moves);
      }
    };
    const seen = new Map<string, Listed>();
    let since = '*';
    const read = async () => {
      while (isWriting) {
        since = (await take(since)).next;
        // The projector runs in this process.
        await pause(5);
      }
    };
    const take = async (after: string) => {
      const taken = await step(after, ';epi=followed;pageSize=7');
      for (const one of taken.listed) seen.set(one.orderNumber, one);
      return taken;
    };
    const writing = Promise.all([
      write('one', (path, body) => (path === '/bulk' ? reportAll(body) : moveAll(body))),
      write('other', post),
    ]).finally(() => {
      isWriting = false;
    });
    await Promise.all([writing, read()]);
    await app.settled();
    for (let rest = await take(since); rest.listed.length > 0;) rest = await take(rest.next);
    const all: Listed[] = [];
    for (let cursor: string | undefined = '*'; cursor !== undefined;) {
      const answer: Response = await get(`;epi=followed;cursor=${cursor}`);
      all.push(...answer.json<readonly Listed[]>());
      cursor = answer.headers['x-next-cursor'] as string | undefined;
    }
    expect(all).toHaveLength(2 * rounds * 40);
    expect(new Map(all.map((one) => [one.orderNumber, one]))).toEqual(seen);
    await other.close();
  });

  it('begins with *, and is in the order of changes; other lists cost nothing for it', async () => {
    expect((await get(';orderNumber=none')).headers).not.toHaveProperty('x-next-since');
    const start = (await step('*', ';orderNumber=none')).next;
    expect((await step(start)).listed).toEqual([]);
    const ids = [await create('S-1'), await create('S-2')].map(({ transactionId }) => transactionId);
    await move({ transactionId: ids[0], action: 'approve' });
    const { listed, next } = await step(start);
    expect((await step(start.replace(/^p0+/, 'p'))).listed).toEqual(listed);
    expect(listed.map(({ orderNumber, messageTypeId }) => [orderNumber, messageTypeId])).toEqual([
      ['S-2', 4],
      ['S-1', 6],
    ]);
    expect((await step(next)).listed).toEqual([]);
  });

  it('sends everything for a position beyond the end, as after a log was replaced (decisions X51)', async () => {
    const { listed } = await step(`p${'9'.repeat(15).padStart(19, '0')}`, ';orderNumber=S-1,S-2');
    expect(listed).toHaveLength(2);
  });

  it.each([
    [`;since=${NOW}`, /since=.*X-Next-Since of an answer to since; minChanged takes a date/],
    [';since=*;page=1', /page=1: cannot be combined with since/],
    [';since=*;orderBy=changed', /orderBy=changed: cannot be combined with since/],
    [';since=*;sortOrder=asc', /sortOrder=asc: cannot be combined with since/],
    [';since=*;cursor=*', /since=.*: cannot be combined with cursor/],
  ])('%s is CON_350', async (keys, message) => {
    const refusal = refusalOf(await get(keys));
    expect(refusal.codes).toBe('400 CON_350');
    expect(refusal.message).toMatch(message);
  });

  it('searches the copy of the read model whose position it returns, though another one becomes live', async () => {
    const { log, store } = app.engines;
    await app.settled();
    const asOf = await liveNow(store, transactions.collection);
    await rebuild(log, store, [transactions], { clock: SYSTEM_CLOCK, owner: 'test', code: 'test' });
    const criteria = { among: { orderNumber: ['S-1'] }, timeOfEvent: {}, changed: {}, approved: {} };
    const page = { orderBy: 'position', descending: false, offset: 0, size: 10, after: null } as const;
    expect(await listTransactions(store, criteria, page, asOf.target)).toMatchObject({ total: 1 });
    expect((await liveNow(store, transactions.collection)).target.generation).not.toBe(
      asOf.target.generation,
    );
    // What is behind a checkpoint may be there in part: a later event of a batch before an earlier one.
    const [listed] = (await get(';orderNumber=S-1')).json<readonly { readonly transactionId: string }[]>();
    const [stored] = await store.get({ collection: 'transactions' }, [listed?.transactionId ?? '']);
    const { position } = JSON.parse(stored?.body ?? '') as { readonly position: number };
    for (const [until, total] of [
      [position - 1, 0],
      [position, 1],
    ] as const)
      expect(await listTransactions(store, { ...criteria, until: positionOf(until) }, page)).toMatchObject({
        total,
      });
  });
});
