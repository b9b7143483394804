import { type Position, START } from '../kernel/event';
import { EVERYTHING, type Filter } from '../kernel/query';
import { type CollectionSpec, NoGeneration, type ReadStore, type Write } from '../kernel/read-store';

/** A document that an event could not be folded into: it stays as it was until it is folded again. */
export interface Parked {
  /** The generation that it is in: `products-g3`. */
  readonly generation: string;
  /** Its id; absent for an event that does not even tell which document it is about. */
  readonly document?: string;
  /** The stream that it is folded from. */
  readonly stream: string;
  /** Where folding failed. */
  readonly position: Position;
  /** Id of the event there; absent for a change of the directory. */
  readonly event?: string;
  readonly error: string;
  /** The code that could not fold it; empty when it is to be tried again at once. */
  readonly code: string;
  /** How far the log had been read when it was tried last. */
  readonly asOf: Position;
}

const COLLECTION: CollectionSpec = {
  name: 'parked',
  version: 1,
  fields: { generation: 'keyword', retry: 'number' },
};

const TARGET = { collection: COLLECTION.name };

/** A fold that fails this often is a bug to be mended, not documents to be put aside: its projection stops. */
const MOST_PARKED = 1000;

export class TooManyParked extends Error {
  override readonly name = 'TooManyParked';
  constructor(
    /** The collection that is projected no further. */
    readonly collection: string,
    generation: string,
    last: string,
  ) {
    super(
      `more than ${MOST_PARKED} documents of ${generation} cannot be folded, the last one because of ${last}`,
    );
  }
}

/** Makes the collection of parked documents, where there is none yet. */
export async function prepareParked(store: ReadStore): Promise<void> {
  const generations = await store.generations(COLLECTION.name);
  if (generations.some(({ state }) => state === 'live')) return;
  const generation = await store.create(COLLECTION);
  await store.finish(generation);
  await store.swap(generation);
}

/** What is parked, of one generation or of all, in no order. */
export async function listParked(store: ReadStore, generation?: string): Promise<readonly Parked[]> {
  const found: Parked[] = [];
  await store.refresh(TARGET);
  for await (const page of store.scan(TARGET, generation === undefined ? EVERYTHING : within(generation))) {
    found.push(...page.map(({ body }) => JSON.parse(body) as Parked));
  }
  return found;
}

/** How many documents are parked in these generations; none where nothing was ever projected. */
export async function countParked(store: ReadStore, generations: readonly string[]): Promise<number> {
  try {
    return await store.count(TARGET, { field: 'generation', in: generations });
  } catch (error) {
    if (error instanceof NoGeneration) return 0;
    throw error;
  }
}

/** Has parked documents folded again by whoever projects them, now instead of with the next release. */
export async function retryParked(store: ReadStore, parked: readonly Parked[]): Promise<void> {
  const writes = parked.map((entry) => toWrite({ ...entry, code: '' }));
  if (writes.length > 0) await store.write(TARGET, writes);
  await store.refresh(TARGET);
}

/** Forgets what is parked in a generation that is given up. */
export async function forgetParked(store: ReadStore, generation: string): Promise<void> {
  const writes = (await listParked(store, generation)).map((entry) => removal(entry, entry.asOf));
  if (writes.length > 0) await store.write(TARGET, writes);
}

/** The parked documents of a generation that is being projected: in memory and, once kept, in the store. */
export class ParkedDocuments {
  private unkept: Parked[] = [];
  private asOf = START;

  private constructor(
    private readonly store: ReadStore,
    private readonly collection: string,
    private readonly generation: string,
    private readonly code: string,
    private readonly entries: Map<string, Parked>,
  ) {}

  /** `generation`: its name, `products-g3`. */
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

  /** Whether what comes at this position must wait until the document is folded again. */
  holds(document: string, position: Position): boolean {
    const entry = this.entries.get(document);
    return entry !== undefined && position >= entry.position;
  }

  /** Parks a document at the first event that could not be folded into it. */
  add(failed: Pick<Parked, 'document' | 'stream' | 'position' | 'event'>, error: unknown): void {
    const earlier = this.entries.get(keyOf(failed));
    if (earlier !== undefined && earlier.position <= failed.position) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const { generation, code } = this;
    const entry = { ...failed, generation, code, error: text, asOf: laterOf(failed.position, this.asOf) };
    this.entries.set(keyOf(entry), entry);
    this.unkept.push(entry);
  }

  /**
   * Stores what has been added: to be done before the checkpoint passes it. `TooManyParked` ends the projecting: as many
   * as are allowed are stored before, to be looked at and retried.
   */
  async keep(): Promise<void> {
    if (this.unkept.length === 0) return;
    const over = Math.max(0, this.entries.size - MOST_PARKED);
    const kept = this.unkept.slice(0, Math.max(0, this.unkept.length - over));
    if (kept.length > 0) await this.store.write(TARGET, kept.map(toWrite));
    this.unkept = this.unkept.slice(kept.length);
    if (over > 0) throw new TooManyParked(this.collection, this.generation, this.unkept[0]?.error ?? '');
  }

  /** Takes out what is to be folded again: what other code than this has failed at, and what has been asked for. */
  takeDue(asOf: Position): readonly Parked[] {
    this.asOf = asOf;
    const due = [...this.entries.values()].filter(({ code }) => code !== this.code);
    for (const entry of due) this.entries.delete(keyOf(entry));
    return due;
  }

  /** Ends a retry: what has been taken out and not been parked again is parked no more. */
  async settle(due: readonly Parked[], asOf: Position): Promise<void> {
    const gone = due.filter((entry) => !this.entries.has(keyOf(entry)));
    if (gone.length > 0)
      await this.store.write(
        TARGET,
        // One of a projection that has stopped lies ahead of its checkpoint.
        gone.map((entry) => removal(entry, laterOf(entry.asOf, asOf))),
      );
  }

  /** Whether a retry has been asked for in the store. */
  async isRetryAsked(): Promise<boolean> {
    if (this.entries.size === 0) return false;
    const asked = { all: [within(this.generation), { field: 'retry', in: [1] }] };
    return (await this.store.count(TARGET, asked)) > 0;
  }
}

function laterOf(a: Position, b: Position): Position {
  return a > b ? a : b;
}

function within(generation: string): Filter {
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

/** What it is called within its generation. */
export function keyOf({
  document,
  stream,
  position,
}: Pick<Parked, 'document' | 'stream' | 'position'>): string {
  return document ?? `${stream}@${position}`;
}
