import { join } from 'node:path';
import { Secrets } from '../../src/domain/subscriptions/subscription';
import { AllowedAddresses } from '../../src/delivery/sending/addresses';
import { Sender } from '../../src/delivery/sending/sender';
import { signatureOf } from '../../src/delivery/sending/attempt';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { attemptTo } from '../delivery/sending/receivers';
import { DIST } from '../support/built';
import { Server } from '../support/server';
import { cliFolder, run } from './run';

const secrets = new Secrets(Buffer.alloc(32, 3));
const [secret, bytes] = [secrets.text('abc', 1), secrets.bytes('abc', 1)];
const ID = 'msg_0123456789abcdefghijklmnopqrstuv';
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const { fileOf } = cliFolder();

describe('affilog receiver', () => {
  const sender = new Sender({ clock: SYSTEM_CLOCK, allowed: AllowedAddresses.parse('127.0.0.1') });
  let receiver: Server | undefined;

  /** Starts the program; the function returns all lines but the first, their times apart. */
  const start = (...flags: readonly string[]) => startIn({}, ...flags);

  async function startIn(
    environment: Readonly<Record<string, string>>,
    ...flags: readonly string[]
  ): Promise<{ url: string; lines: () => readonly string[] }> {
    const command = [process.execPath, join(DIST, 'src/main.js'), 'receiver', '--port', '0'];
    receiver = await Server.start('', { command, args: flags, environment });
    const { url, stdoutLines } = receiver;
    return { url, lines: () => stdoutLines.slice(1) };
  }

  /** The lines, once there are as many. */
  async function linesOf(lines: () => readonly string[], count: number): Promise<readonly unknown[]> {
    while (lines().length < count) await new Promise(setImmediate);
    return lines().flatMap((line) => (line.startsWith(' ') ? [line] : [line.slice(0, 24), line.slice(25)]));
  }

  afterEach(async () => {
    expect(await receiver?.end()).toBe(receiver === undefined ? undefined : 0);
    receiver = undefined;
  });
  afterAll(() => sender.close());

  it('prints messages whose signatures it has verified, POST and GET (decisions N5)', async () => {
    const { url, lines } = await start('--secret', secret);
    const post = attemptTo(`${url}/hook?x=1`, { secrets: [secrets.bytes('abc', 2), bytes], number: 2 });
    const get = { method: 'GET', url: `${url}/get?transaction=7` } as const;
    expect(await sender.attempt(post)).toMatchObject({ end: 'success', status: 200 });
    expect(
      await sender.attempt(attemptTo(url, { request: get, secrets: [bytes], isTest: true })),
    ).toMatchObject({
      end: 'success',
    });
    expect(await linesOf(lines, 5)).toEqual([
      TIME,
      `POST /hook?x=1 ${ID} attempt 2 sequence 7: verified; answered 200`,
      '  {',
      '    "a": "ü"',
      '  }',
      TIME,
      `GET /get?transaction=7 ${ID} attempt 1 sequence 7 test: verified; answered 200`,
    ]);
  });

  it.each([
    ['--secret @FILE', ['--secret', '@FILE'], {}],
    ['WEBHOOK_SECRET', [], { WEBHOOK_SECRET: secret }],
    ['WEBHOOK_SECRET=@FILE', [], { WEBHOOK_SECRET: '@FILE' }],
  ])(
    'takes the secret without showing it in the list of processes: %s (decisions X99)',
    async (_, flags, set) => {
      const file = await fileOf(`${secret}\n`, 'secret');
      const named = (value: string): string => value.replace('FILE', file);
      const environment = Object.fromEntries(
        Object.entries(set).map(([name, value]) => [name, named(value)]),
      );
      const { url, lines } = await startIn(environment, ...flags.map(named));
      const post = attemptTo(`${url}/`, { secrets: [bytes] });
      expect(await sender.attempt(post)).toMatchObject({ end: 'success' });
      expect((await linesOf(lines, 2))[1]).toMatch(/: verified; answered 200$/);
    },
  );

  it('says why it has not verified a message (decisions N5)', async () => {
    const { url, lines } = await start('--secret', secret);
    const seconds = Math.round(Date.now() / 1000);
    const send = async (
      timestamp: number,
      { method = 'POST', path = '/', body = 'text', signs = 'text', target = '/' } = {},
    ): Promise<void> => {
      const signed = { id: 'msg_1', timestamp };
      const headers = {
        'webhook-id': 'msg_1',
        'webhook-timestamp': `${timestamp}`,
        'webhook-signature': signatureOf([bytes], signed, signs),
        'webhook-signature-target': signatureOf([bytes], signed, target),
      };
      await fetch(url + path, { method, headers, ...(method === 'POST' ? { body } : {}) });
    };
    await sender.attempt(attemptTo(`${url}/`, { secrets: [secrets.bytes('abc', 2)] }));
    await send(seconds, { body: 'changed' });
    await send(seconds - 400);
    await send(seconds + 400);
    await send(seconds, { method: 'GET', signs: '', path: '/other' });
    await send(seconds, { method: 'GET', signs: '', path: '/' });
    await fetch(url, { method: 'POST', body: 'a\u001b[31m\u0000b\nc' });
    const wrong = 'NOT VERIFIED, the signature does not match: another secret, or the body has been changed';
    const printed = await linesOf(lines, 14);
    expect(printed.filter((line) => line !== undefined)).toEqual([
      TIME,
      `POST / ${ID} attempt 1 sequence 7: ${wrong}; answered 200`,
      '  {',
      '    "a": "ü"',
      '  }',
      TIME,
      `POST / msg_1: ${wrong}; answered 200`,
      '  changed',
      TIME,
      expect.stringMatching(
        /^POST \/ msg_1: NOT VERIFIED, webhook-timestamp is 4\d\d s in the past, at most 300 s are accepted; answered 200$/,
      ),
      '  text',
      TIME,
      expect.stringMatching(/^POST \/ msg_1: NOT VERIFIED, webhook-timestamp is \d{3} s in the future, .*$/),
      '  text',
      TIME,
      expect.stringMatching(
        /^GET \/other msg_1: NOT VERIFIED, webhook-signature-target: the signature does not match/,
      ),
      TIME,
      'GET / msg_1: verified; answered 200',
      TIME,
      'POST / (no webhook-id): NOT VERIFIED, webhook-id, webhook-timestamp or the signature is missing; answered 200',
      '  a[31mb',
      '  c',
    ]);
  });

  it('answers as it is told, to see retries (decisions N3)', async () => {
    const { url, lines } = await start('--answer', '503', '--delay', '50');
    const result = await sender.attempt(attemptTo(`${url}/`));
    expect(result).toMatchObject({ end: 'failure', status: 503 });
    expect(result.ms).toBeGreaterThanOrEqual(45);
    expect(await linesOf(lines, 4)).toEqual([
      TIME,
      `POST / ${ID} attempt 1 sequence 7: not verified, no --secret; answered 503`,
      ...['  {', '    "a": "ü"', '  }'],
    ]);
  });

  it('refuses a body that is longer than any message (decisions N10)', async () => {
    const { url, lines } = await start();
    const most = await fetch(url, { method: 'POST', body: 'x'.repeat(256 * 1024) });
    expect(most.status).toBe(200);
    const more = fetch(url, { method: 'POST', body: 'x'.repeat(256 * 1024 + 1) });
    expect(await more.then(({ status }) => status)).toBe(413);
    const printed = await linesOf(lines, 3);
    expect(printed.at(-1)).toBe('POST / (no webhook-id): the body is longer than 256 KiB, answered 413');
  });

  it.each([
    [['--port', 'x'], /Expected an integer from 0 to 65535/],
    [['--answer', '99'], /Expected an integer from 200 to 599/],
    [['--delay', '-1'], /Expected an integer from 0 to 3600000/],
    [
      ['--secret', 'hush'],
      /^affilog: the secret of the subscription: expected whsec_ and base64, as it is answered\n$/,
    ],
  ])(
    '%j is wrong usage: exit code 2, and a secret is not repeated (decisions N5)',
    async (flags, message) => {
      const { code, out, err } = await run(['receiver', '--port', '0', ...flags]);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(message);
      expect(err).not.toContain('hush');
    },
  );
});
