import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type IsGone, isLeaseActive, type Lease, Leases } from '../../kernel/leases';
import { onDisk } from './connection';
import { StoreFile } from './store/store-file';

export const LEASE_TABLE = `CREATE TABLE IF NOT EXISTS lease_holders (name TEXT PRIMARY KEY, owner TEXT NOT NULL,
    expires INTEGER NOT NULL) STRICT;`;

/** Leases that ended longer ago (ms) are deleted: some names are used once. */
const KEPT_MS = 60 * 60 * 1000;

/**
 * Leases in a SQLite file that was set up with `LEASE_TABLE`. Processes that share it need about the same system clock.
 */
export class LeaseTable {
  constructor(private readonly file: StoreFile) {}

  lease(name: string, owner: string, now: number, ttl: number, isGone?: IsGone): Lease | undefined {
    const expires = now + ttl;
    return this.file.writing(() => {
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
    now: number,
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
