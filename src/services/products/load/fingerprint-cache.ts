import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CurrencyAt, evolve, FEED, parseChange } from '../../../domain/products/feed';
import { Fingerprints } from '../../../domain/products/fingerprints';
import { NO_STREAM, streamOf } from '../../../kernel/event';
import { DamagedLog, EngineUnavailable, type EventLog } from '../../../kernel/event-log';
import { type Leases } from '../../../kernel/leases';
import { type Clock } from '../../../runtime/clock';
import { FairQueue } from '../../../runtime/fair-queue';
import { KeyedMutex } from '../../../runtime/concurrency';
import { LeaseHolder } from '../../../runtime/lease-holder';
import { withEngineTimeout } from '../../../runtime/unavailable';
import { lastEvent } from '../../../kernel/decider';

/** A file is saved when it is this many events behind, and at least a quarter of the feed's products. */
const SAVE_AFTER = 10_000;

/**
 * Locks a feed among processes: runs with the lock, or without it once the signal aborts. The lock only saves work.
 * Writers that ignore it get revision conflicts, which they have to handle anyway.
 */
export type FeedLock = <Result>(
  feedId: number,
  signal: AbortSignal,
  run: () => Promise<Result>,
) => Promise<Result>;

interface CacheOptions {
  /** Without it, no other process loads feeds. */
  readonly feedLock?: FeedLock | undefined;
  /** For events that do not record their currency; without it, that is unknown. */
  readonly currencyAt?: (feedId: number) => CurrencyAt;
  /** Who waits if a feed's fingerprints do: by default each feed by itself. */
  readonly ownerOf?: (feedId: number) => string;
  /** Bytes of memory for fingerprints: of an owner's feeds that are in use, and of all that are not. */
  readonly memory?: number;
}

const MEMORY = 256 * 1024 * 1024;
/** Bytes that a product is taken to need, and a feed without any. */
const PER_PRODUCT = 128;
const EMPTY = new Fingerprints().memory;

interface CachedFeed {
  readonly fingerprints: Fingerprints;
  /** Revision of the file. */
  saved: number;
}

/**
 * Caches the fingerprints of feeds: the most recently used in memory, all large ones in files of a folder that may be
 * deleted at any time. One caller at a time uses a feed's, current as of the end of its stream. Those in use are
 * bounded too: an owner with as much in use as the memory waits, and so does anyone while there is twice as much.
 */
export class FingerprintCache {
  private readonly locks = new KeyedMutex<number>();
  /** Least recently used first. */
  private readonly entries = new Map<number, CachedFeed>();
  private readonly closing = new AbortController();
  private readonly memory: number;
  private readonly queue: FairQueue;
  /** Feeds in use, which are not evicted. */
  private readonly inUse = new Set<number>();

  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
    /** Without it, they are in memory only. */
    private readonly folder: string | undefined,
    private readonly options: CacheOptions = {},
  ) {
    const memory = options.memory ?? MEMORY;
    this.memory = memory;
    this.queue = new FairQueue({ atOnce: 2 * memory, perClient: memory, reserved: memory });
  }

  /** Runs with exclusive access to a feed's fingerprints; `posted`: how many products it may list. */
  async use<Result>(
    feedId: number,
    run: (fingerprints: Fingerprints) => Promise<Result>,
    posted = 0,
  ): Promise<Result> {
    const { feedLock = (_, __, run) => run() } = this.options;
    return this.locks.runExclusive(feedId, () =>
      feedLock(feedId, this.closing.signal, () => this.useCurrent(feedId, run, posted)),
    );
  }

  /** The fingerprints of a feed if they are in memory. They may be outdated, and change. */
  peek(feedId: number): Fingerprints | undefined {
    return this.entries.get(feedId)?.fingerprints;
  }

  async warm(feedId: number): Promise<void> {
    if (this.entries.has(feedId)) return;
    await this.locks.runExclusive(feedId, () => this.useCurrent(feedId, async () => undefined));
  }

  /** Saves files that are far behind, and stops waiting for other processes. */
  async close(): Promise<void> {
    this.closing.abort();
    for (const [feedId, entry] of this.entries) {
      if (entry.fingerprints.revision - entry.saved >= SAVE_AFTER) await this.save(feedId, entry);
    }
  }

  private async useCurrent<Result>(
    feedId: number,
    run: (fingerprints: Fingerprints) => Promise<Result>,
    posted = 0,
  ): Promise<Result> {
    const owner = this.options.ownerOf?.(feedId) ?? String(feedId);
    const weight = Math.max(await this.sizeOf(feedId), EMPTY + posted * PER_PRODUCT);
    return await this.queue.run(owner, () => this.useInMemory(feedId, run), { weight });
  }

  /** Bytes that they need, more or less: without a file, as if each event of the feed had listed another product. */
  private async sizeOf(feedId: number): Promise<number> {
    const known = this.entries.get(feedId)?.fingerprints.memory;
    if (known !== undefined) return known;
    const path = this.fileOf(feedId);
    const file = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (file !== undefined) return file.size;
    const last = await lastEvent(this.log, streamOf(FEED, feedId));
    return EMPTY + ((last?.revision ?? NO_STREAM) + 1) * PER_PRODUCT;
  }

  private async useInMemory<Result>(
    feedId: number,
    run: (fingerprints: Fingerprints) => Promise<Result>,
  ): Promise<Result> {
    const stream = streamOf(FEED, feedId);
    const currencyAt = this.options.currencyAt?.(feedId);
    this.inUse.add(feedId);
    let entry: CachedFeed | undefined;
    try {
      entry = await this.open(feedId);
      if (!(await catchUp(this.clock, this.log, stream, entry.fingerprints, currencyAt))) {
        entry = await this.discard(feedId);
        await catchUp(this.clock, this.log, stream, entry.fingerprints, currencyAt);
      }
      return await run(entry.fingerprints);
    } finally {
      if (entry !== undefined) {
        const behind = entry.fingerprints.revision - entry.saved;
        if (behind >= Math.max(SAVE_AFTER, entry.fingerprints.size / 4)) await this.save(feedId, entry);
      }
      this.inUse.delete(feedId);
      this.evict(feedId);
    }
  }

  private async open(feedId: number): Promise<CachedFeed> {
    const known = this.entries.get(feedId);
    const path = this.fileOf(feedId);
    const entry = known ?? entryOf(path === undefined ? undefined : await loadFingerprints(path, feedId));
    this.entries.delete(feedId);
    this.entries.set(feedId, entry);
    this.evict(feedId);
    return entry;
  }

  /** Replaces fingerprints of another log by empty ones. */
  private async discard(feedId: number): Promise<CachedFeed> {
    const path = this.fileOf(feedId);
    if (path !== undefined) await removeFingerprints(path);
    const entry = entryOf();
    this.entries.set(feedId, entry);
    return entry;
  }

  /** Evicts feeds that are not in use, but one. */
  private evict(latest: number): void {
    let bytes = [...this.entries.values()].reduce((sum, { fingerprints }) => sum + fingerprints.memory, 0);
    for (const [feedId, { fingerprints }] of this.entries) {
      if (bytes <= this.memory) return;
      if (feedId === latest || this.inUse.has(feedId)) continue;
      bytes -= fingerprints.memory;
      this.entries.delete(feedId);
    }
  }

  /** A failure does no harm: what the file lacks is folded again. */
  private async save(feedId: number, entry: CachedFeed): Promise<void> {
    const path = this.fileOf(feedId);
    if (path === undefined) return;
    await saveFingerprints(path, feedId, entry.fingerprints).then(
      () => (entry.saved = entry.fingerprints.revision),
      () => undefined,
    );
  }

  private fileOf(feedId: number): string | undefined {
    return this.folder === undefined ? undefined : join(this.folder, `feed-${feedId}.fingerprints`);
  }
}

function entryOf(fingerprints = new Fingerprints()): CachedFeed {
  return { fingerprints, saved: fingerprints.revision };
}

/** How long (ms) the lease of a crashed process blocks the others. */
const LEASE_MS = 10_000;
const POLL_MS = 100;
/** Timeouts of the leases (ms). */
const TIMEOUT_MS = { acquire: 1_000, release: 500 } as const;

/** Locks feeds among processes by leases, which block no load if unavailable: two would only cause conflicts. */
export function feedLeases(clock: Clock, leases: Leases): FeedLock {
  const owner = clock.uuid();
  return async (feedId, signal, run) => {
    const lease = new LeaseHolder(clock, leases, `load-feed-${feedId}`, owner, LEASE_MS);
    while (!signal.aborted && !(await orWithout(clock, lease.acquire(), TIMEOUT_MS.acquire))) {
      await clock.pause(POLL_MS, signal).catch(() => undefined);
    }
    try {
      return await lease.renewDuring(run);
    } finally {
      await orWithout(clock, lease.release(), TIMEOUT_MS.release);
    }
  };
}

/** The answer, or true if the leases are unavailable. */
async function orWithout<Answer>(
  clock: Clock,
  answer: Promise<Answer>,
  milliseconds: number,
): Promise<Answer | true> {
  try {
    return await withEngineTimeout(clock, 'the leases', answer, milliseconds);
  } catch (error) {
    if (error instanceof EngineUnavailable) return true;
    throw error;
  }
}

/** Changes with the layout below or with the input of a digest. Files of another format are discarded. */
const FORMAT = 'affilog-fingerprints-4';

interface Header {
  readonly format: string;
  readonly feedId: number;
  readonly revision: number;
  readonly lastEvent: string;
  readonly removals: number;
  readonly products: number;
  readonly idBytes: number;
  readonly sha256: string;
}

/** Saves the fingerprints of a feed: writes a new file, then renames it over the old one. */
export async function saveFingerprints(
  path: string,
  feedId: number,
  fingerprints: Fingerprints,
): Promise<void> {
  const { ends, bytes, contents, posted, prices, currencies, flags } = fingerprints.columns();
  const parts = [prices, contents, posted, ends, currencies, flags, bytes].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  );
  const header: Header = {
    format: FORMAT,
    feedId,
    revision: fingerprints.revision,
    lastEvent: fingerprints.lastEvent,
    removals: fingerprints.removals,
    products: fingerprints.size,
    idBytes: bytes.length,
    sha256: sha256(parts),
  };
  await mkdir(dirname(path), { recursive: true });
  const file = await open(`${path}.new`, 'w');
  try {
    await file.appendFile(JSON.stringify(header).padEnd(HEADER_BYTES));
    for (const part of parts) await file.appendFile(part);
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

/** Loads the saved fingerprints; undefined if there are none. Removes an unusable file. */
export async function loadFingerprints(path: string, feedId: number): Promise<Fingerprints | undefined> {
  const file = await readFile(path).catch(() => undefined);
  if (file === undefined) return undefined;
  const fingerprints = decode(file, feedId);
  if (fingerprints === undefined) await removeFingerprints(path);
  return fingerprints;
}

/** Removes the file. A failure does no harm: the file is checked whenever it is loaded. */
async function removeFingerprints(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

const HEADER_BYTES = 512;

function decode(file: Buffer, feedId: number): Fingerprints | undefined {
  const header = parseHeader(file.toString('utf8', 0, HEADER_BYTES));
  if (header?.format !== FORMAT || header.feedId !== feedId) return undefined;
  const { products, idBytes } = header;
  const body = file.subarray(HEADER_BYTES);
  if (body.length !== products * (8 + 16 + 16 + 4 + 2 + 1) + idBytes || sha256([body]) !== header.sha256)
    return undefined;
  // Copies, aligned and writable.
  let offset = body.byteOffset;
  const take = (length: number): ArrayBuffer => {
    const copy = new ArrayBuffer(length);
    new Uint8Array(copy).set(new Uint8Array(body.buffer, offset, length));
    offset += length;
    return copy;
  };
  const prices = new Float64Array(take(products * 8));
  const contents = new Uint32Array(take(products * 16));
  const posted = new Uint32Array(take(products * 16));
  const ends = new Uint32Array(take(products * 4));
  const currencies = new Uint16Array(take(products * 2));
  const flags = new Uint8Array(take(products));
  const bytes = Buffer.from(take(idBytes));
  const fingerprints = Fingerprints.fromColumns({ prices, currencies, contents, posted, ends, flags, bytes });
  fingerprints.revision = header.revision;
  fingerprints.lastEvent = header.lastEvent;
  fingerprints.removals = header.removals;
  return fingerprints;
}

function parseHeader(text: string): Header | undefined {
  try {
    return JSON.parse(text) as Header;
  } catch {
    return undefined;
  }
}

function sha256(parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** Events folded without a pause, in some 10 ms: other feeds that are being loaded wait no longer. */
const BATCH = 5000;

/**
 * Folds the events of a stream after the state's revision. Returns false, with nothing folded, if the state is not of
 * this stream: another event, or none, is at its revision, since the log was restored from an older backup or replaced.
 * Raises `DamagedLog` if a revision is missing.
 */
export async function catchUp(
  clock: Clock,
  log: EventLog,
  stream: string,
  fingerprints: Fingerprints,
  currencyAt?: CurrencyAt,
): Promise<boolean> {
  // The event at the revision itself is read too, to compare its id.
  let isVerified = fingerprints.lastEvent === '';
  for await (const batch of log.readStream(stream, {
    from: Math.max(0, fingerprints.revision),
    batchSize: BATCH,
  })) {
    for (const event of batch) {
      if (!isVerified) {
        if (event.revision !== fingerprints.revision || event.id !== fingerprints.lastEvent) return false;
        isVerified = true;
        continue;
      }
      if (event.revision !== fingerprints.revision + 1)
        throw new DamagedLog(`${stream} has no event of revision ${fingerprints.revision + 1}`);
      const change = parseChange(event, currencyAt);
      if (change !== undefined) evolve(fingerprints, change);
      fingerprints.revision = event.revision;
      fingerprints.lastEvent = event.id;
    }
    await clock.yield();
  }
  return isVerified;
}
