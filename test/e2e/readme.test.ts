import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openEngines } from '../../src/engines/open';
import { removeFolder, Server, temporaryFolder } from '../support/server';

const README = readFileSync(join(__dirname, '../../README.md'), 'utf8');
const run = promisify(execFile);

interface Example {
  readonly command: string;
  readonly answer: string;
}

/** Each `curl` of the text with the answer shown after it. */
function examples(): Example[] {
  const pairs = README.matchAll(/```sh\n(curl [\s\S]*?)```\s*```(?:json|xml)\n([\s\S]*?)```/g);
  return [...pairs].map(([, command = '', answer = '']) => ({ command, answer: answer.trim() }));
}

/** Times differ from run to run. */
function timeless(text: string): string {
  return text
    .trim()
    .replaceAll(/\b1[78]\d{11}\b/g, '<ms>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>');
}

describe('the README', () => {
  let folder: string;
  let server: Server;

  beforeAll(async () => {
    folder = await temporaryFolder();
    server = await Server.start(folder, { args: ['--demo'] });
  }, 120_000);

  afterAll(async () => {
    await server.end();
    await removeFolder(folder);
  });

  test('has a line that sets up and starts, and one that sets up and tests', () => {
    expect(README).toMatch(/^npm ci && npm start$/m);
    expect(README).toMatch(/^npm ci && npm test$/m);
  });

  test('shows for each curl what the demonstration answers', async () => {
    const tokens = server.said.filter((line) => line.startsWith('export ')).join('\n');
    expect(tokens).toMatch(/^export ADVERTISER=[0-9a-f]{40} PUBLISHER=[0-9a-f]{40}$/m);
    expect(tokens).toMatch(/^export VOUCHER_ADVERTISER=[0-9a-f]{40} VOUCHER_PUBLISHER=[0-9a-f]{40}$/m);
    const shown = examples();
    expect(shown).toHaveLength(7);
    for (const { command, answer } of shown) {
      const script = `${tokens}\n${command.replaceAll('http://127.0.0.1:3000', server.url)}`;
      const { stdout } = await run('bash', ['-c', script]);
      expect(timeless(stdout.replaceAll(server.url, 'http://127.0.0.1:3000'))).toBe(timeless(answer));
    }
  });

  test('is not all: the start shows calls to try at where it listens', async () => {
    const calls = server.said.filter((line) => line.startsWith('curl '));
    expect(calls.length).toBeGreaterThan(0);
    for (const call of calls) expect(call).toContain(server.url);
  });

  test('is true of a second start: it finds the data and adds nothing', async () => {
    const before = await head();
    await server.end();
    server = await Server.start(folder, { args: ['--demo'] });
    expect(server.said).toEqual([`listening on ${server.url}`]);
    expect(await head()).toBe(before);
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
