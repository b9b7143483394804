import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { DAY } from '../../../src/wire/date';
import { openEngines } from '../../../src/engines/open';
import { freePort, removeFolder, Server, temporaryFolder } from '../../support/server';

const ROOT = join(__dirname, '../../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const run = promisify(execFile);

interface Example {
  readonly command: string;
  /** The answer in the README, if it shows one. */
  readonly answer: string | undefined;
}

const PAST = /## Questions about the past[\s\S]*?```sh\n([\s\S]*?)```/;

/** The blocks of commands of `docs/feeds.md`, with what it shows of each. */
function blocksOfFeeds(): Example[] {
  const text = readFileSync(join(ROOT, 'docs/feeds.md'), 'utf8');
  return [...text.matchAll(/```sh\n(.*?)```(?:\s*```(?:json|text)\n(.*?)```)?/gs)].map(
    ([, command = '', answer]) => ({ command, answer: answer?.trim() }),
  );
}

/** All `curl` commands of the README in order, but for those about the past. */
function examples(): Example[] {
  const blocks = README.replace(PAST, '').matchAll(
    /```sh\n([\s\S]*?)```(?:\s*```(?:json|xml)\n([\s\S]*?)```)?/g,
  );
  return [...blocks].flatMap(([, block = '', answer]) =>
    block
      .split(/^(?=curl )/m)
      .filter((command) => command.startsWith('curl '))
      .map((command) => ({ command, answer: answer?.trim() })),
  );
}

/** curl, with the status on standard error. */
const CURL = `curl() { command curl -w '%{stderr}%{http_code}' "$@"; }`;

/** `npm start` builds, then becomes the server. */
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: { readonly start: string };
};
const AFFILOG = join(ROOT, 'affilog');
const [BUILD, START = ''] = scripts.start.split(/ && (?:exec )?/);

/** What runs in a second shell. */
const [, RECEIVER = ''] = /^\.\/affilog (receiver .*)$/m.exec(README) ?? [];

/** Replaces times and random ids, which differ from run to run. */
function withoutTimes(text: string): string {
  return text
    .trim()
    .replaceAll(/\b1[78]\d{11}\b/g, '<ms>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/"\d{4}-\d\d-\d\d"/g, '"<day>"')
    .replaceAll(/"(subscriptionId|receiverId)":"\w{16,32}"/g, '"$1":"<id>"');
}

describe('the README', () => {
  let folder: string;
  let server: Server;
  let port: number;

  beforeAll(async () => {
    folder = await temporaryFolder();
    port = await freePort();
    // Another process of this machine may have port 4000.
    const environment = { NOTIFY_ALLOW: `127.0.0.1:${port}` };
    server = await Server.start(folder, { command: START.split(' '), environment });
  });

  afterAll(async () => {
    await server.end();
    await removeFolder(folder);
  });

  test('has one line to install and start, and one to install and test', () => {
    expect(README).toMatch(/^npm ci && npm start$/m);
    expect(README).toMatch(/^npm ci && npm test$/m);
  });

  test('has a start command that builds first', () => expect(BUILD).toBe('npm run --silent build'));

  test('has a start command whose server stops with it: a signal to npm reaches the server', async () => {
    const started = await Server.start(folder, { command: ['npm', 'start'] });
    await started.end('SIGTERM');
    await expect(fetch(started.url)).rejects.toThrow();
  });

  test('names a program that runs after a build', async () => {
    const { stdout } = await run(AFFILOG, ['--help']);
    expect(stdout).toMatch(/^Usage: affilog /);
  });

  test('has curl commands that all succeed, with the answers it shows', async () => {
    const tokens = server.stdoutLines.filter((line) => line.startsWith('export ')).join('\n');
    expect(tokens).toMatch(/^export ADVERTISER=[0-9a-f]{40} PUBLISHER=[0-9a-f]{40}$/m);
    expect(tokens).toMatch(/^export VOUCHER_ADVERTISER=[0-9a-f]{40} VOUCHER_PUBLISHER=[0-9a-f]{40}$/m);
    expect(tokens).toMatch(
      /^export CONVERSION_ADVERTISER=[0-9a-f]{40} CONVERSION_PUBLISHER=[0-9a-f]{40}\nexport CONVERSION_OPERATOR=[0-9a-f]{40} OPS=[0-9a-f]{40}\nexport CLAIM_ADVERTISER=[0-9a-f]{40} CLAIM_PUBLISHER=[0-9a-f]{40}$/m,
    );
    const commands = examples();
    expect(commands.map(({ answer }) => answer !== undefined)).toEqual([
      ...[true, true, true, true, true, true],
      ...[false, false, false, false, false, false, false],
      ...[true, true, true, true, true, true],
      ...[false, true],
    ]);
    const receiver = spawn(AFFILOG, RECEIVER.replace('4000', `${port}`).split(' '), {
      cwd: folder,
    });
    const printed: string[] = [];
    createInterface(receiver.stdout).on('line', (line) => printed.push(line));
    for (const { command, answer } of commands) {
      const script = `${tokens}\n${CURL}\n${command.replaceAll('http://127.0.0.1:3000', server.url).replaceAll(':4000/', `:${port}/`)}`;
      const { stdout, stderr } = await run('bash', ['-c', script], { cwd: folder });
      expect([command, stderr]).toEqual([command, command.includes('/subscriptions?') ? '201' : '200']);
      const answered = stdout
        .replaceAll(server.url, 'http://127.0.0.1:3000')
        .replaceAll(`:${port}/`, ':4000/');
      // Document 3: no body.
      if (command.includes('/1.0/claims?')) expect(answered).toBe('');
      else if (answer === undefined) expect(answered + command).toMatch(/^[{[\d]|^HTTP| -o /);
      else expect(withoutTimes(answered)).toBe(withoutTimes(answer));
    }
    while (printed.filter((line) => line.includes(' POST /in ')).length < 2)
      await once(receiver.stdout, 'data');
    receiver.kill();
    await once(receiver, 'exit');
    expect(printed.join('\n')).toContain('"order": "HELLO-2"');
    expect(await readFile(join(folder, 'feed-1001.csv'), 'utf8')).toMatch(/hello-1/);
    expect(await readFile(join(folder, 'changes-1001.json'), 'utf8')).toMatch(/"hello-1"/);
  });

  test('leads to docs/feeds.md, whose commands have the outputs that it shows', async () => {
    const tokens = server.stdoutLines.filter((line) => line.startsWith('export ')).join('\n');
    const shop = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/xml' });
      createReadStream(join(folder, 'merchant.xml')).pipe(response);
    });
    await once(shop.listen(port, '127.0.0.1'), 'listening');
    const shown = (text: string): string =>
      withoutTimes(text)
        .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, '<id>')
        .replaceAll(/"(listed|removed)": \d+/g, '"$1": <n>');
    const blocks = blocksOfFeeds();
    expect(blocks.map(({ answer }) => answer !== undefined)).toEqual([
      ...[false, true, true, true, true, true, true, false, false, true, false, false],
    ]);
    const env = { PATH: process.env.PATH, AFFILOG_SERVER: server.url };
    for (const { command, answer } of blocks) {
      const script = command
        .replaceAll('http://127.0.0.1:3000', server.url)
        .replaceAll(':4000/', `:${port}/`)
        .replace('./affilog', AFFILOG);
      const isFetched = answer?.includes('"held"') === true;
      for (;;) {
        const { stdout } = await run('bash', ['-ec', `${tokens}\n${script}`], { cwd: folder, env });
        const found = stdout.replaceAll(`:${port}/`, ':4000/');
        // Fetched a moment later.
        if (isFetched && found.includes('"new"')) continue;
        if (answer !== undefined) expect([command, shown(found)]).toEqual([command, shown(answer)]);
        expect([command, found]).toEqual([command, expect.not.stringMatching(/^\{\s*"errors":\s*\[\{/)]);
        break;
      }
    }
    shop.close();
  });

  test('has commands that answer questions about the past', async () => {
    const [, block = ''] = PAST.exec(README) ?? [];
    const commands = block.split('\n').filter((line) => /^(?:\.\/affilog|curl) /.test(line));
    expect(commands).toHaveLength(14);
    const tokens = server.stdoutLines.filter((line) => line.startsWith('export ')).join('\n');
    const daysAgo = (days: number): string => new Date(Date.now() - days * DAY).toISOString().slice(0, 10);
    const answers: string[] = [];
    for (const command of commands) {
      const script = command
        .replace('./affilog', AFFILOG)
        .replaceAll('2026-10-01', daysAgo(50))
        .replaceAll('2026-10-31', daysAgo(20))
        .replace('http://127.0.0.1:3000', server.url);
      const env = { PATH: process.env.PATH, DATA_DIR: folder };
      answers.push((await run('bash', ['-c', `${tokens}\n${script}`], { cwd: folder, env })).stdout);
    }
    const [then, history, approved, , exported, month, weeks, columns, built, ...asked] = answers;
    expect(then).toContain('   code: "KLANG5"\n');
    expect(history).toContain('   code: "KLANG5" -> "KLANG10"\n');
    expect(approved).toMatch(/^programId {2}reported {2}within_a_week\n[^]*\n101 +\d+ +[1-9]/);
    expect(await readFile(join(folder, 'prices.csv'), 'utf8')).toMatch(
      /^time,.*\r\n[^\n]*,\d+\.\d\d,EUR\r\n/,
    );
    expect(exported).toMatch(/^\d+ events up to position \d+, files: 1/);
    expect(month).toMatch(/^[1-9]\d* events up to position \d+, files: 1/);
    expect(weeks).toMatch(/^week +orders +approved\n[^]*\n\d{4}-\d\d-\d\d +[1-9]\d* +[1-9]/);
    expect(columns).toMatch(/^price +DECIMAL\(18,2\) +Price.*, in units of its currency$/m);
    expect(built).toMatch(/^products: [1-9]\d* documents as of /m);
    const [offers, vouchers, byMonth, totals, actions] = asked;
    expect(JSON.parse(offers!)).toMatchObject({ products: [{ offers: [{ feedId: 1001 }] }] });
    expect(JSON.parse(vouchers!)).toContainEqual(expect.objectContaining({ code: 'KLANG5' }));
    expect(byMonth).toMatch(
      /^period +periodOf +programId [^\n]*approvalRate[^\n]*\n[- ]+\n\d{4}-\d\d-01 +timeOfEvent +101 /,
    );
    expect(totals).toMatch(/^"period","periodOf".*\r\n"\d{4}-\d\d-01","timeOfEvent","101"/);
    expect(actions).toContain('rebuild');
  });

  test('is complemented by example calls that the first start prints', async () => {
    const calls = server.stdoutLines.filter((line) => line.startsWith('curl '));
    expect(calls.length).toBeGreaterThan(0);
    for (const call of calls) expect(call).toContain(server.url);
  });

  test('also applies to a second start, which adds nothing, and prints the same (decisions X140)', async () => {
    const before = await head();
    const linesOf = ({ url, stdoutLines }: Server) =>
      stdoutLines.map((line) => line.replaceAll(url, '<url>'));
    const printed = linesOf(server);
    await server.end();
    server = await Server.start(folder, { command: START.split(' ') });
    expect(linesOf(server)).toEqual(printed);
    expect(await head()).toBe(before);
    // What the README subscribes is permitted to the demo network.
    const { command } = examples().find(({ command: one }) => one.includes('/subscriptions?'))!;
    const tokens = printed.filter((line) => line.startsWith('export ')).join('\n');
    const script = `${tokens}\n${CURL}\n${command.replaceAll('http://127.0.0.1:3000', server.url)}`;
    expect((await run('bash', ['-c', script], { cwd: folder })).stderr).toBe('201');
  });

  async function head(): Promise<string> {
    const engines = await openEngines({
      dataDir: folder,
      eventLog: 'sqlite:',
      readStore: 'sqlite:',
      threads: false,
    });
    try {
      return await engines.log.head();
    } finally {
      await engines.close();
    }
  }
});
