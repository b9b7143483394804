import { mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { appendIdempotently, load, MAX_ATTEMPTS, toNewEvent } from '../../kernel/decider';
import { type NewEvent, NO_STREAM, streamOf } from '../../kernel/event';
import { EngineUnavailable, type EventLog, RevisionConflict } from '../../kernel/event-log';
import { Fault } from '../../kernel/fault';
import { type Clock, type Timer } from '../../runtime/clock';
import { KeyedMutex } from '../../runtime/concurrency';
import { unavailableIfSystem, withEngineTimeout } from '../../runtime/unavailable';
import { type CountedDownload, quota, quotaId } from '../../domain/products/quota';

/** A download at a time (`at`: ISO 8601). Its id is that of the event that records it. */
interface TimedDownload extends Omit<CountedDownload, 'recordedAt'> {
  readonly id: string;
}

/** Ids of the events of a stream up to a revision, from the version of the first download that is looked up on. */
interface RecordedIds {
  readonly ids: Set<string>;
  revision: number;
}

/** What is noted in the folder, and what this process knew of it before: both by the ids of the quota. */
interface Noted {
  readonly names: ReadonlyMap<string, readonly string[]>;
  readonly states: ReadonlyMap<string, typeof quota.initial>;
}

/** What is to be appended to the stream of a quota at a revision. */
interface Decided {
  readonly revision: number;
  readonly events: readonly NewEvent[];
}

interface CounterParts {
  readonly clock: Clock;
  readonly log: EventLog;
  /** A folder for downloads that are not counted yet; made when the first one is. */
  readonly folder: string;
  readonly report: (failure: unknown) => void;
}

/** How long a download waits for the log before it is counted later (ms). */
const LOG_MS = 2_000;
/** How often to try to count what is not counted yet (ms). */
const RETRY_MS = 5_000;
/** Downloads that are not counted yet, at most. */
const MOST = 10_000;
/** After this time (ms), a process that had begun to note or to count a download is gone. */
const GONE_MS = 60_000;

/** Events read at a time to see whether a download is recorded. */
const AT_A_TIME = 100;

/** As if the organisation's days of grace were over: without the log it is not known. */
const UNKNOWN = { first: new Date(0).toISOString() };

const SUFFIX = { waiting: '.uncounted', taken: '.counting' } as const;

/** A file that is not complete: time, id of the quota, id of the download. */
const INCOMPLETE = /^\d+_\d+-\d+_[\da-f-]{36}$/;

/**
 * Counts downloads towards the quota (`docs/decisions.md#p18`). Without the log, a download is noted in a file of its
 * own, and counted when the log is back, by whichever process of this data folder is there. Until then each process
 * answers as many downloads as the quota of a version allows. A download is counted once, also if the outcome of an
 * append is unknown or a process is killed while it counts.
 */
export class DownloadCounter {
  /** Many requests of this process for one feed would only conflict with each other. */
  private readonly mutex = new KeyedMutex<string>();
  /** Of what this process has noted and not counted yet, by the ids of the quota. */
  private readonly noted = new Map<string, typeof quota.initial>();
  private counting: Promise<void> | undefined;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(private readonly parts: CounterParts) {}

  /** Counts what is not counted yet, now and later. */
  start(): void {
    const retry = (): void => {
      this.counting ??= this.countAll()
        .catch((error: unknown) => {
          if (!(error instanceof EngineUnavailable)) this.parts.report(error);
        })
        .finally(() => {
          this.counting = undefined;
        });
    };
    this.timer = this.parts.clock.interval(RETRY_MS, retry).unref();
    retry();
  }

  /** Waits for at most one download to be counted: the others remain noted. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.timer?.cancel();
    await this.counting;
  }

  /**
   * Begins a download, if the quota allows it, and counts it once it has begun: one that cannot begin sends nothing.
   * Raises 429, what `begin` raises, and `EngineUnavailable` if the log is unavailable and the download cannot be noted.
   */
  async count<Begun extends { readonly release: () => void }>(
    download: Omit<TimedDownload, 'at' | 'id'>,
    begin: () => Promise<Begun>,
  ): Promise<Begun> {
    const { clock } = this.parts;
    const id = quotaId(download);
    const timed = { ...download, id: clock.uuid(), at: clock.now().toISOString() };
    const record = await this.mutex.runExclusive(id, () => this.admit(id, timed));
    const begun = await begin();
    try {
      await this.mutex.runExclusive(id, record);
    } catch (error) {
      begun.release();
      throw error;
    }
    return begun;
  }

  /** What records a download that the quota allows. Raises 429. */
  private async admit(id: string, download: TimedDownload): Promise<() => Promise<void>> {
    const noteIfUnavailable = async (error: unknown): Promise<void> => {
      if (!(error instanceof EngineUnavailable)) throw error;
      await this.note(id, download, error);
    };
    try {
      if (this.noted.has(id)) await this.countNoted(id, await this.list());
      const decided = await this.decide(download);
      return () => this.record(download, decided).catch(noteIfUnavailable);
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      return () => noteIfUnavailable(error);
    }
  }

  /** Raises 429. With `recorded`, nothing is to be appended if the download is recorded already. */
  private async decide({ id, ...download }: TimedDownload, recorded?: RecordedIds): Promise<Decided> {
    const { clock, log } = this.parts;
    const loading = load(log, quota, quotaId(download));
    const { state, revision, position } = await withEngineTimeout(clock, 'the event log', loading, LOG_MS);
    const isRecorded =
      recorded !== undefined && (await this.knownOf(recorded, revision, download)).ids.has(id);
    const events = isRecorded ? [] : quota.decide({ ...download, recordedAt: position }, state);
    return { revision, events: events.map((event) => toNewEvent(event, id)) };
  }

  /** Appends what was decided, or what is decided again if another download was counted meanwhile. */
  private async record(download: TimedDownload, decided: Decided, recorded?: RecordedIds): Promise<void> {
    const stream = streamOf(quota.category, quotaId(download));
    for (let [{ revision, events }, attempt] = [decided, 1]; events.length > 0; attempt += 1) {
      try {
        await appendIdempotently(this.parts.log, stream, revision, events);
        return;
      } catch (error) {
        if (!(error instanceof RevisionConflict) || attempt === MAX_ATTEMPTS) throw error;
      }
      ({ revision, events } = await this.decide(download, recorded));
    }
  }

  /** What is recorded up to `revision`: reads what was not read before. Downloads are recorded after the version they sent. */
  private async knownOf(
    recorded: RecordedIds,
    revision: number,
    { version, ...of }: Pick<TimedDownload, 'feedId' | 'organisationId' | 'version'>,
  ): Promise<RecordedIds> {
    const stream = streamOf(quota.category, quotaId(of));
    const options = { backwards: true, from: revision, limit: revision - recorded.revision };
    reading: for await (const batch of this.parts.log.readStream(stream, {
      ...options,
      batchSize: AT_A_TIME,
    }))
      for (const { id, position } of batch) {
        if (position <= version) break reading;
        recorded.ids.add(id);
      }
    recorded.revision = revision;
    return recorded;
  }

  /** Raises `unavailable` for one that is more than the quota of its version. */
  private async note(id: string, download: TimedDownload, unavailable: EngineUnavailable): Promise<void> {
    const before = this.noted.get(id) ?? UNKNOWN;
    const after = stateAfter(before, download);
    if (after === undefined) throw unavailable;
    const { folder } = this.parts;
    try {
      await mkdir(folder, { mode: 0o700, recursive: true });
      const names = await readdir(folder);
      if (names.filter(isNoted).length >= MOST) throw unavailable;
      const path = join(folder, `${Date.parse(download.at)}_${id}_${download.id}`);
      await writeDurably(path, JSON.stringify(download));
    } catch (error) {
      throw unavailableIfSystem('the download could not be noted, to be counted later', error);
    }
    this.noted.set(id, after);
  }

  /** Oldest first. */
  private async list(): Promise<Noted> {
    const states = new Map(this.noted);
    const names = new Map<string, string[]>();
    for (const name of (await readdir(this.parts.folder).catch(() => [])).toSorted()) {
      const [, id = ''] = name.split('_');
      // A name of a taken one has its time.
      const age = this.parts.clock.wall() - Number(name.split('.')[1]);
      const isGone = name.endsWith(SUFFIX.taken) && age > GONE_MS;
      if (!name.endsWith(SUFFIX.waiting) && !isGone) continue;
      const others = names.get(id);
      if (others === undefined) names.set(id, [name]);
      else others.push(name);
    }
    return { names, states };
  }

  /** Counts everything that is noted in the folder. Raises `EngineUnavailable`. */
  private async countAll(): Promise<void> {
    await this.removeIncomplete();
    const noted = await this.list();
    for (const id of new Set([...noted.names.keys(), ...noted.states.keys()])) {
      if (this.isClosed) return;
      await this.mutex.runExclusive(id, () => this.countNoted(id, noted));
    }
  }

  /** Counts what is noted of one quota. Raises `EngineUnavailable`. */
  private async countNoted(id: string, { names, states }: Noted): Promise<void> {
    const recorded: RecordedIds = { ids: new Set(), revision: NO_STREAM };
    for (const name of names.get(id) ?? []) {
      if (this.isClosed) return;
      await this.countFile(name, recorded);
    }
    // Not if another one was noted after the folder was read.
    if (this.noted.get(id) === states.get(id)) this.noted.delete(id);
  }

  /** Nothing happens if another process has taken it. */
  private async countFile(name: string, recorded: RecordedIds): Promise<void> {
    const { folder } = this.parts;
    const [base = ''] = name.split('.');
    const waiting = join(folder, `${base}${SUFFIX.waiting}`);
    const taken = join(folder, `${base}.${this.parts.clock.wall()}${SUFFIX.taken}`);
    const error = await rename(join(folder, name), taken).catch((reason: unknown) => reason);
    if (error !== undefined) return;
    try {
      const download = JSON.parse(await readFile(taken, 'utf8')) as TimedDownload;
      await this.record(download, await this.decide(download, recorded), recorded);
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

  /** Of processes that were killed while they noted a download. */
  private async removeIncomplete(): Promise<void> {
    const { folder } = this.parts;
    for (const name of await readdir(folder).catch(() => [])) {
      if (!INCOMPLETE.test(name)) continue;
      const path = join(folder, name);
      const written = await stat(path).catch(() => undefined);
      if (written !== undefined && this.parts.clock.wall() - written.mtimeMs > GONE_MS)
        await unlink(path).catch(() => undefined);
    }
  }
}

/** Undefined if the quota does not allow it. */
function stateAfter(
  before: typeof quota.initial,
  download: Omit<CountedDownload, 'recordedAt'>,
): typeof quota.initial | undefined {
  try {
    const events = quota.decide({ ...download, recordedAt: download.version }, before);
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

function isNoted(name: string): boolean {
  return Object.values(SUFFIX).some((suffix) => name.endsWith(suffix));
}
