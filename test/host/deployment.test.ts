import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readConfig } from '../../src/config';
import { SETTING_NAMES } from '../../src/settings';
import { ROLES } from '../../src/host/serve';

const ROOT = join(__dirname, '../..');
const text = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

interface Composed {
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

const composed = parse(text('docker-compose.yml'), { merge: true }) as Composed;
const ours = Object.entries(composed.services).filter(([, { build }]) => build !== undefined);
const dockerfile = text('Dockerfile');

describe('docker-compose.yml', () => {
  it('runs both servers and two processes of Affilog', () => {
    expect(ours).toHaveLength(2);
    expect(Object.keys(composed.services)).toEqual(expect.arrayContaining(['eventstoredb', 'elasticsearch']));
  });

  it('gives Affilog settings that it reads, with values that it takes', () => {
    for (const [, { environment }] of ours) {
      expect(SETTING_NAMES).toEqual(expect.arrayContaining(Object.keys(environment)));
      const { eventLog, readStore } = readConfig(environment);
      expect(Object.keys(composed.services)).toContain(new URL(eventLog).hostname);
      expect(Object.keys(composed.services)).toContain(new URL(readStore).hostname);
    }
  });

  it('gives Affilog roles that there are', () => {
    for (const [, { command = [] }] of ours) {
      const [verb, flag, roles = ''] = command;
      expect([verb, flag]).toEqual(['serve', '--roles']);
      expect(ROLES).toEqual(expect.arrayContaining(roles.split(',')));
    }
  });

  it('keeps what every service writes in a volume that it declares', () => {
    for (const { volumes } of Object.values(composed.services))
      for (const volume of volumes) expect(composed.volumes).toHaveProperty([volume.split(':')[0] ?? '']);
  });

  it('waits for services that there are, and that can tell when they are healthy', () => {
    for (const [, { depends_on: needed = {} }] of ours)
      for (const name of Object.keys(needed)) expect(composed.services[name]?.healthcheck).toBeDefined();
  });
});

describe('The Dockerfile', () => {
  const stages = dockerfile.split(/^FROM /m).slice(1);
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  );

  it('builds in one stage and serves in another, without being root, with a health check', () => {
    expect(stages).toHaveLength(2);
    expect(stages[1]).toMatch(/^USER node$/m);
    expect(stages[1]).toMatch(/^HEALTHCHECK .*\/health\/ready/m);
  });

  it('copies what there is, and what .dockerignore lets through', () => {
    const letThrough = text('.dockerignore').split('\n');
    expect(copied.length).toBeGreaterThan(5);
    for (const name of copied) {
      expect(existsSync(join(ROOT, name))).toBe(true);
      expect(
        letThrough.some(
          (line) => line === `!${name}` || (line === '!tsconfig*.json' && /^tsconfig/.test(name)),
        ),
      ).toBe(true);
    }
  });

  it('sets settings that the code reads, to values that it takes', () => {
    const [, line = ''] = /^ENV NODE_ENV=production (.+)$/m.exec(dockerfile) ?? [];
    const settings = Object.fromEntries(line.split(' ').map((pair) => pair.split('='))) as Record<
      string,
      string
    >;
    expect(SETTING_NAMES).toEqual(expect.arrayContaining(Object.keys(settings)));
    expect(readConfig(settings)).toMatchObject({ host: '0.0.0.0', port: 3000, dataDir: '/data' });
  });

  it('starts the built program', () => {
    expect(dockerfile).toMatch(/^ENTRYPOINT \["node", "dist\/src\/main.js"\]$/m);
  });
});

describe('npm run elasticsearch', () => {
  it('says that there is no Java, and fails: what runs over a server is never left out in silence', () => {
    const script = join(ROOT, 'test/servers/elasticsearch.mjs');
    const run = spawnSync(process.execPath, [script, 'true'], { env: { PATH: '' }, encoding: 'utf8' });
    expect([run.status, run.stdout, run.stderr]).toEqual([
      1,
      '',
      'elasticsearch: there is no Java (17 or later is needed)\n',
    ]);
  });

  it('says that there is no Maven, and fails', () => {
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
