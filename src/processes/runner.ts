import { setTimeout as pause } from 'node:timers/promises';
import { type FollowedDirectory } from '../network/follower';
import { Backoff } from '../runtime/backoff';
import { type Position, START } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { ClockGuard, type Clocks, SYSTEM_CLOCKS } from '../runtime/clock-guard';
import { inParallel } from '../runtime/in-parallel';
import { AUTOMATION_LEASE, LeaseHolder } from '../runtime/lease-holder';
import { type Leases } from '../kernel/leases';
import { type Cursor, type Filter, type Found } from '../kernel/query';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { reasonOf } from '../runtime/unavailable';
import { waitForPosition } from '../projector/wait';
import { type Automation } from './automation';
import { type FailedAction, Postponed } from './postponed';

export interface AutomationParts {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly leases: Leases;
  readonly follower: FollowedDirectory;
}

export interface AutomationOptions {
  /** A name that no other process uses. */
  readonly owner: string;
  /** Receives failures after which the runner continues, and warnings. */
  readonly report?: (failure: unknown) => void;
  readonly clocks?: Clocks;
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
 * Runs automations (docs/architecture.md, Automations) in the process that holds the automation lease; the others stand by. Each
 * automation has a loop of its own, so that none delays the others.
 */
export class AutomationRunner {
  private readonly stopping = new AbortController();
  private readonly lease: LeaseHolder;
  private readonly guard: ClockGuard;
  private readonly postponed: Postponed;
  private readonly report: (failure: unknown) => void;
  /** Why automations make no progress, by name. */
  private readonly failures = new Map<string, string>();
  private running: Promise<unknown> | undefined;

  constructor(
    private readonly parts: AutomationParts,
    private readonly automations: readonly Automation[],
    { owner, report = () => undefined, clocks = SYSTEM_CLOCKS }: AutomationOptions,
  ) {
    this.report = report;
    this.guard = new ClockGuard(clocks, 'automatic transitions', report);
    this.postponed = new Postponed(parts.store, clocks.monotonic);
    const { name, ms } = AUTOMATION_LEASE;
    this.lease = new LeaseHolder(parts.leases, name, owner, ms, clocks.wall);
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

  /** Why there is no progress; undefined while there is. */
  trouble(): string | undefined {
    const [failure] = this.failures.values();
    return failure;
  }

  /**
   * Does what is due of one automation, and waits until its read model shows it. False if nothing was done: nothing is due,
   * another process has the lease, or the clock is not trusted.
   */
  async turn(automation: Automation): Promise<boolean> {
    const start = await this.present();
    return start !== undefined && (await this.lease.renewDuring(() => this.lead(automation, start)));
  }

  private async lead(automation: Automation, start: number): Promise<boolean> {
    const { store, follower } = this.parts;
    const { projection } = automation;
    const target = { collection: projection.collection.name };
    await follower.reachedInTime(await store.checkpoint(target));
    await store.refresh(target);
    await this.postponed.sync();
    let last = START;
    const failed: FailedAction[] = [];
    const failing = new Set<string>();
    let isComplete = true;
    for (const filter of automation.due(start, follower.directory)) {
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
    await waitForPosition(store, [projection], last, VISIBLE_MS);
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
    let after: Cursor | null | undefined = null;
    while (after !== undefined) {
      const { found, next } = await this.parts.store.search(target, { ...search, after });
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
        const { position = START } = await automation.act(found, { log, directory: follower.directory, at });
        last = later(last, position);
      } catch (error) {
        if (error instanceof EngineUnavailable) throw error;
        failed.push({ id: found.id, version: found.version, error });
      }
    });
    return last;
  }

  private async repeat(automation: Automation): Promise<void> {
    const { signal } = this.stopping;
    const backoff = new Backoff(BACKOFF_MS);
    while (!signal.aborted) {
      try {
        const hasActed = await this.turn(automation);
        this.failures.delete(automation.name);
        backoff.reset();
        if (!hasActed) await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
      } catch (error) {
        // The projector is building the read model.
        if (!(error instanceof NoGeneration)) this.fail(automation, error);
        await backoff.wait(signal);
      }
    }
  }

  /** Reports a failure that is new. */
  private fail({ name }: Automation, error: unknown): void {
    const reason = reasonOf(error);
    if (this.failures.get(name) === reason) return;
    this.failures.set(name, reason);
    this.report(error);
  }
}

function later(a: Position, b: Position): Position {
  return a > b ? a : b;
}

/** Some actions have failed; the others have been done. */
class ActionsFailed extends Error {
  override readonly name = 'ActionsFailed';
  constructor(automation: string, failed: readonly FailedAction[]) {
    const [first] = failed;
    super(
      `${automation}: ${failed.length} could not be executed and are retried in a minute; the first is ${first?.id}`,
      { cause: first?.error },
    );
  }
}
