import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../package.json';
import { enginesOf } from '../engines/open';
import { type EventLog } from '../kernel/event-log';
import { type Leases } from '../kernel/leases';
import { type ReadStore } from '../kernel/read-store';
import { codeOf } from '../kernel/values';
import { type Clock } from '../runtime/clock';
import { AUTOMATION_LEASE, type LeaseKind, MATCHER_LEASE, NOTIFIER_MEMBERS } from '../runtime/lease-holder';
import { type Config } from '../settings/config';
import { timeOf } from './log-events';
import { PROJECTED } from './rebuild';

export interface ServerParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly leases: Leases;
  readonly config: Pick<Config, 'dataDir' | 'eventLog' | 'readStore'>;
}

/** Who does what everybody relies on. */
interface HeldLease {
  readonly work: string;
  /** A process or thread, by a name of its own; absent: nobody does it. */
  readonly owner?: string;
  /** When it ends at the latest unless it is renewed (ISO 8601). */
  readonly until?: string;
}

interface ListedFile {
  /** Path in the data folder. */
  readonly name: string;
  readonly bytes: number;
}

/** What the process that answers runs on (`docs/decisions.md#x131`). */
export interface ServerState {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  readonly memory: number;
  readonly eventLog: string;
  readonly readStore: string;
  /** Position of the last event. */
  readonly position: string;
  /** Events of the last minute, by the times in their data: at most `MOST_EVENTS`. */
  readonly lastMinute: number;
  readonly disk: {
    readonly free: number;
    readonly total: number;
    /** Of the data folder. */
    readonly used: number;
    /** The largest files. */
    readonly files: readonly ListedFile[];
  };
  readonly leases: readonly HeldLease[];
}

const MINUTE = 60_000;
const MOST_EVENTS = 10_000;
const MOST_FILES = 30;

/** What takes a look at many events and files. */
export type Measured = Pick<ServerState, 'disk' | 'lastMinute'>;

/** Raises `EngineUnavailable`. */
export async function measured({
  clock,
  log,
  config,
}: Pick<ServerParts, 'clock' | 'config' | 'log'>): Promise<Measured> {
  const [lastMinute, disk] = await Promise.all([
    eventsSince(log, clock.wall() - MINUTE),
    diskOf(config.dataDir),
  ]);
  return { lastMinute, disk };
}

/** `measure`: what is measured, which others may share. Raises `EngineUnavailable`. */
export async function serverState(parts: ServerParts, measure = () => measured(parts)): Promise<ServerState> {
  const { clock, log, store, leases, config } = parts;
  const [position, { lastMinute, disk }, held] = await Promise.all([
    log.head(),
    measure(),
    heldLeases(store, leases, clock.wall()),
  ]);
  const startedAt = new Date(clock.wall() - 1000 * process.uptime()).toISOString();
  const { rss: memory } = process.memoryUsage();
  const engines = enginesOf(config);
  return {
    version,
    node: process.version,
    startedAt,
    memory,
    ...engines,
    position,
    lastMinute,
    disk,
    leases: held,
  };
}

async function eventsSince(log: EventLog, since: number): Promise<number> {
  let count = 0;
  for await (const batch of log.readAllBackwards())
    for (const event of batch) {
      const at = timeOf(event);
      if ((at !== undefined && Date.parse(at) < since) || count === MOST_EVENTS) return count;
      count += 1;
    }
  return count;
}

async function diskOf(folder: string): Promise<ServerState['disk']> {
  const { bavail, blocks, bsize } = await statfs(folder);
  const files = (await filesIn(folder)).sort((one, other) => other.bytes - one.bytes);
  const used = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { free: bavail * bsize, total: blocks * bsize, used, files: files.slice(0, MOST_FILES) };
}

/** Files may disappear while they are looked at. */
async function filesIn(folder: string): Promise<ListedFile[]> {
  const names = await readdir(folder, { recursive: true });
  const found = await Promise.all(
    names.map(async (name) => {
      const file = await stat(join(folder, name)).catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error;
      });
      return file?.isFile() === true ? [{ name, bytes: file.size }] : [];
    }),
  );
  return found.flat();
}

async function heldLeases(store: ReadStore, leases: Leases, now: number): Promise<readonly HeldLease[]> {
  const inStore = async ({ name, ms }: LeaseKind) =>
    rowsOf(
      name,
      [await store.holder(name, now, ms)].flatMap((owner) => owner ?? []),
      now + ms,
    );
  const atLog = async ({ name, ms }: LeaseKind, work = name) =>
    rowsOf(work, await leases.owners(name, now, ms), now + ms);
  const ofStore = PROJECTED.flatMap(({ source }) => [
    inStore(source.projectorLease),
    inStore(source.rebuildLease),
  ]);
  const all = [
    ...ofStore,
    atLog(AUTOMATION_LEASE),
    atLog(MATCHER_LEASE),
    atLog(NOTIFIER_MEMBERS, 'notifier'),
  ];
  return (await Promise.all(all)).flat();
}

function rowsOf(work: string, owners: readonly string[], until: number): readonly HeldLease[] {
  if (owners.length === 0) return [{ work }];
  return owners.map((owner) => ({ work, owner, until: new Date(until).toISOString() }));
}
