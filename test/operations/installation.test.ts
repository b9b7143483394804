import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { openEngines } from '../../src/engines/open';
import { createdAt, ownerOf, secretsOf } from '../../src/operations/installation';
import { Notifier } from '../../src/delivery/notifier';
import { toNewEvent } from '../../src/kernel/decider';
import { START } from '../../src/kernel/event';
import {
  claimDeliveries,
  type DeliveriesOwned,
  ownerOfDeliveries,
  takeDeliveries,
} from '../../src/domain/deliveries/ownership';
import { PARTITIONS } from '../../src/domain/subscriptions/receiver-id';
import { Secrets } from '../../src/domain/subscriptions/subscription';
import { Sender } from '../../src/delivery/sending/sender';
import { AllowedAddresses } from '../../src/delivery/sending/addresses';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { NETWORK } from '../api/network';
import { TestApp } from '../support/app';
import { golden } from '../support/golden';
import { copyFolder } from '../support/log-folder';

const DAY_MS = 24 * 60 * 60 * 1000;
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
    return await (take ? takeDeliveries : claimDeliveries)(SYSTEM_CLOCK, engines.log, owner);
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

const newSender = (): Sender => new Sender({ clock: SYSTEM_CLOCK, allowed: AllowedAddresses.none });

it('the notifier of a copy reports in one line that it is off, and why', async () => {
  await claimIn(folder);
  const place = { dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false } as const;
  const engines = await openEngines(place);
  const { log, leases } = engines;
  const secrets = await secretsOf(place);
  const owner = { installation: 'another', key: secrets.fingerprint };
  const reported = await new Promise((resolve) => {
    const parts = {
      clock: SYSTEM_CLOCK,
      log,
      leases,
      deliveries: log,
      topics: [],
      secrets,
      owner,
      newSender,
      keepMs: 1,
    };
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

describe('a process with another key, or none (decisions N5)', () => {
  const place = (notifyKey?: string) => ({
    ...{ dataDir: folder, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false },
    ...(notifyKey === undefined ? {} : { notifyKey }),
  });
  const KEY = 'k'.repeat(32);

  it('takes no part: the others have all receivers, also after one of them has ended', async () => {
    const engines = await openEngines(place());
    const { log, leases } = engines;
    const deliveries = await engines.deliveries();
    const reported: unknown[] = [];
    const started = async (name: string, notifyKey?: string): Promise<Notifier> => {
      const secrets = await secretsOf(place(notifyKey));
      const owner = await ownerOf(place(notifyKey), secrets);
      const parts = { log, leases, deliveries, topics: [], secrets, owner };
      const options = { name, report: (failure: unknown) => void reported.push(failure) };
      const notifier = new Notifier({ clock: SYSTEM_CLOCK, ...parts, newSender, keepMs: DAY_MS }, options);
      notifier.start();
      return notifier;
    };
    /** By how many processes partitions were taken last, and of how many. */
    const ownersOf = async (): Promise<Readonly<Record<string, number>>> => {
      const owners = new Map<string, string>();
      for await (const { events } of deliveries.readAll({ after: START, prefixes: ['partition-'] }))
        for (const { stream, type, data } of events)
          if (type === 'PartitionTaken') owners.set(stream, (JSON.parse(data) as { owner: string }).owner);
      const counts: Record<string, number> = {};
      for (const owner of owners.values()) counts[owner] = (counts[owner] ?? 0) + 1;
      return counts;
    };
    const until = async (counts: Readonly<Record<string, number>>): Promise<void> => {
      while (!isDeepStrictEqual(await ownersOf(), counts)) await pause(20);
    };
    const first = await started('first', KEY);
    await until({ first: PARTITIONS });
    const without = await started('without');
    const wrong = await started('wrong', 'w'.repeat(32));
    const second = await started('second', KEY);
    await until({ first: PARTITIONS / 2, second: PARTITIONS / 2 });
    await first.stop();
    await until({ second: PARTITIONS });
    for (const refused of [without, wrong]) expect(refused.trouble()).toMatch(/^NOTIFY_KEY is not the one/);
    for (const one of [without, wrong, second]) await one.stop();
    expect(await ownersOf()).toEqual({ second: PARTITIONS });
    expect(new Set(reported)).toEqual(
      new Set([expect.stringMatching(/^no notifications are sent: NOTIFY_KEY is not the one/)]),
    );
    await engines.close();
  });

  it('says so in its health for as long as that lasts, also without the role notifier', async () => {
    const app = await TestApp.start({ network: NETWORK, settings: { NOTIFY_KEY: KEY } });
    const { log } = app.engines;
    expect((await app.get('/health/ready')).json()).toMatchObject({ status: 'ok' });
    const owner = { installation: 'one', key: new Secrets(Buffer.from('other')).fingerprint };
    await takeDeliveries(SYSTEM_CLOCK, log, owner);
    const health = async () => (await app.get('/health/ready')).json<{ readonly notifier?: string }>();
    while ((await health()).notifier === undefined) await pause(10);
    expect(await health()).toMatchObject({
      status: 'degraded',
      notifier: expect.stringMatching(/^secrets are not available: NOTIFY_KEY/) as string,
    });
    await app.close();
  });
});

it('a log that is copied to another folder remembers whose deliveries it has', async () => {
  await claimIn(folder);
  const copy = await mkdtemp(join(tmpdir(), 'installation-'));
  await copyFile(join(folder, 'log.sqlite'), join(copy, 'log.sqlite'));
  expect(await claimIn(copy)).toMatch(/^the event log is a copy/);
  await rm(copy, { recursive: true });
});

it('a file of the same number that was created at another time is a copy: on a new volume numbers repeat', async () => {
  const place = { dataDir: folder, eventLog: 'sqlite:' };
  const engines = await openEngines({ ...place, readStore: 'sqlite:', threads: false });
  const { log } = engines;
  const present = await ownerOf(place, await secretsOf(place));
  const times = [join(folder, 'log.sqlite'), folder].map((path) => stat(path, { bigint: true }));
  const [ofFile, ofFolder] = await Promise.all(times);
  expect(present.created).toBe(createdAt(ofFile!, ofFolder!));

  const original = { ...present, created: '2026-01-05T08:00:00.000Z' };
  const copy = { ...present, created: '2026-02-05T08:00:00.000Z' };
  expect(await claimDeliveries(SYSTEM_CLOCK, log, original)).toBeUndefined();
  expect(await claimDeliveries(SYSTEM_CLOCK, log, copy)).toMatch(/^the event log is a copy/);
  expect(await takeDeliveries(SYSTEM_CLOCK, log, copy)).toBe(true);
  expect(await claimDeliveries(SYSTEM_CLOCK, log, copy)).toBeUndefined();
  expect(await takeDeliveries(SYSTEM_CLOCK, log, copy)).toBe(false);
  await engines.close();
});

it('a time of creation that is not known tells nothing', async () => {
  const place = { dataDir: folder, eventLog: 'sqlite:' };
  const engines = await openEngines({ ...place, readStore: 'sqlite:', threads: false });
  const { log } = engines;
  const known = { installation: 'file 1', key: 'k', created: '2026-01-05T08:00:00.000Z' };
  const unknown = { installation: 'file 1', key: 'k' };
  for (const [first, second] of [
    [known, unknown],
    [unknown, known],
  ] as const) {
    await takeDeliveries(SYSTEM_CLOCK, log, first);
    expect(await claimDeliveries(SYSTEM_CLOCK, log, second)).toBeUndefined();
  }
  await engines.close();
});

describe('when a file was created', () => {
  const file = (birthtimeNs: bigint, ctimeNs: bigint) => ({ birthtimeNs, ctimeNs });

  it('is known from the file system', () => {
    expect(createdAt(file(1_500_000_000n, 3n), file(1n, 2n))).toBe('1970-01-01T00:00:01.500Z');
  });

  it('is known of a file that has not changed since, if times of its folder differ', () => {
    expect(createdAt(file(2_000_000n, 2_000_000n), file(1n, 2n))).toBe('1970-01-01T00:00:00.002Z');
  });

  it('is not known where Node.js reports 0 or the time of the last change', () => {
    expect(createdAt(file(0n, 3n), file(0n, 2n))).toBeUndefined();
    expect(createdAt(file(3n, 3n), file(2n, 2n))).toBeUndefined();
  });
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

it('who owns the deliveries is read from events as they have been stored (test/golden)', async () => {
  const place = { dataDir: folder, eventLog: 'sqlite:' };
  const engines = await openEngines({ ...place, readStore: 'sqlite:', threads: false });
  const { log } = engines;
  const key = '0123456789abcdef';
  for (const [index, variant] of ['', '-created'].entries()) {
    const { stream, event } = golden<DeliveriesOwned>('DeliveriesOwned', variant);
    await log.append(stream, index - 1, [toNewEvent(event, randomUUID())]);
    const created = variant === '' ? {} : { created: '2026-01-05T08:00:00.000Z' };
    expect(await ownerOfDeliveries(log)).toEqual({ installation: 'file 1234', ...created, key });
  }
  await engines.close();
});
