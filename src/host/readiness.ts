import { PROJECTIONS } from '../../projections/index';
import { PROJECTOR_LEASE } from '../kernel/lease-holder';
import { visiblePosition, waitForPosition } from '../projector/wait';
import { type FollowedDirectory } from '../directory/follower';
import { type Engines } from '../engines/open';
import { type Position } from '../kernel/event';
import { withEngineTimeout } from '../kernel/unavailable';
import { reasonOf } from '../kernel/unavailable';
import { type Readiness } from '../ops/rest/health.controller';
import { parkedCount } from '../ops/parked';

/** Timeout for checking an engine (ms). */
const LOOK_MS = 2_000;
/** How long read models may be behind without a projector before they count as stale (s): another may take over. */
const STALE_S = 60;
/** Observed heads of the log that are remembered while the read models are behind. */
const SAMPLES = 1000;

/** The log was restored from an older backup under running servers (`docs/decisions.md#x31`). */
const AHEAD =
  'have events that the log does not have: was it restored from an older backup? `affilog rebuild all --force` rebuilds them';

/** Why parts of this process make no progress; undefined while they do. A role that it does not have is absent. */
export interface Troubles {
  readonly projector?: (() => Promise<string | undefined>) | undefined;
  readonly automation?: (() => Promise<string | undefined>) | undefined;
  readonly notifier?: (() => Promise<string | undefined>) | undefined;
  /** Why the data folder cannot be written. */
  readonly disk?: (() => Promise<string | undefined>) | undefined;
}

interface ReadinessParts {
  readonly troubles?: Troubles;
  /** A monotonic clock (ms). */
  readonly now?: () => number;
}

/**
 * Ready once the directory and the read models have reached the head that the log had at the start, and while the
 * engines are available and the data folder can be written. Later loads do not make it unready, since searches continue. Read models that have been behind
 * for a minute without a projector do.
 */
export async function readinessOf(
  { log, store }: Engines,
  follower: FollowedDirectory,
  { troubles = {}, now = () => performance.now() }: ReadinessParts = {},
): Promise<Readiness> {
  const start = await log.head();
  let caughtUp = false;
  /** Observed heads of the log that the read models have not reached, and when they were observed: oldest first. */
  let unseen: readonly { readonly position: Position; readonly at: number }[] = [];

  /** Since when no projector has been seen. */
  let vacantAt: number | undefined;

  const findHead = shared('the event log', () => log.head());
  const findModels = shared('the read store', async () => {
    caughtUp ||= await waitForPosition(store, PROJECTIONS, start, 0);
    const { name, ms } = PROJECTOR_LEASE;
    const isProjected = (await store.holder(name, Date.now(), ms)) !== undefined;
    return {
      shown: await visiblePosition(store, PROJECTIONS),
      parked: await parkedCount(store),
      isProjected,
    };
  });
  /** Reads the head again, after the read models: it includes everything that they have. */
  const isAhead = async (shown: Position): Promise<boolean> =>
    await withEngineTimeout('the event log', log.head(), LOOK_MS).then(
      (head) => shown > head,
      () => false,
    );
  const findProjectorTrouble = shared('the projector', async () => troubles.projector?.());
  const findAutomationTrouble = shared('the automation', async () => troubles.automation?.());
  const findNotifierTrouble = shared('the notifier', async () => troubles.notifier?.());
  const findDiskTrouble = shared('the data folder', async () => troubles.disk?.());

  /** For how long the read models have been behind the log, in seconds. */
  function behind(shown: Position, head: Position): number {
    const at = now();
    if (unseen.length < SAMPLES) unseen = [...unseen, { position: head, at }];
    unseen = unseen.filter(({ position }) => position > shown);
    return Math.round((at - (unseen[0]?.at ?? at)) / 1000);
  }

  /** How long no projector has been running, in seconds. */
  function vacant(isProjected: boolean | undefined): number {
    if (isProjected === true) vacantAt = undefined;
    if (isProjected === false) vacantAt ??= now();
    return vacantAt === undefined ? 0 : (now() - vacantAt) / 1000;
  }

  return async () => {
    const found = Promise.all([
      findProjectorTrouble().catch(reasonOf),
      findAutomationTrouble().catch(reasonOf),
      findNotifierTrouble().catch(reasonOf),
      findDiskTrouble().catch(reasonOf),
    ]);
    const [head, models] = await Promise.allSettled([findHead(), findModels()]);
    const [projector, automation, notifier, disk] = await found;
    const { shown, parked, isProjected } = models.status === 'fulfilled' ? models.value : {};
    const seconds = shown === undefined || head.status === 'rejected' ? undefined : behind(shown, head.value);
    const vacancy = vacant(isProjected);
    const waiting: Record<string, string> = {};
    if (disk !== undefined) waiting.disk = disk;
    if (head.status === 'rejected') waiting.log = reasonOf(head.reason);
    if (follower.position < start) waiting.directory = 'is catching up with the log';
    if (models.status === 'rejected') waiting.readModels = reasonOf(models.reason);
    else if (!caughtUp || shown === undefined) waiting.readModels = 'are catching up with the log';
    else if (head.status === 'fulfilled' && shown > head.value && (await isAhead(shown)))
      waiting.readModels = AHEAD;
    else if (seconds !== undefined && Math.min(seconds, vacancy) >= STALE_S)
      waiting.readModels = `are stale: they have been behind the log for ${seconds} s, and no projector is running`;
    return {
      waiting,
      ...(parked === undefined ? {} : { parked }),
      ...(seconds === undefined ? {} : { behind: seconds }),
      ...(projector === undefined ? {} : { projector }),
      ...(automation === undefined ? {} : { automation }),
      ...(notifier === undefined ? {} : { notifier }),
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
    return await withEngineTimeout(engine, asked, LOOK_MS).catch((late: unknown) => {
      throw failure ?? late;
    });
  };
}
