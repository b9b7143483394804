import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type DatabaseSyncInstance } from '@photostructure/sqlite';
import { closeDatabase, openDatabase } from './connection';

/** The folder within the data folder, for what a copy does not need. */
export const PRESENCE_FOLDER = 'alive';

/** How long (ms) files of processes that are gone are kept: longer than any lease. */
const KEPT_MS = 60 * 60 * 1000;

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
