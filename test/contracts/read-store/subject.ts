import { type Position } from '../../../src/kernel/event';
import {
  type CollectionSpec,
  type Document,
  type Generation,
  type ReadStore,
  type Target,
} from '../../../src/kernel/read-store';
import { type Clock } from '../../../src/runtime/clock';

/** The store as the test at hand has it. */
export interface Subject {
  /** A new, empty one; by default with the system clock. */
  readonly open: (clock?: Clock) => Promise<ReadStore>;
  readonly store: () => ReadStore;
  readonly reopen: () => Promise<ReadStore>;
  readonly close: () => Promise<void>;
}

/** A new empty store for each test. */
export function freshForEach(subject: Subject): void {
  beforeEach(() => subject.open());
  afterEach(subject.close);
}

/** The position of this number. */
export function at(position: number): Position {
  return String(position).padStart(19, '0');
}

/** A live generation of a collection, empty. */
export async function live(store: ReadStore, spec: CollectionSpec): Promise<Generation> {
  const generation = await store.create(spec);
  await store.finish(generation);
  await store.swap(generation);
  return { ...generation, state: 'live' };
}

/** Writes documents, in batches, and makes them visible. */
export async function put(
  store: ReadStore,
  target: Target,
  documents: readonly Document[],
  version = 1,
): Promise<void> {
  for (let from = 0; from < documents.length; from += 500)
    await store.write(
      target,
      documents.slice(from, from + 500).map((document) => ({ put: document, version: at(version) })),
      at(version),
    );
  await store.refresh(target);
}
