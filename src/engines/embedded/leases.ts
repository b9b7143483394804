import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { type IsGone, isLeaseActive, type Lease, Leases } from '../../kernel/leases';
import { closeDatabase, onDisk, openDatabase } from './connection';
import { StoreFile } from './store/store-file';

export const LEASE_TABLE = `CREATE TABLE IF NOT EXISTS lease_holders (name TEXT PRIMARY KEY, owner TEXT NOT NULL,
    expires INTEGER NOT NULL) STRICT;`;

/** How long (ms) leases that have ended, and files of processes that are gone, are kept: longer than any lease. */
const KEPT_MS = 60 * 60 * 1000;

/**
 * Leases in a SQLite file that was set up with `LEASE_TABLE`. Processes that share it are on one machine, so
 * they have one system clock.
 */
export class LeaseTable {
  constructor(private readonly file: StoreFile) {}

  lease(name: string, owner: string, clock: () => number, ttl: number, isGone?: IsGone): Lease | undefined {
    return this.file.writing(() => {
      const now = clock();
      const expires = now + ttl;
      const [current] = this.active([name, name], now, ttl, isGone);
      if (current !== undefined && current !== owner) return undefined;
      this.file.run('INSERT OR REPLACE INTO lease_holders VALUES (?, ?, ?)', name, owner, expires);
      this.file.run('DELETE FROM lease_holders WHERE expires < ?', now - KEPT_MS);
      return { name, owner, expires };
    });
  }

  holder(name: string, now: number, ttl: number): string | undefined {
    return this.active([name, name], now, ttl)[0];
  }

  /** The owners of active leases whose names start with a prefix. */
  owners(prefix: string, now: number, ttl: number, isGone?: IsGone): readonly string[] {
    return [...new Set(this.active([prefix, `${prefix}\u{10ffff}`], now, ttl, isGone))];
  }

  release({ name, owner, expires }: Lease): void {
    this.file.run(
      'DELETE FROM lease_holders WHERE name = ? AND owner = ? AND expires = ?',
      name,
      owner,
      expires,
    );
  }

  /** The owners of active leases with names between two, both included. */
  private active(
    names: readonly [string, string],
    now: number,
    ttl: number,
    isGone?: IsGone,
  ): readonly string[] {
    return this.file
      .all('SELECT owner, expires FROM lease_holders WHERE name BETWEEN ? AND ? ORDER BY name', ...names)
      .filter(([, expires]) => isLeaseActive({ expires: Number(expires) }, now, ttl))
      .map(([owner]) => String(owner))
      .filter((owner) => isGone?.(owner) !== true);
  }
}

/** Not flushed at each commit: a lease need not outlast a loss of power. */
const SET_UP = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${LEASE_TABLE}`;

const SUBJECT = 'the file of leases';

/** Leases of the processes that share a data folder, in a file of it. */
export class LeaseFile extends Leases {
  private readonly file: StoreFile;
  private readonly table: LeaseTable;

  /** The file and its folder are created if needed. */
  constructor(private readonly path: string) {
    super();
    this.file = new StoreFile(path, { create: true, setUp: SET_UP, subject: SUBJECT });
    this.table = new LeaseTable(this.file);
  }

  async lease(
    name: string,
    owner: string,
    now: () => number,
    ttl: number,
    isGone?: IsGone,
  ): Promise<Lease | undefined> {
    this.makeFolder();
    return this.table.lease(name, owner, now, ttl, isGone);
  }

  async owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]> {
    this.makeFolder();
    return this.table.owners(prefix, now, ttl, isGone);
  }

  async release(lease: Lease): Promise<void> {
    this.table.release(lease);
  }

  async close(): Promise<void> {
    this.file.close();
  }

  private makeFolder(): void {
    onDisk(SUBJECT, () => mkdirSync(dirname(this.path), { recursive: true }));
  }
}

/** The folder within the data folder, for what a copy does not need. */
export const PRESENCE_FOLDER = 'alive';

/** How long (ms) an owner that lives is not asked for again. */
const ALIVE_MS = 500;

/** On Linux, another one since each start of the machine; containers share it. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/**
 * Tells processes that share a data folder whether one of them lives: each locks a file of its own, and the operating
 * system frees the lock however it ends. So leases of one that was killed need not be waited for. Processes without the
 * folder know nothing of each other, nor do those with a copy of it or on another machine: nobody locks their file
 * there, though they may live.
 */
export class Presence {
  /** A name that nobody else uses, for the leases of this process. */
  readonly name: string;
  private readonly id = randomUUID();
  private readonly folder: string;
  private readonly locked: DatabaseSyncInstance | undefined;
  private readonly gone = new Set<string>();
  private readonly aliveAt = new Map<string, number>();

  /** Without a folder that can be written, others wait until leases end. */
  constructor(dataDir: string) {
    this.folder = join(dataDir, PRESENCE_FOLDER);
    try {
      mkdirSync(this.folder, { recursive: true });
      this.clean();
      this.locked = lock(this.fileOf(this.id));
    } catch {
      this.locked = undefined;
    }
    const place = this.locked && placeOf(this.fileOf(this.id));
    this.name = place === undefined ? this.id : `${this.id}-${place}`;
  }

  /** Whether the owner of a lease is gone for certain. */
  isGone(owner: string): boolean {
    if (this.gone.has(owner)) return true;
    const isKnown = performance.now() - (this.aliveAt.get(owner) ?? -Infinity) < ALIVE_MS;
    const [, id, place] = NAME.exec(owner) ?? [];
    if (isKnown || owner === this.name || id === undefined) return false;
    const file = this.fileOf(id);
    if (placeOf(file) !== place) return false;
    if (isLocked(file)) this.aliveAt.set(owner, performance.now());
    else this.gone.add(owner);
    return this.gone.has(owner);
  }

  close(): void {
    if (this.locked === undefined) return;
    closeDatabase(this.locked);
    rmSync(this.fileOf(this.id), { force: true });
  }

  private clean(): void {
    for (const name of readdirSync(this.folder)) {
      if (!name.endsWith('.lock')) continue;
      const file = join(this.folder, name);
      const { mtimeMs = Infinity } = statSync(file, { throwIfNoEntry: false }) ?? {};
      if (Date.now() - mtimeMs > KEPT_MS && !isLocked(file)) rmSync(file, { force: true });
    }
  }

  private fileOf(id: string): string {
    return join(this.folder, `${id}.lock`);
  }
}

/** The id of a process, and where its file is. */
const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([0-9a-f]{16})$/;

/**
 * Names a file of the running machine: no copy has the same, and no file of another machine. Undefined if there is no
 * such file.
 */
function placeOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    const place = JSON.stringify([machine(), String(dev), String(ino)]);
    return createHash('sha256').update(place).digest('hex').slice(0, 16);
  } catch {
    return undefined;
  }
}

function machine(): string {
  try {
    return readFileSync(BOOT_ID, 'latin1').trim();
  } catch {
    return hostname();
  }
}

/** The operating system frees the lock however this process ends. Raises an error if the file is locked. */
export function lock(file: string): DatabaseSyncInstance {
  return openDatabase(file, { timeout: 0 }, (database) => {
    // Nothing is ever written: no other file is needed.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE');
  });
}

/** A file that cannot be opened counts as locked. */
function isLocked(file: string): boolean {
  try {
    closeDatabase(lock(file));
    return false;
  } catch {
    return true;
  }
}
