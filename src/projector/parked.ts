import { NamedError } from '../kernel/fault';
import { type Position, START } from '../kernel/event';
import { EVERYTHING, type Filter } from '../kernel/query';
import {
  createUnlessLive,
  type CollectionSpec,
  NoGeneration,
  type ReadStore,
  type Write,
} from '../kernel/read-store';
import { type Decider, load } from '../kernel/decider';
import { type EventLog } from '../kernel/event-log';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/**
 * A parked document: an event could not be folded into it. It stays as it was before that
 * event, and its later events wait, until a retry succeeds.
 */
export interface Parked {
  /** Name of its generation: `products-g3`. */
  readonly generation: string;
  /** Its id; absent when the event does not name a document. */
  readonly document?: string;
  /** The stream it is folded from. */
  readonly stream: string;
  /** Position of the event that failed. */
  readonly position: Position;
  /** Id of that event; absent when a directory change failed. */
  readonly event?: string;
  readonly error: string;
  /** The code that failed; empty when a retry is requested. */
  readonly code: string;
  /** Log position of the last attempt. */
  readonly asOf: Position;
}

const COLLECTION: CollectionSpec = {
  name: 'parked',
  version: 1,
  fields: { generation: 'keyword', retry: 'number' },
};

const TARGET = { collection: COLLECTION.name };

/** Documents have been parked because an event could not be folded into them. */
export class DocumentsParked extends NamedError {
  constructor(generation: string, parked: number) {
    super(`${parked} documents of ${generation} could not be folded and are parked (affilog parked list)`);
  }
}

/** With more failures than this, the cause is a bug rather than single documents: the projection stops. */
const MAX_PARKED = 1000;

export class TooManyParked extends NamedError {
  constructor(
    /** The collection whose projection stops. */
    readonly collection: string,
    generation: string,
    last: string,
  ) {
    super(`more than ${MAX_PARKED} documents of ${generation} could not be folded; the last error: ${last}`);
  }
}

/** Creates the collection of parked documents if it does not exist. */
export async function prepareParked(store: ReadStore): Promise<void> {
  await createUnlessLive(store, COLLECTION);
}

/** The parked documents of one generation or of all, in no particular order. */
export async function listParked(store: ReadStore, generation?: string): Promise<readonly Parked[]> {
  const found: Parked[] = [];
  await store.refresh(TARGET);
  for await (const page of store.scan(
    TARGET,
    generation === undefined ? EVERYTHING : inGeneration(generation),
  )) {
    found.push(...page.map(({ body }) => JSON.parse(body) as Parked));
  }
  return found;
}

/** Number of parked documents in these generations; 0 if nothing has been projected yet. */
export async function countParked(store: ReadStore, generations: readonly string[]): Promise<number> {
  try {
    return await store.count(TARGET, { field: 'generation', in: generations });
  } catch (error) {
    if (error instanceof NoGeneration) return 0;
    throw error;
  }
}

/** Records parked documents. Raises `NoGeneration`. */
export async function saveParked(store: ReadStore, parked: readonly Parked[]): Promise<void> {
  if (parked.length > 0) await store.write(TARGET, parked.map(toWrite));
}

/** Removes the records of documents that are parked no longer. Raises `NoGeneration`. */
export async function removeParked(store: ReadStore, parked: readonly Parked[]): Promise<void> {
  const writes = parked.map((entry) => removal(entry, entry.asOf));
  if (writes.length > 0) await store.write(TARGET, writes);
}

/** Whether a retry of documents of a generation has been requested. Raises `NoGeneration`. */
export async function isRetryRequested(store: ReadStore, generation: string): Promise<boolean> {
  const requested = { all: [inGeneration(generation), { field: 'retry', in: [1] }] };
  return (await store.count(TARGET, requested)) > 0;
}

/** Asks the running projector to retry parked documents now; a new version of the code retries them anyway. */
export async function requestRetry(store: ReadStore, parked: readonly Parked[]): Promise<void> {
  if (parked.length === 0) return;
  await saveParked(
    store,
    parked.map((entry) => ({ ...entry, code: '' })),
  );
  await store.refresh(TARGET);
}

/** Removes the parked entries of a generation that is being dropped. */
export async function forgetParked(store: ReadStore, generation: string): Promise<void> {
  await removeParked(store, await listParked(store, generation));
}

/** The parked documents of one generation: in memory and, once saved, in the store. */
export class ParkedDocuments {
  private unsaved: Parked[] = [];
  private asOf = START;

  private constructor(
    private readonly store: ReadStore,
    private readonly collection: string,
    private readonly generation: string,
    private readonly code: string,
    private readonly entries: Map<string, Parked>,
  ) {}

  /** `generation` is its name: `products-g3`. */
  static async open(
    store: ReadStore,
    { collection, generation }: { readonly collection: string; readonly generation: string },
    code: string,
  ): Promise<ParkedDocuments> {
    const entries = await listParked(store, generation);
    return new ParkedDocuments(
      store,
      collection,
      generation,
      code,
      new Map(entries.map((entry) => [keyOf(entry), entry])),
    );
  }

  get size(): number {
    return this.entries.size;
  }

  /** Whether an event of the document at this position must wait for a retry. */
  isParked(document: string, position: Position): boolean {
    const entry = this.entries.get(document);
    return entry !== undefined && position >= entry.position;
  }

  /** Parks a document at the first event that failed. */
  add(failed: Pick<Parked, 'document' | 'stream' | 'position' | 'event'>, error: unknown): void {
    const earlier = this.entries.get(keyOf(failed));
    if (earlier !== undefined && earlier.position <= failed.position) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const { generation, code } = this;
    const entry = { ...failed, generation, code, error: text, asOf: laterOf(failed.position, this.asOf) };
    this.entries.set(keyOf(entry), entry);
    this.unsaved.push(entry);
  }

  /**
   * Saves new entries; must be called before the checkpoint passes them. Raises `TooManyParked` above the limit, after
   * saving as many as are allowed, so that operators can inspect and retry them.
   */
  async save(): Promise<void> {
    if (this.unsaved.length === 0) return;
    const excess = Math.max(0, this.entries.size - MAX_PARKED);
    const allowed = this.unsaved.slice(0, Math.max(0, this.unsaved.length - excess));
    if (allowed.length > 0) await this.store.write(TARGET, allowed.map(toWrite));
    this.unsaved = this.unsaved.slice(allowed.length);
    if (excess > 0) throw new TooManyParked(this.collection, this.generation, this.unsaved[0]?.error ?? '');
  }

  /** Removes and returns the entries to retry: those that other code failed at, and those with a requested retry. */
  takeDue(asOf: Position): readonly Parked[] {
    this.asOf = asOf;
    const due = [...this.entries.values()].filter(({ code }) => code !== this.code);
    for (const entry of due) this.entries.delete(keyOf(entry));
    return due;
  }

  /** Completes a retry: deletes the entries from `takeDue` that have not been parked again. */
  async finishRetry(due: readonly Parked[], asOf: Position): Promise<void> {
    const done = due.filter((entry) => !this.entries.has(keyOf(entry)));
    if (done.length > 0)
      await this.store.write(
        TARGET,
        // Entries of a stopped projection are ahead of its checkpoint.
        done.map((entry) => removal(entry, laterOf(entry.asOf, asOf))),
      );
  }

  /** Whether a retry has been requested in the store. */
  async isRetryRequested(): Promise<boolean> {
    return this.entries.size > 0 && (await isRetryRequested(this.store, this.generation));
  }
}

function laterOf(a: Position, b: Position): Position {
  return a > b ? a : b;
}

function inGeneration(generation: string): Filter {
  return { field: 'generation', in: [generation] };
}

function toWrite(entry: Parked): Write {
  const { generation, code, asOf } = entry;
  const fields = { generation, retry: code === '' ? 1 : 0 };
  return { version: asOf, put: { id: idOf(entry), fields, body: JSON.stringify(entry) } };
}

function removal(entry: Parked, version: Position): Write {
  return { version, remove: idOf(entry) };
}

function idOf(entry: Parked): string {
  return `${entry.generation}/${keyOf(entry)}`;
}

/** Its key within the generation. */
export function keyOf({
  document,
  stream,
  position,
}: Pick<Parked, 'document' | 'stream' | 'position'>): string {
  return document ?? `${stream}@${position}`;
}

/**
 * An operator excluded an event from a projection. It is an event in the stream `projection-<name>`, so a rebuild
 * and a copy of the log honour it too (`docs/decisions.md#x47`).
 *
 * Its name and shape are the storage format: add, never rename.
 */
export interface EventSkipped {
  readonly type: 'EventSkipped';
  readonly data: Skip;
}

/** `at` is an ISO 8601 instant. */
export interface Skip {
  readonly event: string;
  readonly stream: string;
  /** The document that it belongs to, if the event names one. */
  readonly document?: string;
  readonly reason: string;
  readonly by: string;
  readonly at: string;
}

/** The state is the set of skipped events; skipping one of them again appends nothing. */
export const skipDecider: Decider<Skip, ReadonlySet<string>, EventSkipped> = {
  category: 'projection',
  initial: new Set(),
  decide: (skip, skipped) => (skipped.has(skip.event) ? [] : [{ type: 'EventSkipped', data: skip }]),
  evolve: (skipped, { data }) => new Set([...skipped, data.event]),
};

/** Ids of the events that a projection skips. */
export async function skippedEvents(log: EventLog, projection: string): Promise<ReadonlySet<string>> {
  return (await load(log, skipDecider, projection)).state;
}

/** All code that a projection, or the matcher, may run, with the folders in them. */
const FOLDERS = [
  '../../projections',
  '.',
  '../delivery/matching',
  '../domain',
  '../kernel',
  '../network',
  '../runtime',
  '../wire',
] as const;

/** A hash of this code: parked documents and events are retried when it has changed. */
export async function runningCode(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of FOLDERS) {
    const path = join(__dirname, folder);
    const entries = await readdir(path, { withFileTypes: true, recursive: true });
    const files = entries.filter((entry) => entry.isFile());
    for (const file of files.map(({ name, parentPath }) => join(parentPath, name)).sort())
      hash.update(relative(path, file)).update(await readFile(file));
  }
  return hash.digest('hex').slice(0, 16);
}
