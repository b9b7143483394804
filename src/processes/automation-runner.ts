import { NamedError } from '../kernel/fault';
import { type Position, START } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { type Leases } from '../kernel/leases';
import { type Cursor, type Filter, type Found, oneAnswer } from '../kernel/query';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { type Directory } from '../network/directory';
import { type FollowedDirectory } from '../network/follower';
import { isRetryRequested, listParked, type Parked, removeParked, saveParked } from '../projector/parked';
import { type Projection } from '../projector/projection';
import { waitForPosition } from '../projector/wait';
import { type Clock, ClockGuard } from '../runtime/clock';
import { inParallel } from '../runtime/concurrency';
import { Troubles } from '../runtime/leader';
import { AUTOMATION_LEASE, LeaseHolder } from '../runtime/lease-holder';
import { AUTOMATION_ACTIONS } from '../runtime/metrics';
import { asSpan } from '../runtime/tracing';
import { Backoff } from '../runtime/unavailable';

/** What an action works with. */
export interface ActionParts {
  readonly clock: Clock;
  readonly log: EventLog;
  /** At least as new as the document. */
  readonly directory: Directory;
  readonly at: string;
}

/**
 * Something that the system does by itself when it is due: a query that finds what is due, and the command for each
 * document found.
 *
 * There is no cursor and no list of timers. A document is found until its read model shows that the command has been
 * executed. So `act` may be called repeatedly, late, by two processes at once, or for a document that is out of date:
 * the decider of the command makes that harmless.
 */
export interface Automation {
  readonly name: string;
  readonly projection: Projection;
  /** A `number` field of it, one of `sorts`: what is found is done in its order, the lowest first. */
  readonly orderBy: string;
  /**
   * What is due at `now` (epoch ms). Each filter is a query, repeated every half second: it must be one that an index
   * answers, normally a range of `orderBy`.
   */
  due(now: number, directory: Directory): readonly Filter[] | Promise<readonly Filter[]>;
  /** Executes the command for a document. Returns the position of the last event appended, if any. */
  act(found: Found, parts: ActionParts): Promise<{ readonly position?: Position }>;
}

interface AutomationParts {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly leases: Leases;
  readonly follower: FollowedDirectory;
}

interface AutomationOptions {
  readonly clock: Clock;
  readonly owner: string;
  readonly report?: (failure: unknown) => void;
}

/** Interval between queries when nothing is due (ms). */
const LOOK_MS = 500;
const BACKOFF_MS = { first: 100, longest: 5000 } as const;
/** Documents per query. */
const PAGE = 1000;
/** Enough concurrent appends for the log to commit them in groups. */
const AT_ONCE = 128;
/** How long to wait for the read model before looking again (ms): less than the lease. */
const VISIBLE_MS = 5_000;

/**
 * Runs automations (docs/architecture.md, Automations) in the process that holds the automation lease; the others stand
 * by. Each automation has a loop of its own, so that none delays the others.
 */
export class AutomationRunner {
  private readonly stopping = new AbortController();
  private readonly lease: LeaseHolder;
  private readonly guard: ClockGuard;
  private readonly postponed: Postponed;
  private readonly clock: Clock;
  private readonly report: (failure: unknown) => void;
  private readonly troubles: Troubles;
  private running: Promise<unknown> | undefined;
  /** The next look of all automations that have nothing to do: they ask for the lease together. */
  private nextLook: Promise<void> | undefined;

  constructor(
    private readonly parts: AutomationParts,
    private readonly automations: readonly Automation[],
    { clock, owner, report = () => undefined }: AutomationOptions,
  ) {
    [this.clock, this.report] = [clock, report];
    this.troubles = new Troubles(report);
    this.guard = new ClockGuard(clock, 'automatic transitions', report);
    this.postponed = new Postponed(clock, parts.store);
    const { name, ms } = AUTOMATION_LEASE;
    this.lease = new LeaseHolder(clock, parts.leases, name, owner, ms);
  }

  start(): void {
    this.running ??= Promise.all(this.automations.map((automation) => this.repeat(automation)));
  }

  /** Stops after the commands under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    await this.lease.release().catch(this.report);
  }

  trouble(): string | undefined {
    return this.troubles.reason;
  }

  /**
   * Does what is due of one automation, and waits until its read model shows it. False if nothing was done: nothing is
   * due, another process has the lease, or the clock is not trusted.
   */
  async turn(automation: Automation): Promise<boolean> {
    const start = await this.present();
    return start !== undefined && (await this.lease.renewDuring(() => this.lead(automation, start)));
  }

  private async lead(automation: Automation, start: number): Promise<boolean> {
    const { store, follower } = this.parts;
    const { projection } = automation;
    const target = { collection: projection.collection.name };
    const checkpoint = await store.checkpoint(target);
    await follower.reachedInTime(checkpoint);
    await store.refresh(target, checkpoint);
    await this.postponed.sync();
    let last = START;
    const failed: FailedAction[] = [];
    const failing = new Set<string>();
    let isComplete = true;
    for (const filter of await automation.due(start, follower.directory)) {
      for await (const page of this.pages(automation, filter)) {
        const mayAct = (await this.present()) !== undefined;
        isComplete &&= mayAct;
        if (!mayAct) break;
        const earlier = failed.length;
        try {
          last = later(last, await this.act(automation, page, failed));
        } finally {
          await this.postponed.add(automation.name, failed.slice(earlier));
        }
        for (const { id } of failed.slice(earlier)) failing.add(id);
        for (const { id } of page) if (this.postponed.has(automation.name, id)) failing.add(id);
      }
    }
    if (isComplete && (await this.present()) !== undefined)
      await this.postponed.keepOnly(automation.name, failing);
    if (failed.length > 0) this.report(new ActionsFailed(automation.name, failed));
    if (last === START) return false;
    await waitForPosition(this.clock, store, [projection], last, VISIBLE_MS);
    return true;
  }

  /** The present in epoch ms if this process may act. */
  private async present(): Promise<number | undefined> {
    const now = this.stopping.signal.aborted ? undefined : this.guard.now();
    // A process whose clock is right may have the lease.
    if (now === undefined) await this.lease.release();
    return now !== undefined && (await this.lease.acquire()) ? now : undefined;
  }

  /** What a filter finds; documents that `act` has changed meanwhile are skipped without harm. */
  private async *pages(
    { projection, orderBy }: Automation,
    filter: Filter,
  ): AsyncGenerator<readonly Found[]> {
    const target = { collection: projection.collection.name };
    const search = { filter, order: [{ field: orderBy }], offset: 0, size: PAGE };
    const query = oneAnswer();
    let after: Cursor | null | undefined = null;
    while (after !== undefined) {
      const { found, next } = await this.parts.store.search(target, { ...search, after }, query);
      if (found.length > 0) yield found;
      after = next;
    }
  }

  /** Returns the position of the last event appended, `START` if there is none. */
  private async act(
    automation: Automation,
    page: readonly Found[],
    failed: FailedAction[],
  ): Promise<Position> {
    const { log, follower } = this.parts;
    let last = START;
    await follower.reachedInTime(page.map(({ version }) => version).reduce(later));
    await inParallel(page, AT_ONCE, async (found) => {
      if (this.postponed.has(automation.name, found.id)) return;
      // As close to the append as possible; the rest of the page is left to whoever has got the lease.
      const now = await this.present();
      if (now === undefined) return;
      try {
        const at = new Date(now).toISOString();
        const { clock } = this;
        const given = { clock, log, directory: follower.directory, at };
        const span = { name: automation.name, kind: 'internal' } as const;
        const { position = START } = await asSpan(span, () => automation.act(found, given));
        last = later(last, position);
        AUTOMATION_ACTIONS.add(1, { automation: automation.name, result: 'done' });
      } catch (error) {
        if (error instanceof EngineUnavailable) throw error;
        AUTOMATION_ACTIONS.add(1, { automation: automation.name, result: 'failed' });
        failed.push({ id: found.id, version: found.version, error });
      }
    });
    return last;
  }

  private look(): Promise<void> {
    return (this.nextLook ??= this.clock
      .pause(LOOK_MS, this.stopping.signal)
      .catch(() => undefined)
      .finally(() => (this.nextLook = undefined)));
  }

  private async repeat(automation: Automation): Promise<void> {
    const { signal } = this.stopping;
    const backoff = new Backoff(this.clock, BACKOFF_MS);
    while (!signal.aborted) {
      try {
        const hasActed = await this.turn(automation);
        this.troubles.clear(automation.name);
        backoff.reset();
        if (!hasActed) await this.look();
      } catch (error) {
        // The projector is building the read model.
        if (!(error instanceof NoGeneration)) this.troubles.add(automation.name, error);
        await backoff.wait(signal);
      }
    }
  }
}

function later(a: Position, b: Position): Position {
  return a > b ? a : b;
}

/** Some actions have failed; the others have been done. */
class ActionsFailed extends NamedError {
  constructor(automation: string, failed: readonly FailedAction[]) {
    const [first] = failed;
    super(
      `${automation}: ${failed.length} could not be executed and are retried in a minute; the first is ${first?.id}`,
      { cause: first?.error },
    );
  }
}

/** How long after a failure an action is retried (ms). */
const RETRY_MS = 60_000;

/** How often to look for what other processes have recorded (ms). */
const SYNC_MS = 60_000;

/** Actions that are recorded: the first ones of all automations. */
const MOST = 1_000;

/** What failed actions are recorded as: parked documents of this name. */
export const AUTOMATIONS = 'automations';

interface FailedAction {
  readonly id: string;
  readonly version: Position;
  readonly error: unknown;
}

interface Failing {
  until: number;
  /** Absent: there were too many to record it. */
  readonly parked: Parked | undefined;
}

/**
 * Actions that have failed: one that always fails is retried once a minute, or when somebody asks for it, and delays no
 * others. They are recorded among the parked documents as long as they fail.
 */
class Postponed {
  private readonly failing = new Map<string, Failing>();
  private syncedAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly store: ReadStore,
  ) {}

  has(automation: string, id: string): boolean {
    return (this.failing.get(keyOf(automation, id))?.until ?? 0) > this.clock.monotonic();
  }

  async add(automation: string, failed: readonly FailedAction[]): Promise<void> {
    const added: Parked[] = [];
    for (const { id, version, error } of failed) {
      const key = keyOf(automation, id);
      const before = this.failing.get(key)?.parked;
      const hasRoom = before !== undefined || this.failing.size < MOST;
      const asOf = before !== undefined && before.asOf > version ? before.asOf : version;
      const parked = hasRoom ? entryOf(key, asOf, error) : undefined;
      this.failing.set(key, { until: this.clock.monotonic() + RETRY_MS, parked });
      if (parked !== undefined) added.push(parked);
    }
    await unlessNotBuilt(() => saveParked(this.store, added));
  }

  /** Forgets the actions of an automation that fail no longer, or are no longer due: all but these. */
  async keepOnly(automation: string, ids: ReadonlySet<string>): Promise<void> {
    const prefix = keyOf(automation, '');
    const over = [...this.failing].filter(
      ([key]) => key.startsWith(prefix) && !ids.has(key.slice(prefix.length)),
    );
    if (over.length === 0) return;
    const recorded = over.flatMap(([, { parked }]) => parked ?? []);
    await unlessNotBuilt(() => removeParked(this.store, recorded));
    for (const [key] of over) this.failing.delete(key);
  }

  /** Takes note of retries that somebody has asked for, and of what other processes have recorded. */
  async sync(): Promise<void> {
    const isTime = this.clock.monotonic() >= this.syncedAt + SYNC_MS;
    const isAsked = await unlessNotBuilt(
      async () => this.failing.size > 0 && (await isRetryRequested(this.store, AUTOMATIONS)),
    );
    if (!isTime && isAsked !== true) return;
    const recorded = await unlessNotBuilt(() => listParked(this.store, AUTOMATIONS));
    if (recorded === undefined) return;
    for (const parked of recorded) {
      const { document = '', code } = parked;
      const known = this.failing.get(document);
      if (known === undefined || code === '') this.failing.set(document, { until: 0, parked });
    }
    this.syncedAt = this.clock.monotonic();
  }
}

function keyOf(automation: string, id: string): string {
  return `${automation.replaceAll(' ', '-')}/${id}`;
}

function entryOf(document: string, asOf: Position, error: unknown): Parked {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    generation: AUTOMATIONS,
    document,
    stream: '',
    position: asOf,
    error: text,
    code: 'failing',
    asOf,
  };
}

/** Undefined as long as no projector has created the collection of parked documents. */
async function unlessNotBuilt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}
