import { type Found, type QueryOptions } from './query';
import { type ReadStore, type Target } from './read-store';

/** About how many characters of documents one answer holds in memory at once (`docs/decisions.md#x72`). */
export const BODY_LIMIT = 4 * 1024 * 1024;

/** Ids per `get`. */
const IDS_PER_READ = 1000;

/** The groups of a search: complete ones, and for those beyond `BODY_LIMIT` the ids of their members. */
export interface FoundGroups {
  readonly groups: readonly (readonly Found[])[];
  readonly rest?: readonly (readonly string[])[];
}

/**
 * The groups of a search that was limited by `BODY_LIMIT`, in batches. Documents of `rest` are read on demand, again in
 * each iteration: they come in their current state, and are missing if they were removed.
 */
export function groupBatches(
  store: ReadStore,
  target: Target,
  { groups, rest = [] }: FoundGroups,
  query: QueryOptions,
): AsyncIterable<readonly (readonly Found[])[]> {
  async function* batches(): AsyncGenerator<readonly (readonly Found[])[]> {
    if (groups.length > 0) yield groups;
    let group: Found[] = [];
    let number = 0;
    const ids = rest.flatMap((members, at) => members.map((id) => ({ id, group: at })));
    for (let from = 0; from < ids.length;) {
      const read = await readPrefix(store, target, ids.slice(from, from + IDS_PER_READ), query);
      from += read.length;
      const batch: (readonly Found[])[] = [];
      for (const { found, group: of } of read) {
        if (of !== number) {
          if (group.length > 0) batch.push(group);
          group = [];
          number = of;
        }
        if (found !== undefined && (group.length === 0 || sizeOf(group) < BODY_LIMIT)) group.push(found);
      }
      if (from >= ids.length && group.length > 0) batch.push(group);
      if (batch.length > 0) yield batch;
    }
  }
  return { [Symbol.asyncIterator]: batches };
}

/** The ids that one `get` covers, from the first one on, each with its document if it exists. */
async function readPrefix<Id extends { readonly id: string }>(
  store: ReadStore,
  target: Target,
  asked: readonly Id[],
  query: QueryOptions,
): Promise<readonly (Id & { readonly found: Found | undefined })[]> {
  const documents = await store.get(
    target,
    asked.map(({ id }) => id),
    { ...query, bodyLimit: BODY_LIMIT },
  );
  const byId = new Map(documents.map((found) => [found.id, found]));
  const last = asked.findLastIndex(({ id }) => byId.has(id));
  // Documents after the last one returned may have been cut off by the limit. If none came, none exists.
  const read = last === -1 ? asked : asked.slice(0, last + 1);
  return read.map((one) => ({ ...one, found: byId.get(one.id) }));
}

function sizeOf(group: readonly Found[]): number {
  return group.reduce((sum, { body }) => sum + body.length, 0);
}
