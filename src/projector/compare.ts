import { setTimeout as pause } from 'node:timers/promises';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING, type Found } from '../kernel/query';
import { type Generation, type ReadStore, type Target, targetOf } from '../kernel/read-store';
import { catchUp } from './build-generations';
import { isExpired } from './expiry';
import { type GenerationProjector } from './generation-projector';
import { nameOf } from './generations';
import { listParked } from './parked';

/** Result of comparing a rebuilt generation with the live one of the same version. */
export interface Comparison {
  readonly differing: number;
  /** Ids of the first differing documents. */
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 100;
/** Differing documents that are checked again, since they may have changed during the comparison. */
const MAX_CANDIDATES = 100_000;
const MAX_ROUNDS = 100;
const ROUND_MS = 50;
const BATCH = 500;

/**
 * Compares every document of a rebuilt generation with the live one, which may be changing. Where they differ, the
 * rebuilt generation catches up until both are at the same position; what differs then is a real difference.
 * Documents that are parked in the live generation are ignored, and so are those from before `keptSince` (epoch ms) that expire.
 */
export async function compareWithLive(
  log: EventLog,
  store: ReadStore,
  live: Generation,
  rebuilt: GenerationProjector,
  keptSince = -Infinity,
): Promise<Comparison> {
  const differ = (ours?: Found, theirs?: Found): boolean =>
    ours?.body !== theirs?.body &&
    ![ours, theirs].some((one) => one && isExpired(rebuilt.projection, one.body, keptSince));
  const liveTarget = targetOf(live);
  const rebuiltTarget = targetOf(rebuilt.generation);
  await catchUp(log, rebuilt, await store.checkpoint(liveTarget));
  const parked = new Set((await listParked(store, nameOf(live))).map(({ document }) => document));
  let candidates = (await differingIds(store, liveTarget, rebuiltTarget, differ)).filter(
    (id) => !parked.has(id),
  );
  for (
    let round = 0;
    candidates.length > 0 && candidates.length <= MAX_CANDIDATES && round < MAX_ROUNDS;
    round += 1
  ) {
    const position = await store.checkpoint(liveTarget);
    await catchUp(log, rebuilt, position);
    const differing: string[] = [];
    let hasLiveMoved = false;
    for (let at = 0; at < candidates.length; at += BATCH) {
      const ids = candidates.slice(at, at + BATCH);
      const [ours, theirs] = await Promise.all([
        byId(store, rebuiltTarget, ids),
        byId(store, liveTarget, ids),
      ]);
      differing.push(...ids.filter((id) => differ(ours.get(id), theirs.get(id))));
      hasLiveMoved ||= [...theirs.values()].some(({ version }) => version > position);
    }
    hasLiveMoved ||= (await store.checkpoint(liveTarget)) !== position;
    candidates = differing;
    if (!hasLiveMoved) break;
    await pause(ROUND_MS);
  }
  return { differing: candidates.length, examples: candidates.slice(0, MAX_EXAMPLES) };
}

/** Ids of the documents that differ between two generations; stops at one more than can be checked again. */
async function differingIds(
  store: ReadStore,
  a: Target,
  b: Target,
  differ: (one?: Found, other?: Found) => boolean,
): Promise<string[]> {
  const differing: string[] = [];
  await Promise.all([store.refresh(a), store.refresh(b)]);
  const [left, right] = [new DocumentCursor(store, a), new DocumentCursor(store, b)];
  try {
    while (differing.length <= MAX_CANDIDATES) {
      const mine = left.current ?? (await left.nextPage());
      const theirs = right.current ?? (await right.nextPage());
      const first = firstOf(mine, theirs);
      if (first === undefined) break;
      const [one, other] = [mine, theirs].map((found) => (found?.id === first.id ? found : undefined));
      if (differ(one, other)) differing.push(first.id);
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
