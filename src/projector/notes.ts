import { EVERYTHING, type Found } from '../kernel/query';
import { createUnlessLive, type CollectionSpec, NoGeneration, type ReadStore } from '../kernel/read-store';
import { type Position, START } from '../kernel/event';
import { type Pace } from './progress-meter';

/**
 * What processes leave for each other about read models, in a collection beside them: whoever reads the store knows it.
 * Each kind has one writer at a time, but `awaited`. Disposable like the read models: without them it has no meaning.
 */
export interface Notes {
  /** An operator has paused the read model: it stays as it is until it is resumed. By read model. */
  readonly paused: PausedNote;
  /** A generation beside the live one that has what the live one has, and may take its place. By read model. */
  readonly kept: Standby;
  readonly ready: Standby;
  /** A rebuild that is under way, or was interrupted. By read model. */
  readonly rebuild: RebuildNote;
  /** A generation is being built only to be compared, or was. By read model. */
  readonly comparison: RebuildNote;
  /** Why the last rebuild, comparison or swap failed. By read model. */
  readonly failure: FailureNote;
  /** How long the steps of the last rebuild took that it was in. By read model. */
  readonly pace: Pace;
  /** How the process does that follows a log. By the name of its lease. */
  readonly projector: ProjectorNote;
  /** Somebody waits for events of a stream that the read models which take loads are far from. By stream. */
  readonly awaited: AwaitedNote;
  /** Events of a stream are visible ahead of the checkpoints. By stream. */
  readonly ahead: AheadNote;
  /** What the last comparison of all documents has found, and the last one of a sample. By read model. */
  readonly verification: Verification;
  readonly sampled: Verification;
}

interface AwaitedNote {
  /** Events up to here are waited for. */
  readonly position: Position;
}

interface AheadNote {
  /** Events of the stream up to here are visible. */
  readonly to: Position;
  /** In the generations with these names. */
  readonly generations: readonly string[];
}

interface PausedNote {
  /** ISO 8601. */
  readonly since: string;
  /** Who has paused it, as operators' actions are listed; earlier versions did not note it. */
  readonly by?: string;
}

/** Since when, and by whom. */
export function pausedText({ since, by }: PausedNote): string {
  return `since ${since}${by === undefined ? '' : ` by ${by}`}`;
}

export interface Standby {
  readonly generation: number;
  /** When it is dropped (ISO 8601). */
  readonly until: string;
  /** What was kept before, until the swap is complete, and after one that was interrupted. */
  readonly former?: Omit<Standby, 'former'>;
}

interface RebuildNote {
  readonly generation: number;
  /** Who builds it: it is under way as long as this owner has the lease of rebuilds. */
  readonly owner?: string;
  /** The directory that documents are described with is of this position. */
  readonly until: Position;
  /** Documents may be of up to this position, since it was catching up with the log. */
  readonly ahead?: Position;
  /** Only this code can continue, and only while no more events were excluded. */
  readonly code: string;
  readonly skipped: number;
  readonly phase: string;
  /** How many are built in the same pass: what follows is of all of them together. Earlier versions did not note it. */
  readonly readModels?: number;
  readonly events: number;
  readonly total: number;
  /** Events per second. */
  readonly rate: number;
  /** When it is expected to end (ISO 8601); absent as long as that cannot be known. */
  readonly end?: string;
  /** When this was written (ISO 8601). */
  readonly at: string;
}

interface FailureNote {
  readonly what: string;
  readonly reason: string;
  /** When it failed (ISO 8601). */
  readonly at: string;
}

export interface ProjectorNote {
  /** Why it makes no progress. */
  readonly trouble?: string;
  /** Read models that have stopped, since too many of their documents are parked. */
  readonly stopped: readonly string[];
  /** Read models that it does not follow, since they are paused; earlier versions did not note them. */
  readonly paused?: readonly string[];
  /** Since when it has not had everything that is in the log (ISO 8601). */
  readonly behindSince?: string;
  /** Events per second, recently. */
  readonly rate: number;
}

/**
 * A document that differs between two generations; a text that is absent is that of a document which one of them lacks.
 */
export interface Difference {
  readonly id: string;
  /** Names of the fields that differ, of both documents; the first 100. */
  readonly fields: readonly string[];
  readonly live?: string;
  readonly rebuilt?: string;
}

export interface Verification {
  /** When it ended (ISO 8601). */
  readonly at: string;
  /** Both generations were as of this position. */
  readonly position: Position;
  readonly live?: number;
  /** The generation that was compared with it, unless it was dropped. */
  readonly rebuilt?: number;
  readonly documents: number;
  readonly parked: number;
  /** Of so many documents one was compared; 1 are all. */
  readonly sample: number;
  readonly differing: number;
  /** The first ones by id, 100 at most. */
  readonly differences: readonly Difference[];
}

type NoteKind = keyof Notes;

const COLLECTION: CollectionSpec = { name: 'read-models', version: 1, fields: {} };
const TARGET = { collection: COLLECTION.name };

const idOf = (kind: NoteKind, name: string): string => `${kind} ${name}`;

/** The notes of a kind, by name. */
export async function readNotes<K extends NoteKind>(
  store: ReadStore,
  kind: K,
  names: readonly string[],
): Promise<ReadonlyMap<string, Notes[K]>> {
  return (await readNotesOf(store, [kind], names))(kind);
}

/** The notes of several kinds in one query; the answer has those of each kind, by name. */
export async function readNotesOf<K extends NoteKind>(
  store: ReadStore,
  kinds: readonly K[],
  names: readonly string[],
): Promise<<Each extends K>(kind: Each) => ReadonlyMap<string, Notes[Each]>> {
  const ids = kinds.flatMap((kind) => names.map((name) => idOf(kind, name)));
  const found = ids.length === 0 ? [] : await store.get(TARGET, ids).catch(orNone);
  const bodies = new Map(found.map(({ id, body }) => [id, body]));
  return <Each extends K>(kind: Each) => {
    const notes = new Map<string, Notes[Each]>();
    for (const name of bodies.size === 0 ? [] : names) {
      const body = bodies.get(idOf(kind, name));
      if (body !== undefined) notes.set(name, JSON.parse(body) as Notes[Each]);
    }
    return notes;
  };
}

/** All notes of a kind, by name. */
export async function listNotes<K extends NoteKind>(
  store: ReadStore,
  kind: K,
): Promise<ReadonlyMap<string, Notes[K]>> {
  const notes = new Map<string, Notes[K]>();
  const prefix = idOf(kind, '');
  try {
    await store.refresh(TARGET);
    for await (const page of store.scan(TARGET, EVERYTHING))
      for (const { id, body } of page)
        if (id.startsWith(prefix)) notes.set(id.slice(prefix.length), JSON.parse(body) as Notes[K]);
  } catch (error) {
    orNone(error);
  }
  return notes;
}

function orNone(error: unknown): readonly Found[] {
  if (error instanceof NoGeneration) return [];
  throw error;
}

export async function writeNote<K extends NoteKind>(
  store: ReadStore,
  kind: K,
  name: string,
  note: Notes[K],
): Promise<void> {
  const put = { id: idOf(kind, name), fields: {}, body: JSON.stringify(note) };
  const write = () => store.write(TARGET, [{ version: START, put }]);
  await write().catch(async (error: unknown) => {
    if (!(error instanceof NoGeneration)) throw error;
    await createUnlessLive(store, COLLECTION);
    await write();
  });
}

export async function removeNote(store: ReadStore, kind: NoteKind, name: string): Promise<void> {
  await store
    .write(TARGET, [{ version: START, remove: idOf(kind, name), forget: true }])
    .catch((error: unknown) => {
      if (!(error instanceof NoGeneration)) throw error;
    });
}

/** Which of these read models are paused. */
export async function pausedAmong(store: ReadStore, names: readonly string[]): Promise<ReadonlySet<string>> {
  return new Set((await readNotes(store, 'paused', names)).keys());
}
