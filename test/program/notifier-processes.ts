import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { type Engines, type EngineSettings, openEngines } from '../../src/engines/open';
import { toDomainEvent } from '../../src/kernel/decider';
import { START } from '../../src/kernel/event';
import { type Outcome, type PartitionEvent } from '../../src/domain/deliveries/delivery-events';
import { DIST } from '../support/built';
import { openTestedEngines, type TestedFolder } from '../support/engines';
import { type EsdbServer, startEsdbServer } from '../support/esdb-server';
import { type Received, Receivers } from '../support/receivers';

/** Short, so that a process that was killed is soon replaced. */
export const SHORT = { leaseMs: 600, longestMs: 200, lookMs: 50 };

/** How processes share a log. */
type Place = 'one folder' | 'folders of their own';

/**
 * Notifiers as processes of their own, and their receivers, for the tests of a file. `answer` is that of `Receivers`.
 * With folders of their own, they have read stores of their own, over one EventStoreDB.
 */
export function notifierProcesses(
  answer: (received: Received) => number | undefined,
  place: Place = 'one folder',
) {
  let folder: TestedFolder;
  let server: EsdbServer | undefined;
  let engines: Engines;
  let receivers: Receivers;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    if (place === 'one folder') ({ folder, engines } = await openTestedEngines());
    else {
      server = await startEsdbServer();
      const dataDir = await mkdtemp(join(tmpdir(), 'affilog-notifiers-'));
      const settings = { dataDir, eventLog: server.url, readStore: 'sqlite:', threads: false };
      engines = await openEngines(settings);
      folder = { settings, remove: () => rm(dataDir, { recursive: true }) };
    }
    receivers = new Receivers(answer);
    await receivers.listen();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) await kill(child);
    await receivers.close();
    await engines.close();
    await server?.stop();
    await folder.remove();
  });

  /** Where a process is that is started next. */
  async function settingsOf(eventLog = folder.settings.eventLog): Promise<EngineSettings> {
    if (place === 'one folder') return folder.settings;
    const dataDir = await mkdtemp(join(folder.settings.dataDir, 'notifier-'));
    return { ...folder.settings, dataDir, eventLog };
  }

  /** `options`: of the `DeliveryRunner`; `eventLog`: how it reaches the log. */
  async function startNotifier(options: object = SHORT, eventLog?: string): Promise<ChildProcess> {
    const settings = JSON.stringify(await settingsOf(eventLog));
    const script = join(__dirname, '../support/notify.cjs');
    const allowed = `127.0.0.0/8:${receivers.port}`;
    const args = [script, DIST, settings, allowed, JSON.stringify(options)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    for await (const line of createInterface({ input: child.stdout })) if (line === 'started') break;
    return child;
  }

  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** What is in the streams of all partitions. */
  async function partitionEvents(): Promise<readonly (PartitionEvent & { readonly stream: string })[]> {
    const all: (PartitionEvent & { readonly stream: string })[] = [];
    const deliveries = await engines.deliveries();
    for await (const { events } of deliveries.readAll({ after: START, prefixes: ['partition-'] }))
      for (const event of events)
        all.push({ ...(toDomainEvent(event) as PartitionEvent), stream: event.stream });
    return all;
  }

  async function outcomes(): Promise<readonly Outcome[]> {
    const events = await partitionEvents();
    return events.flatMap((event) => (event.type === 'MessageAttempted' ? [event.data] : []));
  }

  async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isSo())) await pause(10);
  }

  return {
    get engines() {
      return engines;
    },
    get receivers() {
      return receivers;
    },
    /** Of the server, with folders of their own. */
    get port() {
      return server?.port ?? NaN;
    },
    ...{ startNotifier, kill, partitionEvents, outcomes, until },
  };
}
