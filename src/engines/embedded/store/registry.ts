import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CollectionSpec, type Generation, NoGeneration } from '../../../kernel/read-store';
import { closeDatabase, onDisk, openDatabase } from '../connection';
import { LEASE_TABLE, LeaseTable } from '../leases';
import { GenerationFile } from './generation-file';
import { StoreFile } from './store-file';
import { LAYOUT_VERSION } from './layout';

const SET_UP = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS generations (number INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL,
    state TEXT NOT NULL, spec TEXT NOT NULL) STRICT;
  ${LEASE_TABLE}`;

const SUBJECT = 'the read store';

/** Not a data version: forces a reload. */
const STALE = -1;

/** A generation with its declaration. */
export interface Registered extends Generation {
  readonly spec: CollectionSpec;
}

/**
 * The registry of a read store's folder: `registry.sqlite` lists the generations and leases, and each generation has
 * its own file. A file without an entry was left by a crash and is removed.
 */
export class Registry {
  readonly leases: LeaseTable;
  private readonly file: StoreFile;
  private cached: ReadonlyMap<number, Registered> = new Map();
  private dataVersion = STALE;

  constructor(private readonly directory: string) {
    this.file = new StoreFile(join(directory, 'registry.sqlite'), { create: true, setUp: SET_UP });
    this.leases = new LeaseTable(this.file);
  }

  /** All generations by number; the same map as long as nothing changes. */
  all(): ReadonlyMap<number, Registered> {
    try {
      const [version] = this.file.first('PRAGMA data_version') as [number];
      if (version !== this.dataVersion) this.reload(version);
      return this.cached;
    } catch (error) {
      this.dataVersion = STALE;
      throw error;
    }
  }

  path(generation: Generation): string {
    return join(this.directory, fileOf(generation));
  }

  /** Bytes of its files. */
  size(generation: Generation): number {
    return onDisk(SUBJECT, () =>
      ['', '-wal'].reduce(
        (sum, suffix) =>
          sum + (statSync(this.path(generation) + suffix, { throwIfNoEntry: false })?.size ?? 0),
        0,
      ),
    );
  }

  create(spec: CollectionSpec): Registered {
    return this.change(() => {
      const [number] = this.file.first(
        'INSERT INTO generations (collection, state, spec) VALUES (?, ?, ?) RETURNING number',
        spec.name,
        'building',
        JSON.stringify(spec),
      ) as [number];
      const generation = {
        collection: spec.name,
        version: spec.version,
        number,
        state: 'building',
        spec,
      } as const;
      this.removeFiles(fileOf(generation));
      GenerationFile.create(this.path(generation), spec);
      return generation;
    });
  }

  /** Makes a generation live and retires the live one. */
  swap({ collection, number }: Generation): void {
    this.change(() => {
      this.file.run(
        `UPDATE generations SET state = 'retired' WHERE collection = ? AND state = 'live'`,
        collection,
      );
      const swapped = this.file.run(`UPDATE generations SET state = 'live' WHERE number = ?`, number);
      if (swapped === 0) throw new NoGeneration({ collection, generation: number });
    });
  }

  /** Leaves the collection without a live generation, if this one is live. */
  retire({ number }: Generation): void {
    this.change(() =>
      this.file.run(`UPDATE generations SET state = 'retired' WHERE number = ? AND state = 'live'`, number),
    );
  }

  /** Removes a generation that is not live, then its file. Connections that have it open can continue to read. */
  drop(generation: Generation): void {
    const { number } = generation;
    const isLeft = this.change(() => {
      this.file.run(`DELETE FROM generations WHERE number = ? AND state <> 'live'`, number);
      return this.file.first('SELECT 1 FROM generations WHERE number = ?', number) !== undefined;
    });
    if (!isLeft) this.removeFiles(fileOf(generation));
  }

  /** Creates the folder if needed, and removes files without an entry. */
  clean(): void {
    onDisk(SUBJECT, () => mkdirSync(this.directory, { recursive: true }));
    this.removeLeft();
  }

  /** Removes files without an entry, and generations of other layouts that nobody has open. */
  sweep(): void {
    this.removeLeft();
    removeOtherLayouts(this.directory, SUBJECT);
  }

  close(): void {
    this.file.close();
  }

  private removeLeft(): void {
    this.file.writing(() => {
      const ours = new Set([...this.all().values()].map(fileOf));
      const files = onDisk(SUBJECT, () => readdirSync(this.directory)).map((name) =>
        name.replace(/-(wal|shm|journal)$/, ''),
      );
      for (const name of new Set(files))
        if (/-g\d+\.sqlite$/.test(name) && !ours.has(name)) this.removeFiles(name);
    });
  }

  private change<Result>(work: () => Result): Result {
    try {
      return this.file.writing(work);
    } finally {
      this.dataVersion = STALE;
    }
  }

  private reload(version: number): void {
    const rows = this.file.all('SELECT number, state, spec FROM generations ORDER BY number');
    this.cached = new Map(
      (rows as readonly [number, Generation['state'], string][]).map(([number, state, text]) => {
        const spec = JSON.parse(text) as CollectionSpec;
        return [number, { collection: spec.name, version: spec.version, number, state, spec }];
      }),
    );
    this.dataVersion = version;
  }

  private removeFiles(name: string): void {
    onDisk(SUBJECT, () => {
      for (const suffix of ['', '-wal', '-shm', '-journal'])
        rmSync(join(this.directory, name + suffix), { force: true });
    });
  }
}

function fileOf({ collection, number }: Generation): string {
  return `${collection}-g${number}.sqlite`;
}

const FOLDER = /^layout-\d+$/;
const GENERATION = /-g\d+\.sqlite(-wal|-shm|-journal)?$/;

/**
 * The folder of the store with this layout. Each layout has one, so that builds with different layouts can use a data
 * folder side by side: none ever sees, let alone reads, generations of another.
 */
export function layoutFolder(folder: string, layout = LAYOUT_VERSION): string {
  return join(folder, `layout-${layout}`);
}

/**
 * Removes the generations of other layouts beside a store, except those of a store that is open in any process. Earlier
 * builds had theirs in the folder itself. The registry, which is small, stays: whoever opens it meanwhile, or later,
 * finds no generations.
 */
function removeOtherLayouts(directory: string, subject: string): void {
  const folder = dirname(directory);
  const layouts = onDisk(subject, () => readdirSync(folder)).filter((name) => FOLDER.test(name));
  const stores = [folder, ...layouts.map((name) => join(folder, name))];
  for (const store of stores) if (store !== directory) removeUnlessOpen(store, subject);
}

function removeUnlessOpen(store: string, subject: string): void {
  const files = (): readonly string[] => readdirSync(store).filter((name) => GENERATION.test(name));
  if (onDisk(subject, files).length === 0) return;
  try {
    // Fails while anybody has it open: SQLite holds a lock on a file with a WAL as long as it is connected.
    const registry = openDatabase(join(store, 'registry.sqlite'), { timeout: 0 }, (database) => {
      database.exec('PRAGMA locking_mode = EXCLUSIVE; DELETE FROM generations');
    });
    try {
      for (const name of files()) rmSync(join(store, name), { force: true });
    } finally {
      closeDatabase(registry);
    }
  } catch {
    // In use, or damaged: the next sweep tries again.
  }
}
