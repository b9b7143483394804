import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngines } from '../../src/engines/open';
import { ownerOf, secretsOf } from '../../src/host/installation';
import { Notifier } from '../../src/host/notifier-run';
import { claimDeliveries, ownerOfDeliveries, takeDeliveries } from '../../src/notifications/ownership';
import { AllowedAddresses } from '../../src/notifications/sending/allowed-addresses';
import { copyFolder } from '../support/log-folder';

const NOW = new Date('2026-11-23T09:00:00Z');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'installation-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function claimIn(dataDir: string, take = false): Promise<string | boolean | undefined> {
  const place = { dataDir, eventLog: 'sqlite:' };
  const engines = await openEngines({ ...place, readStore: 'sqlite:', threads: false });
  try {
    const owner = await ownerOf(place, await secretsOf(place));
    return await (take ? takeDeliveries : claimDeliveries)(engines.log, owner, NOW);
  } finally {
    await engines.close();
  }
}

it('the first installation owns the deliveries of a log, and keeps them over restarts', async () => {
  expect(await claimIn(folder)).toBeUndefined();
  expect(await claimIn(folder)).toBeUndefined();
});

it('a copy of a data folder delivers nothing until it is made the owner', async () => {
  await claimIn(folder);
  const copy = await mkdtemp(join(tmpdir(), 'installation-'));
  await copyFolder(folder, copy);
  expect(await claimIn(copy)).toMatch(/^the event log is a copy: .* `affilog notifications own`/);
  expect(await claimIn(copy, true)).toBe(true);
  expect(await claimIn(copy, true)).toBe(false);
  expect(await claimIn(copy)).toBeUndefined();
  expect(await claimIn(folder)).toBeUndefined();
  await rm(copy, { recursive: true });
});

it('the notifier of a copy reports in one line that it is off, and why', async () => {
  await claimIn(folder);
  const place = { dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false } as const;
  const engines = await openEngines(place);
  const { log, store } = engines;
  const secrets = await secretsOf(place);
  const owner = { installation: 'another', key: secrets.fingerprint };
  const allowed = AllowedAddresses.none;
  const reported = await new Promise((resolve) => {
    const parts = { log, store, deliveries: log, topics: [], secrets, owner, allowed, keepMs: 1 };
    const notifier = new Notifier(parts, {
      name: 'one',
      report: (failure) => void notifier.stop().then(() => resolve([failure, notifier.trouble()])),
    });
    notifier.start();
  });
  const reason = expect.stringMatching(/^the event log is a copy/) as string;
  const line = expect.stringMatching(/^no notifications are sent: the event log is a copy/) as string;
  expect(reported).toEqual([line, reason]);
  await engines.close();
});

it('a log that is copied to another folder remembers whose deliveries it has', async () => {
  await claimIn(folder);
  const copy = await mkdtemp(join(tmpdir(), 'installation-'));
  await copyFile(join(folder, 'log.sqlite'), join(copy, 'log.sqlite'));
  expect(await claimIn(copy)).toMatch(/^the event log is a copy/);
  await rm(copy, { recursive: true });
});

it('another key does not deliver: receivers could not verify anything', async () => {
  await claimIn(folder);
  await rm(join(folder, 'notify.key'));
  expect(await claimIn(folder)).toMatch(/^NOTIFY_KEY is not the one/);
});

it('the key is created once, for its owner only, by any number of processes that start at once (decisions N5)', async () => {
  const place = { dataDir: folder, eventLog: 'sqlite:' };
  const all = await Promise.all(Array.from({ length: 8 }, async () => await secretsOf(place)));
  expect(new Set(all.map(({ fingerprint }) => fingerprint)).size).toBe(1);
  expect((await stat(join(folder, 'notify.key'))).mode & 0o777).toBe(0o600);
  const key = await readFile(join(folder, 'notify.key'), 'utf8');
  expect(all[0]?.text('s', 1)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(key).not.toContain(all[0]?.fingerprint);
});

it('a damaged key is an error that says what is expected', async () => {
  await writeFile(join(folder, 'notify.key'), 'oops');
  await expect(secretsOf({ dataDir: folder, eventLog: 'sqlite:' })).rejects.toThrow(/64 hexadecimal digits/);
});

it('servers of one EventStoreDB are one installation, whatever user they log in as', async () => {
  const secrets = await secretsOf({ dataDir: folder, eventLog: 'sqlite:' });
  const owners = await Promise.all(
    ['esdb://a:b@db:2113?tls=false', 'esdb+discover://db:2113/', 'esdb://other:2113'].map(
      async (eventLog) => await ownerOf({ dataDir: folder, eventLog }, secrets),
    ),
  );
  expect(owners[0]).toEqual(owners[1]);
  expect(owners[2]).not.toEqual(owners[1]);
  expect(JSON.stringify(owners)).not.toContain('db:2113');
});

it('nobody owns the deliveries of a log that has never delivered', async () => {
  const engines = await openEngines({
    dataDir: folder,
    eventLog: 'sqlite:',
    readStore: 'sqlite:',
    threads: false,
  });
  expect(await ownerOfDeliveries(engines.log)).toBeUndefined();
  await engines.close();
});
