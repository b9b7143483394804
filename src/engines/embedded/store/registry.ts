import { join } from 'node:path';
import {
  type CollectionSpec,
  type Generation,
  isLeaseActive,
  type Lease,
  NoGeneration,
} from '../../../kernel/read-store';
import { filesIn, removeFiles } from './folder';
import { GenerationFile } from './generation-file';
import { LAYOUT_VERSION } from './layout';
import { StoreFile } from './store-file';

const SET_UP = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS generations (number INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL,
    state TEXT NOT NULL, spec TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS lease_holders (name TEXT PRIMARY KEY, owner TEXT NOT NULL,
    expires INTEGER NOT NULL) STRICT;`;

/** No data version: what is known may have changed. */
const UNSEEN = -1;

/** A generation with its declaration. */
export interface Registered extends Generation {
  readonly spec: CollectionSpec;
}

/**
 * What a folder of the read store holds: `registry.sqlite` tells which generations there are and who has which
 * lease, each generation is a file beside it. A file without an entry is what a crash has left: it is removed.
 */
export class Registry {
  private readonly file: StoreFile;
  private known: ReadonlyMap<number, Registered> = new Map();
  private seen = UNSEEN;

  constructor(private readonly directory: string) {
    this.file = new StoreFile(join(directory, 'registry.sqlite'), { create: true, setUp: SET_UP });
  }

  /** All generations as of now, by number; the same map as before while nothing has changed. */
  all(): ReadonlyMap<number, Registered> {
    try {
      const [version] = this.file.first('PRAGMA data_version') as [number];
      if (version !== this.seen) this.reload(version);
      return this.known;
    } catch (error) {
      this.seen = UNSEEN;
      throw error;
    }
  }

  path(generation: Generation): string {
    return join(this.directory, fileOf(generation));
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

  /** Makes it live in place of the one that is. */
  swap({ collection, number }: Generation): void {
    this.change(() => {
      this.file.run(
        `UPDATE generations SET state = 'retired' WHERE collection = ? AND state = 'live'`,
        collection,
      );
      const swapped = this.file.run(`UPDATE generations SET state = 'live' WHERE number = ?`, number);
      if (swapped === 0) throw new NoGeneration(`there is no generation ${number} of ${collection}`);
    });
  }

  /** Forgets a generation that is not live, then removes its file: who has it open can read on. */
  drop(generation: Generation): void {
    const { collection, number } = generation;
    this.change(() => {
      this.file.run(`DELETE FROM generations WHERE number = ? AND state <> 'live'`, number);
      const [left] = this.file.first('SELECT count(*) FROM generations WHERE number = ?', number) as [number];
      if (left > 0) throw new Error(`generation ${number} of ${collection} is live`);
    });
    this.removeFiles(fileOf(generation));
  }

  /**
   * Forgets generations that lie in their files as this code does not expect it, and removes the files of generations
   * that are not there.
   */
  clean(): void {
    this.file.writing(() => {
      const [layout] = this.file.first('PRAGMA user_version') as [number];
      if (layout !== LAYOUT_VERSION) {
        this.file.execute(`DELETE FROM generations; PRAGMA user_version = ${LAYOUT_VERSION}`);
        this.seen = UNSEEN;
      }
    });
    this.sweep();
  }

  /** Removes the files of generations that are not there: left by a crash. */
  sweep(): void {
    this.file.writing(() => {
      const ours = new Set([...this.all().values()].map(fileOf));
      const files = filesIn(this.directory).map((name) => name.replace(/-(wal|shm|journal)$/, ''));
      for (const name of new Set(files))
        if (/-g\d+\.sqlite$/.test(name) && !ours.has(name)) this.removeFiles(name);
    });
  }

  lease(name: string, owner: string, now: number, ttl: number): Lease | undefined {
    const expires = now + ttl;
    return this.file.writing(() => {
      const held = this.leaseOf(name);
      if (held !== undefined && held.owner !== owner && isLeaseActive(held, now, ttl)) return undefined;
      this.file.run('INSERT OR REPLACE INTO lease_holders VALUES (?, ?, ?)', name, owner, expires);
      return { name, owner, expires };
    });
  }

  holder(name: string, now: number, ttl: number): string | undefined {
    const held = this.leaseOf(name);
    return held !== undefined && isLeaseActive(held, now, ttl) ? held.owner : undefined;
  }

  release({ name, owner, expires }: Lease): void {
    this.file.run(
      'DELETE FROM lease_holders WHERE name = ? AND owner = ? AND expires = ?',
      name,
      owner,
      expires,
    );
  }

  close(): void {
    this.file.close();
  }

  private leaseOf(name: string): Lease | undefined {
    const row = this.file.first('SELECT owner, expires FROM lease_holders WHERE name = ?', name);
    return row && { name, owner: String(row[0]), expires: Number(row[1]) };
  }

  private change<Result>(work: () => Result): Result {
    try {
      return this.file.writing(work);
    } finally {
      this.seen = UNSEEN;
    }
  }

  private reload(version: number): void {
    const rows = this.file.all('SELECT number, state, spec FROM generations ORDER BY number');
    this.known = new Map(
      (rows as readonly [number, Generation['state'], string][]).map(([number, state, text]) => {
        const spec = JSON.parse(text) as CollectionSpec;
        return [number, { collection: spec.name, version: spec.version, number, state, spec }];
      }),
    );
    this.seen = version;
  }

  private removeFiles(name: string): void {
    removeFiles(['', '-wal', '-shm', '-journal'].map((suffix) => join(this.directory, name + suffix)));
  }
}

function fileOf({ collection, number }: Generation): string {
  return `${collection}-g${number}.sqlite`;
}
