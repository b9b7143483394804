import { type Found, type QueryOptions } from './query';
import { type ReadStore, type Target } from './read-store';

/** Characters of documents that are in memory at once for one answer, more or less (`docs/decisions.md#x72`). */
export const BODY_LIMIT = 4 * 1024 * 1024;

/** Ids asked for at once. */
const AT_ONCE = 1000;

/** Groups that a search has found: whole ones, and the ids of the members of others. */
export interface FoundGroups {
  readonly groups: readonly (readonly Found[])[];
  readonly rest?: readonly (readonly string[])[];
}

/**
 * What a search with a `BODY_LIMIT` has found, in batches that are read when they are asked for, again each time it is
 * iterated. The documents that did not come with the search are as they are by then, and missing if they were removed.
 */
export function inParts(
  store: ReadStore,
  target: Target,
  { groups, rest = [] }: FoundGroups,
  query: QueryOptions,
): AsyncIterable<readonly (readonly Found[])[]> {
  async function* parts(): AsyncGenerator<readonly (readonly Found[])[]> {
    if (groups.length > 0) yield groups;
    let group: Found[] = [];
    let number = 0;
    const ids = rest.flatMap((members, at) => members.map((id) => ({ id, group: at })));
    for (let from = 0; from < ids.length;) {
      const asked = ids.slice(from, from + AT_ONCE);
      const read = await readFirst(store, target, asked, query);
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
  return { [Symbol.asyncIterator]: parts };
}

/** The first ones of the ids asked for, each with its document if that is there. */
async function readFirst<Id extends { readonly id: string }>(
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
  // Of those after the last one it is not known whether they are there, unless none was.
  const read = last === -1 ? asked : asked.slice(0, last + 1);
  return read.map((one) => ({ ...one, found: byId.get(one.id) }));
}

function sizeOf(group: readonly Found[]): number {
  return group.reduce((sum, { body }) => sum + body.length, 0);
}
