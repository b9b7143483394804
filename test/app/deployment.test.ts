import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readConfig } from '../../src/settings/config';
import { SETTING_NAMES } from '../../src/settings/settings';
import { ROLES } from '../../src/app/serve';

const ROOT = join(__dirname, '../..');
const text = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

interface ComposeFile {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly build?: string;
        readonly image?: string;
        readonly command?: readonly string[];
        readonly environment: Readonly<Record<string, string>>;
        readonly depends_on?: Readonly<Record<string, object>>;
        readonly volumes: readonly string[];
        readonly healthcheck?: { readonly test: readonly string[] };
      }
    >
  >;
  readonly volumes: Readonly<Record<string, null>>;
}

const compose = parse(text('docker-compose.yml'), { merge: true }) as ComposeFile;
const ours = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);
const dockerfile = text('Dockerfile');

describe('docker-compose.yml', () => {
  it('runs both servers and two processes of Affilog', () => {
    expect(ours).toHaveLength(2);
    expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(['eventstoredb', 'elasticsearch']));
  });

  it('gives Affilog existing settings with valid values', () => {
    for (const [, { environment }] of ours) {
      expect(SETTING_NAMES).toEqual(expect.arrayContaining(Object.keys(environment)));
      const { eventLog, readStore } = readConfig(environment);
      expect(Object.keys(compose.services)).toContain(new URL(eventLog).hostname);
      expect(Object.keys(compose.services)).toContain(new URL(readStore).hostname);
    }
  });

  it('gives Affilog existing roles', () => {
    for (const [, { command = [] }] of ours) {
      const [verb, flag, roles = ''] = command;
      expect([verb, flag]).toEqual(['serve', '--roles']);
      expect(ROLES).toEqual(expect.arrayContaining(roles.split(',')));
    }
  });

  it('stores the data of every service in a declared volume', () => {
    for (const { volumes } of Object.values(compose.services))
      for (const volume of volumes) expect(compose.volumes).toHaveProperty([volume.split(':')[0] ?? '']);
  });

  it('waits for existing services with health checks', () => {
    for (const [, { depends_on: dependencies = {} }] of ours)
      for (const name of Object.keys(dependencies)) expect(compose.services[name]?.healthcheck).toBeDefined();
  });
});

describe('The Dockerfile', () => {
  const stages = dockerfile.split(/^FROM /m).slice(1);
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  );

  it('builds in one stage and serves in another, not as root, with a health check', () => {
    expect(stages).toHaveLength(2);
    expect(stages[1]).toMatch(/^USER node$/m);
    expect(stages[1]).toMatch(/^HEALTHCHECK .*\/health\/ready/m);
  });

  it('copies existing files that .dockerignore includes', () => {
    const included = text('.dockerignore').split('\n');
    expect(copied.length).toBeGreaterThan(5);
    for (const name of copied) {
      expect(existsSync(join(ROOT, name))).toBe(true);
      expect(
        included.some(
          (line) => line === `!${name}` || (line === '!tsconfig*.json' && /^tsconfig/.test(name)),
        ),
      ).toBe(true);
    }
  });

  it('sets existing settings to valid values', () => {
    const [, line = ''] = /^ENV NODE_ENV=production (.+)$/m.exec(dockerfile) ?? [];
    const settings = Object.fromEntries(line.split(' ').map((pair) => pair.split('='))) as Record<
      string,
      string
    >;
    expect(SETTING_NAMES).toEqual(expect.arrayContaining(Object.keys(settings)));
    expect(readConfig(settings)).toMatchObject({ host: '0.0.0.0', port: 3000, dataDir: '/data' });
  });

  it('checks the health without a Node.js process: 200 is healthy, 503 and no answer are not', async () => {
    const [, command = '[]'] = /^HEALTHCHECK .* CMD (\[.+\])$/m.exec(dockerfile) ?? [];
    const [program = '', ...args] = JSON.parse(command) as string[];
    expect(program).toBe('bash');
    const asked: (string | undefined)[] = [];
    let status = 200;
    const server = createServer(({ url }, response) => {
      asked.push(url);
      response.writeHead(status).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const check = async (): Promise<unknown> => {
      const child = spawn(program, args, { env: { PATH: process.env.PATH, PORT: `${port}` } });
      return (await once(child, 'exit'))[0];
    };
    expect(await check()).toBe(0);
    status = 503;
    expect(await check()).toBe(1);
    server.close();
    await once(server, 'close');
    expect(await check()).toBe(1);
    expect(asked).toEqual(['/health/ready', '/health/ready']);
  });

  it('starts the built program', () => {
    expect(dockerfile).toMatch(/^ENTRYPOINT \["\.\/affilog"\]$/m);
  });
});

describe('npm run elasticsearch', () => {
  it('fails with a message without Java: tests with a server are never silently skipped', () => {
    const script = join(ROOT, 'test/servers/elasticsearch.mjs');
    const run = spawnSync(process.execPath, [script, 'true'], { env: { PATH: '' }, encoding: 'utf8' });
    expect([run.status, run.stdout, run.stderr]).toEqual([
      1,
      '',
      'elasticsearch: there is no Java (17 or later is needed)\n',
    ]);
  });

  it('fails with a message without Maven', () => {
    const folder = mkdtempSync(join(tmpdir(), 'affilog-java-'));
    const java = '#!/bin/sh\necho "java.home = /java" >&2\necho "java.specification.version = 17" >&2\n';
    writeFileSync(join(folder, 'java'), java, { mode: 0o755 });
    const script = join(ROOT, 'test/servers/elasticsearch.mjs');
    const env = { PATH: folder, XDG_CACHE_HOME: folder };
    const run = spawnSync(process.execPath, [script, 'true'], { env, encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([
      1,
      'elasticsearch: there is no Maven (mvn) to get Elasticsearch with\n',
    ]);
    rmSync(folder, { recursive: true });
  });
});
