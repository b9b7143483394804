import { FEEDS } from '../../src/demo/network';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DAY, demoFeed, demoPriceChanges } from '../../src/demo/products';
import { createDemo, demoLines, demoVouchers, offeredTokens } from '../../src/demo/create-demo';
import { type DemoReceiver, openDemoReceiver } from '../../src/demo/subscriptions';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { toDomainEvent } from '../../src/kernel/decider';
import { type StateId } from '../../src/domain/transactions/states';
import { type ClaimEvent } from '../../src/domain/claims/claim';
import { storedAfter as claimAfter, type StoredClaim, workOn } from '../../src/domain/claims/stored-claim';
import { dueOf, storedAfter, type StoredTransaction } from '../../src/domain/transactions/stored-transaction';
import { type TransactionEvent } from '../../src/domain/transactions/transaction';

let log: EventLog;
let folder: string;
let receiver: DemoReceiver;

const receiverOf = async (events: EventLog): Promise<DemoReceiver> => {
  const opened = await openDemoReceiver(events);
  if (opened === undefined) throw new Error('its port is in use');
  return opened;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'affilog-'));
  ({ log } = await openLog(join(folder, 'log.sqlite'), false));
  receiver = await receiverOf(log);
});

afterAll(async () => {
  await receiver.close();
  await log.close();
  await rm(folder, { recursive: true });
});

async function eventsByType(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for await (const { events } of log.readAll({ after: START, prefixes: ['feed-', 'voucher-'] })) {
    for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  }
  return counts;
}

const total = (lists: readonly (readonly unknown[])[]): number =>
  lists.reduce((sum, { length }) => sum + length, 0);

describe('The demo in a log', () => {
  it('lists every product, has an event for each price change, publishes every voucher, and is created only once', async () => {
    const shown: string[] = [];
    const key = Buffer.alloc(32, 1);
    const tokens = await createDemo(log, folder, (step) => shown.push(step), {
      ...{ key, receiver: receiver.address },
    });
    const lines = demoLines(tokens, 'http://127.0.0.1:3000');
    // However slow the engines are, there is something new to show.
    const shares = shown.map((step) => Number(/: (\d+) % of its history$/.exec(step)?.[1] ?? 0));
    expect(shares).toEqual([...shares].sort((one, other) => one - other));
    expect([shares[0], shares.at(-1), new Set(shares).size > 50]).toEqual([0, 100, true]);
    expect(lines.filter((line) => /^[0-9a-f]{40} /.test(line))).toHaveLength(16);
    const rounds = demoPriceChanges(new Date());
    expect(await eventsByType()).toEqual({
      ProductListed: total(FEEDS.map(({ id }) => demoFeed(id))),
      ProductRepriced: total(rounds.map(({ products }) => products)),
      FeedImported: FEEDS.length + rounds.length,
      VoucherPublished: demoVouchers(new Date()).length,
      VoucherRevised: 1,
    });
    const head = await log.head();
    // Each later start knows the tokens by the key of the installation; another one knows none.
    expect(await createDemo(log, folder, undefined, { key })).toEqual(tokens);
    expect(await createDemo(log, folder)).toEqual([]);
    expect(await log.head()).toBe(head);
    expect(offeredTokens(tokens)[2]).toEqual({
      ...{ token: tokens[2]?.token, system: 'PRODUCTS', kind: 'publisher' },
      owner: 'Preisfuchs, site Preisfuchs',
    });
  });

  it('has its events in chronological order, and vouchers of all types', async () => {
    const times: string[] = [];
    const types = new Set<number>();
    const prefixes = ['organisation-', 'program-', 'feed-', 'voucher-', 'transaction-', 'claim-'];
    for await (const { events } of log.readAll({ after: START, prefixes })) {
      for (const { data } of events) {
        const { at, voucher } = JSON.parse(data) as { at: string; voucher?: { voucherTypeId: number } };
        times.push(at);
        if (voucher !== undefined) types.add(voucher.voucherTypeId);
      }
    }
    expect(times).toEqual([...times].sort());
    expect([...types].sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('has some 500 transactions in all nine states, of which none is due (decisions T4)', async () => {
    const stored = new Map<string, StoredTransaction>();
    const pausedPrograms = new Set<number>();
    let oldest = '';
    for await (const { events } of log.readAll({ after: START, prefixes: ['transaction-', 'program-'] })) {
      for (const recorded of events) {
        const { stream, revision, type } = recorded;
        if (type === 'ProgramPaused') pausedPrograms.add(Number(stream.slice('program-'.length)));
        if (type === 'ProgramClosed') pausedPrograms.delete(Number(stream.slice('program-'.length)));
        if (!stream.startsWith('transaction-')) continue;
        const event = toDomainEvent(recorded) as TransactionEvent;
        if (oldest === '') oldest = event.data.at;
        stored.set(stream, storedAfter(stored.get(stream), event, revision));
      }
    }
    const all = [...stored.values()];
    const claimed = all.filter(({ transaction }) => transaction.orderNumber.startsWith('C-'));
    expect(all).toHaveLength(496 + claimed.length);
    expect(Math.round((Date.now() - Date.parse(oldest)) / DAY)).toBe(90);
    const ofState = (state: StateId) => all.filter(({ messageTypeId }) => messageTypeId === state);
    for (const state of [1, 2, 3, 4, 5, 6, 7, 8, 9] as const)
      expect([state, ofState(state).length > 4]).toEqual([state, true]);
    expect(all.filter((one) => (dueOf(one) ?? Infinity) <= Date.now())).toEqual([]);
    const paused = ofState(3).map(({ transaction }) => transaction.programId);
    expect(new Set(paused)).toEqual(pausedPrograms);
  });

  it('has 60 claims in many statuses, and nothing that the system still has to do with them (decisions C5, C10, C11)', async () => {
    const stored = new Map<string, StoredClaim>();
    for await (const { events } of log.readAll({ after: START, prefixes: ['claim-'] }))
      for (const recorded of events) {
        const after = claimAfter(stored.get(recorded.stream), toDomainEvent(recorded) as ClaimEvent);
        if (after !== undefined) stored.set(recorded.stream, after);
      }
    const all = [...stored.values()];
    expect(all).toHaveLength(60);
    const statuses = new Set(all.map(({ status }) => status.id));
    for (const status of [2, 3, 101, 102, 103, 105, 106, 111, 113, 114, 115, 116, 201] as const)
      expect([status, statuses.has(status)]).toEqual([status, true]);
    expect(statuses.size).toBeGreaterThanOrEqual(16);
    for (const { autoApproveAt = Infinity, ...others } of all.map(workOn)) {
      expect(others).toEqual({});
      expect(autoApproveAt).toBeGreaterThan(Date.now());
    }
    // Examples of the description name them.
    for (const id of [56, 57, 58, 59, 60])
      expect(stored.get(`claim-${id}`)).toMatchObject({
        status: { id: 2 },
        version: 0,
        origin: { advertiserId: 1, publisherId: 11 },
        claim: { siteId: 1101, programId: 101 },
      });
    for (const id of [17, 18])
      expect(stored.get(`claim-${id}`)).toMatchObject({ status: { id: 105 }, version: 0 });
    expect(new Set(all.map(({ origin }) => origin.publisherId)).size).toBe(2);
    expect(all.filter(({ adjusted }) => adjusted?.orderValue !== undefined).length).toBeGreaterThan(2);
    expect(all.filter(({ claim }) => claim.advertiserInformation !== undefined).length).toBeGreaterThan(2);
  });

  it('has subscriptions of a publisher, whose receiver accepts most of what is sent (decisions X142)', async () => {
    const urls: string[] = [];
    for await (const { events } of log.readAll({ after: START, prefixes: ['subscription-'] }))
      for (const { data } of events) {
        const { organisationId, subscription } = JSON.parse(data) as {
          readonly organisationId: number;
          readonly subscription: { readonly receivers: readonly { readonly receiverUrl: string }[] };
        };
        expect(organisationId).toBe(11);
        urls.push(...subscription.receivers.map(({ receiverUrl }) => receiverUrl));
      }
    expect(urls.map((url) => new URL(url).host)).toEqual(Array.from({ length: 4 }, () => receiver.address));
    const sent = async (url = '') => (await fetch(url, { method: 'POST', body: '{}' })).status;
    const statuses: number[] = [];
    for (let count = 0; count < 16; count += 1) statuses.push(await sent(urls[0]));
    expect(statuses.filter((status) => status === 200)).toHaveLength(14);
    expect(statuses.filter((status) => status === 500)).toHaveLength(2);
    expect(await sent(urls[2])).toBe(410);
    // Once more by the same process, and after a restart.
    expect(await openDemoReceiver(log)).toBeUndefined();
    const { address } = receiver;
    await receiver.close();
    receiver = await receiverOf(log);
    expect(receiver.address).toBe(address);
  });

  it('is refused as incomplete when its creation was interrupted', async () => {
    await writeFile(join(folder, 'demo-under-way'), '');
    await expect(createDemo(log, folder)).rejects.toThrow('remove the data folder and start again');
  });
});
