import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type IsGone, type Lease, Leases } from '../../kernel/leases';
import { onDisk } from './failure';
import { LEASE_TABLE, LeaseTable } from './lease-table';
import { StoreFile } from './store/store-file';

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
    onDisk(SUBJECT, () => mkdirSync(dirname(this.path), { recursive: true }));
    return this.table.lease(name, owner, now, ttl, isGone);
  }

  async owners(prefix: string, now: number, ttl: number, isGone?: IsGone): Promise<readonly string[]> {
    return this.table.owners(prefix, now, ttl, isGone);
  }

  async release(lease: Lease): Promise<void> {
    this.table.release(lease);
  }

  async close(): Promise<void> {
    this.file.close();
  }
}
