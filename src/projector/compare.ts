import { setTimeout as pause } from 'node:timers/promises';
import { type EventLog } from '../kernel/event-log';
import { EVERYTHING, type Found } from '../kernel/query';
import { type Generation, type ReadStore, type Target } from '../kernel/read-store';
import { catchUp } from './fill';
import { type GenerationFold } from './generation-fold';
import { nameOf, targetOf } from './generations';
import { listParked } from './parked';

/** What comparing a rebuilt generation with the live one of the same version found. */
export interface Comparison {
  readonly differing: number;
  /** Ids of the first of them. */
  readonly examples: readonly string[];
}

const EXAMPLES = 100;
/** Documents that may have moved on while they were compared, and are looked at again. */
const MOST_SUSPECTS = 100_000;
const ROUNDS = 100;
const ROUND_MS = 50;
const AT_ONCE = 500;

/**
 * Compares every document of a rebuilt generation with the live one's, while the live one may be moving. Where they
 * differ, the rebuilt one follows, until both stand at one position: what differs then is a difference. What is
 * parked in the live one is left out.
 */
export async function compareWithLive(
  log: EventLog,
  store: ReadStore,
  live: Generation,
  rebuilt: GenerationFold,
): Promise<Comparison> {
  const liveTarget = targetOf(live);
  const rebuiltTarget = targetOf(rebuilt.generation);
  await catchUp(log, rebuilt, await store.checkpoint(liveTarget));
  const parked = new Set((await listParked(store, nameOf(live))).map(({ document }) => document));
  let suspects = (await differingIds(store, liveTarget, rebuiltTarget)).filter((id) => !parked.has(id));
  for (let round = 0; suspects.length > 0 && suspects.length <= MOST_SUSPECTS && round < ROUNDS; round += 1) {
    const position = await store.checkpoint(liveTarget);
    await catchUp(log, rebuilt, position);
    const still: string[] = [];
    let moved = false;
    for (let at = 0; at < suspects.length; at += AT_ONCE) {
      const ids = suspects.slice(at, at + AT_ONCE);
      const [ours, theirs] = await Promise.all([
        byId(store, rebuiltTarget, ids),
        byId(store, liveTarget, ids),
      ]);
      still.push(...ids.filter((id) => ours.get(id)?.body !== theirs.get(id)?.body));
      moved ||= [...theirs.values()].some(({ version }) => version > position);
    }
    moved ||= (await store.checkpoint(liveTarget)) !== position;
    suspects = still;
    if (!moved) break;
    await pause(ROUND_MS);
  }
  return { differing: suspects.length, examples: suspects.slice(0, EXAMPLES) };
}

/** Ids of the documents that are not the same in two generations; at most one more than can be looked at again. */
async function differingIds(store: ReadStore, a: Target, b: Target): Promise<string[]> {
  const differing: string[] = [];
  await Promise.all([store.refresh(a), store.refresh(b)]);
  const [left, right] = [new Documents(store, a), new Documents(store, b)];
  try {
    while (differing.length <= MOST_SUSPECTS) {
      const mine = left.current ?? (await left.turn());
      const theirs = right.current ?? (await right.turn());
      const first = firstOf(mine, theirs);
      if (first === undefined) break;
      if (mine?.id !== theirs?.id || mine?.body !== theirs?.body) differing.push(first.id);
      if (mine?.id === first.id) left.skip();
      if (theirs?.id === first.id) right.skip();
    }
    return differing;
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

/** Of two documents the one whose id comes first in the order of a scan: by bytes, not as JavaScript compares strings. */
function firstOf(a: Found | undefined, b: Found | undefined): Found | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.id === b.id) return a;
  return Buffer.from(a.id).compare(Buffer.from(b.id)) < 0 ? a : b;
}

/** The documents of a generation by id, one by one; only turning a page takes waiting. */
class Documents {
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

  skip(): void {
    this.at += 1;
  }

  /** The first document of the next page; undefined at the very end. */
  async turn(): Promise<Found | undefined> {
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
