import { beginningOf } from '../kernel/text';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING, type Found } from '../kernel/query';
import { type Generation, type ReadStore, type Target, targetOf } from '../kernel/read-store';
import { type Position, START } from '../kernel/event';
import { defined } from '../kernel/values';
import { type Clock } from '../runtime/clock';
import { isExpired } from './expiry';
import { catchUp } from './fill';
import { type GenerationProjector } from './generation-projector';
import { nameOf } from './generations';
import { type Difference, type Verification, writeNote } from './notes';
import { listParked } from './parked';

/** Result of comparing a rebuilt generation with the live one of the same version. */
export interface Comparison {
  /** Both were as of this position. */
  readonly position: Position;
  readonly differing: number;
  /** The first ones by id, `MAX_DIFFERENCES` at most. */
  readonly differences: readonly Difference[];
}

const MAX_DIFFERENCES = 100;
/** Characters of a document that are shown. */
const MAX_SHOWN = 10_000;
/** Differing documents that are checked again, since they may have changed during the comparison. */
const MAX_CANDIDATES = 100_000;
const MAX_ROUNDS = 100;
const ROUND_MS = 50;
const BATCH = 500;

export interface CompareOptions {
  /** Documents from before (epoch ms) that expire are ignored. */
  readonly keptSince?: number;
  /** Only these ids are compared. */
  readonly isCompared?: (id: string) => boolean;
  /** Called regularly with the number of documents that were compared. May raise to stop. */
  readonly onPage?: (documents: number) => Promise<void>;
}

/**
 * Compares every document of a rebuilt generation with the live one, which may be changing. Where they differ, the
 * rebuilt generation catches up until both are at the same position; what differs then is a real difference. Whoever
 * projects may have been interrupted after some of a batch was written: if the live generation stays like that, these
 * documents are compared as of their own versions. Documents that are parked in the live generation are ignored.
 */
export async function compareWithLive(
  clock: Clock,
  log: EventLog,
  store: ReadStore,
  live: Generation,
  rebuilt: GenerationProjector,
  options: CompareOptions = {},
): Promise<Comparison> {
  const { keptSince = -Infinity } = options;
  const differ = (ours?: Found, theirs?: Found): boolean =>
    ours?.body !== theirs?.body &&
    ![ours, theirs].some((one) => one && isExpired(rebuilt.projection, one.body, keptSince));
  const liveTarget = targetOf(live);
  const rebuiltTarget = targetOf(rebuilt.generation);
  let position = await store.checkpoint(liveTarget);
  await catchUp(log, rebuilt, position);
  const parked = new Set((await listParked(store, nameOf(live))).map(({ document }) => document));
  let candidates = (await differingIds(store, liveTarget, rebuiltTarget, differ, options)).filter(
    (id) => !parked.has(id),
  );
  /** Leaves those that differ when the rebuilt generation is there too. Returns the newest change of a live one. */
  const compareAt = async (reached: Position): Promise<Position> => {
    position = reached;
    await catchUp(log, rebuilt, position);
    let newest = START;
    const differing: string[] = [];
    for (let at = 0; at < candidates.length; at += BATCH) {
      const ids = candidates.slice(at, at + BATCH);
      const [ours, theirs, removals] = await Promise.all([
        byId(store, rebuiltTarget, ids),
        byId(store, liveTarget, ids),
        store.removals(liveTarget, ids),
      ]);
      differing.push(...ids.filter((id) => differ(ours.get(id), theirs.get(id))));
      for (const { version } of theirs.values()) if (version > newest) newest = version;
      for (const version of removals.values()) if (version > newest) newest = version;
    }
    candidates = differing;
    return newest;
  };
  let newest = START;
  const isLeft = (): boolean => candidates.length > 0 && candidates.length <= MAX_CANDIDATES;
  for (let round = 0, before = START; isLeft() && round < MAX_ROUNDS;) {
    newest = await compareAt(await store.checkpoint(liveTarget));
    if (newest <= position && (await store.checkpoint(liveTarget)) === position) break;
    // Documents may be far ahead of the checkpoint while that progresses (ADR 72): they are
    // comparable once it is there.
    if (newest <= position || position === before) round += 1;
    before = position;
    await clock.pause(ROUND_MS);
  }
  if (isLeft() && newest > position) await compareAt(newest);
  const shown = candidates.slice(0, MAX_DIFFERENCES);
  const [ours, theirs] = await Promise.all([
    byId(store, rebuiltTarget, shown),
    byId(store, liveTarget, shown),
  ]);
  return {
    position,
    differing: candidates.length,
    differences: shown.map((id) => differenceOf(id, theirs.get(id)?.body, ours.get(id)?.body)),
  };
}

interface ComparedGenerations {
  /** When the comparison ended (ISO 8601). */
  readonly at: string;
  readonly live: Generation | undefined;
  /** Absent without a live one. */
  readonly comparison: Comparison | undefined;
  /** One of so many documents was compared. */
  readonly sample: number;
}

/**
 * Leaves a note of what a comparison has found, which can be read whatever becomes of the generation. A rebuild without
 * a live one, as after an upgrade, leaves none.
 */
export async function noteComparison(
  store: ReadStore,
  { generation, parked }: GenerationProjector,
  { at, live, comparison, sample }: ComparedGenerations,
  isRebuild: boolean,
): Promise<Verification> {
  const target = targetOf(generation);
  await store.refresh(target);
  const verification: Verification = {
    ...{ at, position: comparison?.position ?? START },
    ...defined({ live: live?.number, rebuilt: isRebuild ? generation.number : undefined }),
    documents: await store.count(target, EVERYTHING),
    ...{ parked: parked.size, sample },
    ...{ differing: comparison?.differing ?? 0, differences: comparison?.differences ?? [] },
  };
  const kind = sample === 1 ? 'verification' : 'sampled';
  if (comparison !== undefined || !isRebuild)
    await writeNote(store, kind, generation.collection, verification);
  return verification;
}

function differenceOf(id: string, live: string | undefined, rebuilt: string | undefined): Difference {
  const [one, other] = [live, rebuilt].map(fieldsOf);
  const names = [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])];
  const fields = names.filter((name) => JSON.stringify(one?.[name]) !== JSON.stringify(other?.[name]));
  return {
    id,
    fields: fields.slice(0, MAX_DIFFERENCES),
    ...(live === undefined ? {} : { live: beginningOf(live, MAX_SHOWN) }),
    ...(rebuilt === undefined ? {} : { rebuilt: beginningOf(rebuilt, MAX_SHOWN) }),
  };
}

function fieldsOf(body = '{}'): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body) as Readonly<Record<string, unknown>>;
  } catch {
    // The whole document is damaged.
    return {};
  }
}

/** Ids of the documents that differ between two generations; stops at one more than can be checked again. */
async function differingIds(
  store: ReadStore,
  a: Target,
  b: Target,
  differ: (one?: Found, other?: Found) => boolean,
  {
    isCompared = () => true,
    onPage = () => Promise.resolve(),
  }: Pick<CompareOptions, 'isCompared' | 'onPage'>,
): Promise<string[]> {
  const differing: string[] = [];
  let compared = 0;
  await Promise.all([store.refresh(a), store.refresh(b)]);
  const [left, right] = [new DocumentCursor(store, a), new DocumentCursor(store, b)];
  try {
    while (differing.length <= MAX_CANDIDATES) {
      let [mine, theirs] = [left.current, right.current];
      if (mine === undefined || theirs === undefined) {
        await onPage(compared);
        [mine, theirs] = await Promise.all([mine ?? left.nextPage(), theirs ?? right.nextPage()]);
      }
      const first = firstOf(mine, theirs);
      if (first === undefined) break;
      const [one, other] = [mine, theirs].map((found) => (found?.id === first.id ? found : undefined));
      compared += 1;
      if (isCompared(first.id) && differ(one, other)) differing.push(first.id);
      if (mine?.id === first.id) left.advance();
      if (theirs?.id === first.id) right.advance();
    }
    return differing;
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

/** The document whose id comes first in scan order: by bytes, which is not how JavaScript compares strings. */
function firstOf(a: Found | undefined, b: Found | undefined): Found | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.id === b.id) return a;
  return Buffer.from(a.id).compare(Buffer.from(b.id)) < 0 ? a : b;
}

/** A cursor over the documents of a generation by id; only fetching the next page is asynchronous. */
class DocumentCursor {
  private readonly pages: AsyncIterator<readonly Found[]>;
  private page: readonly Found[] = [];
  private at = 0;

  constructor(store: ReadStore, target: Target) {
    this.pages = store.scan(target, EVERYTHING)[Symbol.asyncIterator]();
  }

  /** Undefined at the end of a page. */
  get current(): Found | undefined {
    return this.page[this.at];
  }

  advance(): void {
    this.at += 1;
  }

  /** Fetches the next page and returns its first document; undefined at the end. */
  async nextPage(): Promise<Found | undefined> {
    const page = await this.pages.next();
    this.page = page.done === true ? [] : page.value;
    this.at = 0;
    return this.current;
  }

  async close(): Promise<void> {
    await this.pages.return?.();
  }
}

async function byId(
  store: ReadStore,
  target: Target,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Found>> {
  return new Map((await store.get(target, ids)).map((found) => [found.id, found]));
}

/** By which samples are taken: FNV-1a spreads ids evenly. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
