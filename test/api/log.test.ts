import { setImmediate as turn } from 'node:timers/promises';
import { NO_STREAM } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { EVENTS } from '../../src/operations/events/schemas';
import { checkLog, logStats } from '../../src/operations/inspect-log';
import { tokenHash } from '../../src/network/organisations';
import { newEvents } from '../contracts/event-log/events';
import { HeldClock } from '../support/clock';
import { golden } from '../support/golden';
import { type Response, TestApp } from '../support/app';
import { eventsOf, overrideLog } from '../support/temporary-log';
import { NETWORK, OTHER_TOKENS, TOKENS } from './network';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

interface Line {
  readonly position: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const token = OTHER_TOKENS.operator;
const ask = (keys: string, by = token): Promise<Response> => app.get(`/ops/1.0/log${keys}`, { token: by });
const linesOf = (body: string): readonly Line[] =>
  body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

describe('the log over HTTP (decisions X107)', () => {
  it('is a line for each event, and continues after the position of any of them', async () => {
    const answer = await ask('');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      200,
      'application/x-ndjson; charset=utf-8',
    ]);
    const all = linesOf(answer.body);
    expect(all.map(({ position }) => position)).toEqual(
      (await eventsOf(app.engines.log)).map(({ position }) => position),
    );
    const [first] = linesOf((await ask(';limit=1')).body);
    expect(first).toEqual(all[0]);
    expect(linesOf((await ask(`;after=${first!.position}`)).body)).toEqual(all.slice(1));
    expect((await ask('.ndjson;limit=1')).body).toBe((await ask(';limit=1')).body);
    for (const { type } of all) expect(EVENTS.has(type)).toBe(true);
  });

  it('has no hash of a token, nor anything else that is secret', async () => {
    const { log } = app.engines;
    const owned = golden('DeliveriesOwned');
    const created = golden('SubscriptionCreated');
    const receivers = [
      { receiverUrl: 'https://me:pass@crm.example:8443/hook/s3cret?key=s3cret', httpMethod: 'GET' },
      {
        receiverUrl: 'http://crm.example',
        httpMethod: 'POST',
        receiverBody: '{"s3cret":1}',
        receiverFormat: 'JSON',
      },
    ];
    const data = { ...created.event.data, subscription: { filter: { stateIds: [4] }, receivers } };
    const event = (type: string, of: object, n: number) => ({
      ...{ id: `b1f0c6a0-0000-4000-8000-00000000000${n}`, type, data: JSON.stringify(of), meta: '{}' },
    });
    await log.append('deliveries-owner', NO_STREAM, [event('DeliveriesOwned', owned.event.data, 1)]);
    await log.append('subscription-masked', NO_STREAM, [event('SubscriptionCreated', data, 2)]);
    await log.append('other-9', NO_STREAM, [event('DeliveriesOwned', { nested: { key: 's3cret' } }, 3)]);
    const { body } = await ask('');
    const hashes = [...Object.values(TOKENS), token].map((one) => tokenHash(one));
    expect(hashes.filter((hash) => body.includes(hash))).toEqual([]);
    expect(body).not.toMatch(/s3cret|pass@|"hash"|"key"/);
    const [subscription] = linesOf(body).filter(({ type }) => type === 'SubscriptionCreated');
    expect(subscription?.data['subscription']).toMatchObject({
      receivers: [
        { receiverUrl: 'https://crm.example:8443', httpMethod: 'GET' },
        { receiverUrl: 'http://crm.example', httpMethod: 'POST', receiverFormat: 'JSON' },
      ],
    });
    expect(linesOf(body).some(({ type, data: of }) => type === 'TokenIssued' && of['system'] === 'OPS')).toBe(
      true,
    );
  });

  it.each([
    [';type=ProductRenamed', 400, 'type=ProductRenamed: expected a type of event'],
    [';type=constructor', 400, 'type=constructor: expected a type of event'],
    [';since=yesterday', 400, 'since=yesterday: expected a time'],
    [';after=x', 400, 'after=x: expected a log position'],
    [';limit=0', 400, 'limit=0'],
    ['.csv', 404, '.csv: expected .ndjson'],
  ])('refuses %s', async (keys, status, message) => {
    const { statusCode, body } = await ask(keys);
    expect([statusCode, body]).toEqual([status, expect.stringContaining(message)]);
  });

  it('is counted and checked by the functions of the command line, by one request at a time (decisions X106)', async () => {
    const { log } = app.engines;
    const path = '/ops/1.0/log';
    const [stats, refused] = await Promise.all([
      app.get(`${path}/stats`, { token }),
      app.get(`${path}/check`, { token }),
    ]);
    expect(stats.json()).toEqual(await logStats(log));
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1']);
    const checked = await app.get(`${path}/check`, { token });
    expect(checked.json()).toEqual(await checkLog(log));
    expect(checked.json()).toMatchObject({ problems: [{ type: 'DeliveriesOwned' }] });
    expect((await app.get(`${path}/stats`, { token: TOKENS.nord })).statusCode).toBe(403);
  });

  it('is for operators', async () => {
    expect((await ask('', TOKENS.nord)).statusCode).toBe(403);
  });

  it('has an empty line for followers whenever there was no event for 15 seconds (decisions X107)', async () => {
    const clock = new HeldClock(15_000);
    const own = await app.again({ clock });
    await own.listen(0, '127.0.0.1');
    const after = await app.engines.log.head();
    const { body } = await fetch(
      `${await own.getUrl()}/ops/1.0/log;after=${after};follow=true?token=${token}`,
    );
    const reader = body!.getReader();
    const next = async () => Buffer.from((await reader.read()).value).toString();
    const quiet = async () => {
      const line = next();
      const fired = setInterval(() => clock.fire(15_000), 10);
      return await line.finally(() => clearInterval(fired));
    };
    expect([await quiet(), await quiet()]).toEqual(['\n', '\n']);
    const [event] = newEvents(1);
    await app.engines.log.append('other-quiet', NO_STREAM, [event!]);
    expect(linesOf(await next())).toMatchObject([{ stream: 'other-quiet' }]);
    expect(await quiet()).toBe('\n');
    const ended = reader.read();
    await own.close();
    expect((await ended).done).toBe(true);
  });

  it('is followed until the reader leaves or the server stops, by a bounded number of readers', async () => {
    const own = await app.again();
    await own.listen(0, '127.0.0.1');
    const url = `${await own.getUrl()}/ops/1.0/log;after=${await app.engines.log.head()};follow=true?token=${token}`;
    const leaving = new AbortController();
    const followers = await Promise.all(
      Array.from({ length: 16 }, () => fetch(url, { signal: leaving.signal })),
    );
    expect(followers.map(({ status }) => status)).toEqual(followers.map(() => 200));
    expect((await fetch(url)).status).toBe(503);
    leaving.abort();
    let last = await fetch(url);
    while (last.status === 503) last = await fetch(url);
    const reader = last.body!.getReader();
    for (const stream of ['other-1', 'other-2']) {
      const [event] = newEvents(1);
      await app.engines.log.append(stream, NO_STREAM, [event!]);
      const { value } = await reader.read();
      expect(linesOf(Buffer.from(value).toString())).toMatchObject([{ stream, id: event!.id }]);
    }
    const ended = reader.read();
    await own.close();
    expect((await ended).done).toBe(true);
  });

  it.each(['gzip', 'identity'])('is read no further for a reader that has left (%s)', async (encoding) => {
    let reading = 0;
    const own = await app.again({ eventLog: endless((by) => (reading += by)) });
    await own.listen(0, '127.0.0.1');
    const url = `${await own.getUrl()}/ops/1.0/log;since=2020-01-01?token=${token}`;
    const leaving = new AbortController();
    const readers = Array.from({ length: 16 }, () =>
      fetch(url, { signal: leaving.signal, headers: { 'Accept-Encoding': encoding } }),
    );
    while (reading < 16) await turn();
    expect((await fetch(url)).status).toBe(503);
    leaving.abort();
    await Promise.allSettled(readers);
    while (reading > 0) await turn();
    const another = fetch(url, { headers: { 'Accept-Encoding': encoding } });
    while (reading < 1) await turn();
    await own.close();
    expect(await (await another).text()).toBe('');
    expect(reading).toBe(0);
  });

  it.each(['stats', 'check'])('has up to a million events for %s (decisions X106)', async (operation) => {
    const [event] = await eventsOf(app.engines.log);
    const many = overrideLog(app.engines.log, {
      async *readAll() {
        const events = Array.from({ length: 1_000 }, () => ({ ...event!, type: 'Happened' }));
        for (let at = 0; at <= 1_000; at += 1) yield await Promise.resolve({ ...END, events });
      },
    });
    const own = await app.again({ eventLog: many });
    const { statusCode, body } = await own.inject(`/ops/1.0/log/${operation}?token=${token}`);
    await own.close();
    const remedy = `the log has more than 1000000 events: run \`affilog log ${operation}\``;
    expect([statusCode, body]).toEqual([400, expect.stringContaining(remedy)]);
  });

  it.each(['stats', 'check'])(
    'does not keep a server from stopping: %s (decisions X106)',
    async (operation) => {
      let reading = 0;
      const own = await app.again({ eventLog: endless((by) => (reading += by)) });
      await own.listen(0, '127.0.0.1');
      const answer = fetch(`${await own.getUrl()}/ops/1.0/log/${operation}?token=${token}`);
      while (reading < 1) await turn();
      await own.close();
      expect(reading).toBe(0);
      expect((await answer).status).toBe(500);
    },
  );
});

const END = { position: '0'.repeat(19), caughtUp: true };

/** The log of the application, whose reads do not end; `onReads` gets 1 when one begins and -1 when it ends. */
function endless(onReads: (by: number) => void): EventLog {
  return overrideLog(app.engines.log, {
    async *readAll() {
      onReads(1);
      try {
        for (;;) {
          await turn();
          yield { ...END, events: [], caughtUp: false };
        }
      } finally {
        onReads(-1);
      }
    },
  });
}
