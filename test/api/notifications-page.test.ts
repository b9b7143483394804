import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Secrets } from '../../src/domain/subscriptions/secrets';
import { headersOf } from '../../src/delivery/sending/signature';
import { type Attempt } from '../../src/delivery/sending/attempt';
import { attemptTo } from '../delivery/sending/receivers';
import { SETTINGS } from '../../src/settings/settings';
import { subscriptionWorld, SUBSCRIPTIONS } from './subscription-network';

const ROOT = join(__dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/notifications.md'), 'utf8');
const run = promisify(execFile);
const world = subscriptionWorld();

const SECRETS = new Secrets(Buffer.alloc(32, 7));
const TARGET = '/in?order=a%20b&value=1';

/** A request as a server in Node.js gets it. */
function arrived(contentType: string | undefined, body: string) {
  const url = `https://receiver.example${TARGET}`;
  const request: Attempt['request'] =
    contentType === undefined ? { method: 'GET', url } : { method: 'POST', url, contentType, body };
  const attempt = attemptTo(url, { request, secrets: [SECRETS.bytes('s', 1)] });
  const list = headersOf(attempt, TARGET, Buffer.from(body), Date.now());
  const pairs = Array.from({ length: list.length / 2 }, (_, n) => list.slice(2 * n, 2 * n + 2));
  return { url: TARGET, body, headers: Object.fromEntries(pairs) as Readonly<Record<string, string>> };
}

/** Runs the lines in Node.js of the page: all of them for a GET, otherwise those before it. Raises an error if they do. */
async function verify(request: ReturnType<typeof arrived>): Promise<void> {
  const blocks = [...PAGE.matchAll(/^```js\n([^]*?)^```/gm)].map(([, lines = '']) => lines);
  const isGet = 'webhook-signature-target' in request.headers;
  const lines = isGet ? blocks : blocks.slice(0, 1);
  const given = `const { url, body, headers } = ${JSON.stringify(request)};`;
  await run(process.execPath, ['--input-type=module', '--eval', [given, ...lines].join('\n')], {
    cwd: ROOT,
    env: { WEBHOOK_SECRET: SECRETS.text('s', 1) },
  });
}

describe('docs/notifications.md', () => {
  test.each([
    ['JSON', 'application/json; charset=utf-8', '{"order": "ü"}'],
    ['XML', 'application/xml; charset=utf-8', '<order>ü</order>'],
    ['plain text', 'text/plain; charset=utf-8', 'order=ü'],
    ['a GET', undefined, ''],
  ])('has lines in Node.js that verify %s, and refuse what has been changed', async (_, type, body) => {
    const request = arrived(type, body);
    await verify(request);
    const forged = type === undefined ? { url: `${TARGET}0` } : { body: `${body} ` };
    await expect(verify({ ...request, ...forged })).rejects.toThrow('No matching signature found');
  });

  test('has all headers of a message, and no others (decisions N5)', () => {
    const described = [...PAGE.matchAll(/^\| `([\w-]+)` +\|/gm)].map(([, name]) => name);
    const sent = headersOf(
      attemptTo('https://receiver.example', {
        ...{ request: { method: 'GET', url: 'https://receiver.example' }, isManual: true, isTest: true },
      }),
      ...([TARGET, Buffer.from(''), 0] as const),
    ).filter((name) => name.startsWith('webhook-'));
    expect([...described].sort()).toEqual([...sent].sort());
    expect(described).toEqual(expect.arrayContaining(PAGE.match(/webhook-[a-z]+(?:-[a-z]+)?/g) ?? []));
  });

  test('has operations that exist only (decisions N14)', async () => {
    const { paths } = (await world.app.get('/1.0/openapi.json')).json<{
      readonly paths: Readonly<Record<string, object>>;
    }>();
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
    );
    const inText = [...PAGE.matchAll(/`(GET|POST)\s+…(\/[^`]+)`/g)].map(
      ([, method = '', path = '']) => `${method} ${SUBSCRIPTIONS}/<id>${path}`,
    );
    const inShell = [...PAGE.matchAll(/^curl -sS (?:-X (\w+) )?"\$BASE([^;?"]+)/gm)].map(
      ([, method = 'GET', path = '']) => `${method} ${path}`,
    );
    expect([inText.length, inShell.length]).toEqual([9, 5]);
    for (const operation of [...inText, ...inShell])
      expect(operations).toContain(operation.replaceAll(/<\w+>|\$[A-Z]+/g, '{}'));
  });

  test('has the default of NOTIFY_KEEP', () => {
    const [, days] = /kept for (\d+) days.*\n?.*`NOTIFY_KEEP`/.exec(PAGE) ?? [];
    expect(SETTINGS.NOTIFY_KEEP.default).toBe(`${days}d`);
  });
});
