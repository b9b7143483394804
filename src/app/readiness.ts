import { randomUUID } from 'node:crypto';
import { open, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type Engines } from '../engines/open';
import { type Position, type RecordedEvent } from '../kernel/event';
import { type EventLog, RevisionConflict } from '../kernel/event-log';
import { type FollowedDirectory } from '../network/follower';
import { parkedCount, parkedEventCounter } from '../operations/parked';
import { type Readiness } from '../operations/rest/operators.module';
import { type Notes, readNotes } from '../projector/notes';
import { visiblePosition, waitForPosition } from '../projector/wait';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { PROJECTOR_LEASE } from '../runtime/lease-holder';
import { reasonOf, withEngineTimeout } from '../runtime/unavailable';
import { codeOf } from '../kernel/values';

/** Timeout for checking an engine (ms). */
const LOOK_MS = 2_000;
/** How long read models may be behind without a projector before they count as stale (s): another may take over. */
const STALE_S = 60;
/** No stream has this many events. */
const BEYOND = 2 ** 40;
/** Observed heads of the log that are remembered while the read models are behind. */
const SAMPLES = 1000;

/** The log was restored from an older backup under running servers (`docs/decisions.md#x31`). */
const AHEAD =
  'have events that the log does not have: was it restored from an older backup? `affilog rebuild all --force` ' +
  'rebuilds them';

/** What may have a trouble of its own: the roles, and the data folder, which may not be writable. */
const TROUBLED = {
  projector: 'the projector',
  automation: 'the automation',
  notifier: 'the notifier',
  disk: 'the data folder',
} as const;

const NAMES = [...PROJECTIONS, ...DELIVERY_PROJECTIONS].map(({ collection }) => collection.name);

/** Anybody may ask: not who has paused them. */
function pausedText(paused: ReadonlyMap<string, Notes['paused']>): string {
  const since = Array.from(paused, ([name, note]) => `${name} since ${note.since}`);
  return `${since.join(', ')}: \`affilog projections resume ${[...paused.keys()].join(' ')}\` continues ${paused.size === 1 ? 'it' : 'them'}`;
}

/** Why parts of this process make no progress; undefined while they do. A role that it does not have is absent. */
export type RoleTroubles = Readonly<
  Partial<Record<keyof typeof TROUBLED, (() => Promise<string | undefined>) | undefined>>
>;

interface ReadinessParts {
  readonly troubles?: RoleTroubles;
  /** A monotonic clock (ms). */
  readonly now?: () => number;
  /** Epoch ms. */
  readonly wall?: () => number;
}

/**
 * Looks at most every `ms` milliseconds. Who asks meanwhile gets the same answer: a look reads from every engine and
 * writes to the disk, and anybody may ask.
 */
export function atMostEvery(
  ms: number,
  look: Readiness,
  now: () => number = () => performance.now(),
): Readiness {
  let last: { readonly health: ReturnType<Readiness>; endedAt: number } | undefined;
  return async () => {
    if (last === undefined || now() - last.endedAt >= ms) {
      const looking = (last = { health: look(), endedAt: Infinity });
      const end = (): void => {
        looking.endedAt = now();
      };
      looking.health.then(end, end);
    }
    return await last.health;
  };
}

/**
 * Raises `EngineUnavailable` if the log refuses appends, as an EventStoreDB does whose user may only read. Appends
 * nothing: the log refuses the revision once it has allowed the append.
 */
async function requireAppends(log: EventLog): Promise<void> {
  const event = { id: randomUUID(), type: 'Probed', data: '{}', meta: '{}' };
  await log.append('probe', BEYOND, [event]).catch((error: unknown) => {
    if (!(error instanceof RevisionConflict)) throw error;
  });
}

/** When the first event after a position was appended (epoch ms); undefined if there is none, or it has no time. */
async function firstAfter(log: EventLog, position: Position): Promise<number | undefined> {
  for await (const { events } of log.readAll({ after: position, batchSize: 1 }))
    for (const event of events) return timeOf(event);
  return undefined;
}

function timeOf({ data }: RecordedEvent): number | undefined {
  const { at } = JSON.parse(data) as { readonly at?: unknown };
  const time = typeof at === 'string' ? Date.parse(at) : NaN;
  return Number.isNaN(time) ? undefined : time;
}

/**
 * Ready once the directory and the read models have reached the head that the log had at the start, and while the
 * engines are available and the data folder can be written. Later loads do not make it unready, since searches
 * continue. Read models that have been behind for a minute without a projector do.
 */
export async function readinessOf(
  { log, store }: Engines,
  follower: FollowedDirectory,
  { troubles = {}, now = () => performance.now(), wall = Date.now }: ReadinessParts = {},
): Promise<Readiness> {
  const start = await log.head();
  let caughtUp = false;
  /** Observed heads of the log that the read models have not reached, and when they were observed: oldest first. */
  let unseen: readonly { readonly position: Position; readonly at: number; readonly isKnown: boolean }[] = [];
  /** When the read models had everything that was in the log. What is after `start` is younger than this process. */
  let reachedAt = now();

  /** Since when no projector has been seen. */
  let vacantAt: number | undefined;

  const countParkedEvents = parkedEventCounter(log);
  const findHead = shared('the event log', async () => ({
    head: await log.head(),
    unused: (await countParkedEvents()) + follower.directory.unusableCount,
  }));
  const findAppends = shared('the event log', () => requireAppends(log));
  const findModels = shared('the read store', async () => {
    const paused = await readNotes(store, 'paused', NAMES);
    // Those that are paused are meant to be behind.
    const followed = PROJECTIONS.filter(({ collection }) => !paused.has(collection.name));
    const isPaused = followed.length === 0;
    caughtUp ||= isPaused || (await waitForPosition(SYSTEM_CLOCK, store, followed, start, 0));
    const { name, ms } = PROJECTOR_LEASE;
    const isProjected = (await store.holder(name, Date.now(), ms)) !== undefined;
    return {
      shown: isPaused ? start : await visiblePosition(store, followed),
      parked: await parkedCount(store),
      paused: paused.size === 0 ? undefined : pausedText(paused),
      isProjected,
    };
  });
  /** Reads the head again, after the read models: it includes everything that they have. */
  const isAhead = async (shown: Position): Promise<boolean> =>
    await withEngineTimeout(SYSTEM_CLOCK, 'the event log', log.head(), LOOK_MS).then(
      (head) => shown > head,
      () => false,
    );
  const finders = Object.entries(TROUBLED).map(
    ([name, part]) => [name, shared(part, async () => troubles[name as keyof RoleTroubles]?.())] as const,
  );

  /**
   * For how long the read models have been behind the log, in seconds, as far as it was observed. `isKnown`: they were
   * not behind before. The first event that they lack says since when they are, unless it has a time of the past, as
   * reference data and imports have: it is no older than the last time when they lacked nothing, or than this process.
   */
  async function behind(shown: Position, head: Position): Promise<{ seconds: number; isKnown: boolean }> {
    const at = now();
    unseen = unseen.filter(({ position }) => position > shown);
    if (head <= shown) reachedAt = at;
    else if (unseen.length === 0) {
      const time = await withEngineTimeout(
        SYSTEM_CLOCK,
        'the event log',
        firstAfter(log, shown),
        LOOK_MS,
      ).catch(() => undefined);
      const isKnown = time !== undefined && shown >= start;
      const age = isKnown ? Math.max(0, Math.min(wall() - time, at - reachedAt)) : 0;
      unseen = [{ position: head, at: at - age, isKnown }];
    } else if (unseen.length < SAMPLES) unseen = [...unseen, { position: head, at, isKnown: true }];
    const [{ at: since, isKnown } = { at, isKnown: true }] = unseen;
    return { seconds: Math.round((at - since) / 1000), isKnown };
  }

  /** How long no projector has been running, in seconds. */
  function vacant(isProjected: boolean | undefined): number {
    if (isProjected === true) vacantAt = undefined;
    if (isProjected === false) vacantAt ??= now();
    return vacantAt === undefined ? 0 : (now() - vacantAt) / 1000;
  }

  return async () => {
    const found = Promise.all(finders.map(async ([name, find]) => [name, await find().catch(reasonOf)]));
    const [head, models, appends] = await Promise.allSettled([findHead(), findModels(), findAppends()]);
    const inTrouble = (await found).filter(([, trouble]) => trouble !== undefined);
    const { disk, ...roles } = Object.fromEntries(inTrouble) as { [Part in keyof RoleTroubles]: string };
    const { shown, parked, paused, isProjected } = models.status === 'fulfilled' ? models.value : {};
    const unused = head.status === 'fulfilled' ? head.value.unused : 0;
    const lag =
      shown === undefined || head.status === 'rejected' ? undefined : await behind(shown, head.value.head);
    const vacancy = vacant(isProjected);
    const waiting: Record<string, string> = {};
    if (disk !== undefined) waiting.disk = disk;
    if (head.status === 'rejected') waiting.log = reasonOf(head.reason);
    else if (appends.status === 'rejected') waiting.log = reasonOf(appends.reason);
    if (follower.position < start) waiting.directory = 'is catching up with the log';
    if (models.status === 'rejected') waiting.readModels = reasonOf(models.reason);
    else if (!caughtUp || shown === undefined) waiting.readModels = 'are catching up with the log';
    else if (head.status === 'fulfilled' && shown > head.value.head && (await isAhead(shown)))
      waiting.readModels = AHEAD;
    else if (lag !== undefined && Math.min(lag.seconds, vacancy) >= STALE_S)
      waiting.readModels = `are stale: they have been behind the log for ${lag.seconds} s, and no projector is running`;
    return {
      waiting,
      ...(parked === undefined ? {} : { parked: parked + unused }),
      ...(lag?.isKnown === true ? { behind: lag.seconds } : {}),
      ...(paused === undefined ? {} : { paused }),
      ...roles,
    };
  };
}

/**
 * Calls an engine; concurrent callers share one call. On a timeout raises the last failure, or `EngineUnavailable`: an
 * engine may retry for long before it reports why it fails.
 */
function shared<Answer>(engine: string, ask: () => Promise<Answer>): () => Promise<Answer> {
  let asked: Promise<Answer> | undefined;
  let failure: unknown;
  const answer = async (): Promise<Answer> => {
    try {
      const answered = await ask();
      failure = undefined;
      return answered;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      asked = undefined;
    }
  };
  return async () => {
    asked ??= answer();
    return await withEngineTimeout(SYSTEM_CLOCK, engine, asked, LOOK_MS).catch((late: unknown) => {
      throw failure ?? late;
    });
  };
}

/** What is written to find out: one block. */
const PROBE = Buffer.alloc(4096);

/** As much as one append to the log may take: less free space than this is a full disk. */
const NEEDED = 1024 * 1024;

/** An error with a code, as of the system. */
const FULL = Object.assign(new Error('there is too little free space'), { code: 'ENOSPC' });

/** By the code of the system error. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'its files may not grow',
  EROFS: 'it is read-only',
  EACCES: 'access is denied',
  EPERM: 'access is denied',
  ENOENT: 'it was removed',
};

/** Why a folder cannot be written, found by trying; undefined if it can. Leaves no file, even if killed. */
export async function diskTrouble(folder: string): Promise<string | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < NEEDED) throw FULL;
    const path = join(folder, `.probe-${randomUUID()}`);
    const file = await open(path, 'wx');
    try {
      await unlink(path);
      await file.writeFile(PROBE);
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    const code = codeOf(error) ?? 'unknown error';
    return `the data folder cannot be written: ${REASONS[code] ?? code}`;
  }
}
