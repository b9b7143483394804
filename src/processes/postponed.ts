import { type Position } from '../kernel/event';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { isRetryRequested, listParked, type Parked, removeParked, saveParked } from '../projector/parked';

/** How long after a failure an action is retried (ms). */
const RETRY_MS = 60_000;

/** How often to look for what other processes have recorded (ms). */
const SYNC_MS = 60_000;

/** Actions that are recorded: the first ones of all automations. */
const MOST = 1_000;

/** What failed actions are recorded as: parked documents of this name. */
export const AUTOMATIONS = 'automations';

/** A document whose action has failed. */
export interface FailedAction {
  readonly id: string;
  /** Of the document. */
  readonly version: Position;
  readonly error: unknown;
}

interface Failing {
  until: number;
  /** Absent: there were too many to record it. */
  readonly parked: Parked | undefined;
}

/**
 * Actions that have failed: one that always fails is retried once a minute, or when somebody asks for it, and delays no others.
 * They are recorded among the parked documents as long as they fail.
 */
export class Postponed {
  private readonly failing = new Map<string, Failing>();
  private syncedAt = -Infinity;

  /** `now`: a monotonic clock (ms). */
  constructor(
    private readonly store: ReadStore,
    private readonly now: () => number,
  ) {}

  has(automation: string, id: string): boolean {
    return (this.failing.get(keyOf(automation, id))?.until ?? 0) > this.now();
  }

  async add(automation: string, failed: readonly FailedAction[]): Promise<void> {
    const added: Parked[] = [];
    for (const { id, version, error } of failed) {
      const key = keyOf(automation, id);
      const before = this.failing.get(key)?.parked;
      const hasRoom = before !== undefined || this.failing.size < MOST;
      const asOf = before !== undefined && before.asOf > version ? before.asOf : version;
      const parked = hasRoom ? entryOf(key, asOf, error) : undefined;
      this.failing.set(key, { until: this.now() + RETRY_MS, parked });
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
    const isTime = this.now() >= this.syncedAt + SYNC_MS;
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
    this.syncedAt = this.now();
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
