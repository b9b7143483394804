import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from '../kernel/decider';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { Fault } from '../kernel/fault';
import { KeyedMutex } from '../kernel/keyed-mutex';
import { unavailableIfSystem, withEngineTimeout } from '../kernel/unavailable';
import { type CountedDownload, quota, quotaId } from './quota';

/** A download at a time (`at`: ISO 8601). */
type TimedDownload = Omit<CountedDownload, 'head'>;

/** What counting needs of the application. */
interface CounterParts {
  readonly log: EventLog;
  /** A folder for downloads that are not counted yet; made when the first one is. */
  readonly folder: string;
  readonly now: () => Date;
  /** Receives bugs. */
  readonly report: (failure: unknown) => void;
}

/** How long a download waits for the log before it is counted later (ms). */
const LOG_MS = 2_000;
/** How often to try to count what is not counted yet (ms). */
const RETRY_MS = 5_000;
/** Downloads that are not counted yet, at most. */
const MOST = 10_000;
/** After this time (ms), a process that had begun to count a download is gone. */
const GONE_MS = 60_000;

/** As if the organisation's days of grace were over: without the log it is not known. */
const UNKNOWN = { first: new Date(0).toISOString() };

const SUFFIX = { waiting: '.uncounted', taken: '.counting' } as const;

/**
 * Counts downloads towards the quota (`docs/decisions.md#p18`). Without the log, a download is noted in a file of its own, and
 * counted when the log is back, by whichever process of this data folder is there. Until then as many downloads are answered as
 * the quota of a version allows. A process that is killed while it counts one may count it twice.
 */
export class DownloadCounter {
  /** Many requests of this process for one feed would only conflict with each other. */
  private readonly mutex = new KeyedMutex<string>();
  /** Of what this process has noted and not counted yet, by the ids of the quota. */
  private readonly noted = new Map<string, typeof quota.initial>();
  private counting: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: CounterParts) {}

  /** Counts what is not counted yet, now and later. */
  start(): void {
    const retry = (): void => {
      this.countNoted().catch((error: unknown) => {
        if (!(error instanceof EngineUnavailable)) this.parts.report(error);
      });
    };
    this.timer = setInterval(retry, RETRY_MS).unref();
    retry();
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.counting?.catch(() => undefined);
  }

  /**
   * Raises 429, and `EngineUnavailable` if the log is unavailable and the download cannot be noted: the disk is full, or too many
   * are noted.
   */
  async count(download: Omit<TimedDownload, 'at'>): Promise<void> {
    const id = quotaId(download);
    await this.mutex.runExclusive(id, async () => {
      const timed = { ...download, at: this.parts.now().toISOString() };
      try {
        if (this.noted.size > 0) await this.countNoted();
        await this.record(timed);
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error;
        await this.note(id, timed, error);
      }
    });
  }

  private async record(download: TimedDownload): Promise<void> {
    const { log } = this.parts;
    const head = await withEngineTimeout('the event log', log.head(), LOG_MS);
    await execute(log, quota, quotaId(download), { ...download, head });
  }

  /** Raises `unavailable` for one that is more than the quota of its version. */
  private async note(id: string, download: TimedDownload, unavailable: EngineUnavailable): Promise<void> {
    const before = this.noted.get(id) ?? UNKNOWN;
    const after = stateAfter(before, download);
    if (after === undefined) throw unavailable;
    const { folder } = this.parts;
    try {
      await mkdir(folder, { mode: 0o700 }).catch(unlessThere);
      if ((await readdir(folder)).length >= MOST) throw unavailable;
      await writeDurably(
        join(folder, `${Date.parse(download.at)}-${randomUUID()}`),
        JSON.stringify(download),
      );
    } catch (error) {
      throw unavailableIfSystem('the download could not be noted, to be counted later', error);
    }
    this.noted.set(id, after);
  }

  /** Counts everything that is noted in the folder. Raises `EngineUnavailable`. */
  private countNoted(): Promise<void> {
    this.counting ??= this.countAll().finally(() => {
      this.counting = undefined;
    });
    return this.counting;
  }

  private async countAll(): Promise<void> {
    const { folder } = this.parts;
    const names = await readdir(folder).catch(() => []);
    for (const name of names.toSorted()) {
      const isGone = name.endsWith(SUFFIX.taken) && Date.now() - takenAt(name) > GONE_MS;
      if (name.endsWith(SUFFIX.waiting) || isGone) await this.countFile(name);
    }
    this.noted.clear();
  }

  /** Nothing happens if another process has taken it. */
  private async countFile(name: string): Promise<void> {
    const { folder } = this.parts;
    const [base = ''] = name.split('.');
    const waiting = join(folder, `${base}${SUFFIX.waiting}`);
    const taken = join(folder, `${base}.${Date.now()}${SUFFIX.taken}`);
    if (
      !(await rename(join(folder, name), taken).then(
        () => true,
        () => false,
      ))
    )
      return;
    try {
      await this.record(JSON.parse(await readFile(taken, 'utf8')) as TimedDownload);
    } catch (error) {
      if (error instanceof EngineUnavailable) {
        await rename(taken, waiting);
        throw error;
      }
      // It was sent all the same: more than the quota is not counted.
      if (!(error instanceof Fault)) this.parts.report(error);
    }
    await unlink(taken);
  }
}

function unlessThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}

/** Undefined if the quota does not allow it. */
function stateAfter(before: typeof quota.initial, download: TimedDownload): typeof quota.initial | undefined {
  try {
    const events = quota.decide({ ...download, head: download.version }, before);
    return events.reduce((state, event) => quota.evolve(state, event), before);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** Under another name until it is complete. */
async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(path, `${path}${SUFFIX.waiting}`);
}

function takenAt(name: string): number {
  return Number(name.split('.')[1]);
}
