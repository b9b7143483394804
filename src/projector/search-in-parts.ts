import {
  type Cursor,
  type Found,
  type GroupSearch,
  oneAnswer,
  type Paged,
  type QueryOptions,
  type Results,
  type Search,
} from '../kernel/query';
import { type ReadStore, type Target } from '../kernel/read-store';
import { mapInSlices } from '../runtime/concurrency';

/** About how many characters of documents one answer holds in memory at once (`docs/decisions.md#x72`). */
const BODY_LIMIT = 4 * 1024 * 1024;

/** Ids per `get`. */
const IDS_PER_READ = 1000;

/** A collection to search, and how its documents are read. */
export interface Documents<Document> {
  readonly store: ReadStore;
  readonly target: Target;
  readonly read: (found: Found) => Document;
}

/**
 * A page of groups, in batches that are read when they are asked for, again each time it is iterated. Documents that
 * did not come with the search are as they are when their batch is read, and missing if they were removed since. All
 * are of the generation that was searched.
 */
export interface PageInParts<Document> extends Paged {
  readonly groups: AsyncIterable<readonly (readonly Document[])[]>;
}

/** The documents of a page that are each in a group of their own, converted on demand. */
export async function* eachOf<Document, Item>(
  { groups }: Pick<PageInParts<Document>, 'groups'>,
  convert: (document: Document) => Item,
): AsyncGenerator<Iterable<Item>> {
  for await (const batch of groups)
    yield (function* () {
      for (const group of batch) for (const document of group) yield convert(document);
    })();
}

/** A page of documents, each in a group of its own, at any offset. */
export async function searchInParts<Document>(
  documents: Documents<Document>,
  wanted: Search,
  options: QueryOptions,
): Promise<PageInParts<Document>> {
  const query = oneAnswer(options);
  const { found, rest = [], ...paged } = await searchAtAnyOffset(documents, wanted, query);
  const groups = found.map((one) => [one]);
  return { ...paged, groups: groupBatches(documents, { groups, rest: rest.map((id) => [id]) }, query) };
}

/** A page of groups. */
export async function searchGroupsInParts<Document>(
  documents: Documents<Document>,
  wanted: GroupSearch,
  options: QueryOptions,
): Promise<PageInParts<Document>> {
  const query = oneAnswer(options);
  const { store, target } = documents;
  const bounded = { ...query, bodyLimit: BODY_LIMIT };
  const { groups, rest = [], ...paged } = await store.searchGroups(target, wanted, bounded);
  return { ...paged, groups: groupBatches(documents, { groups, rest }, query) };
}

/** How far `offset` reaches unless the order is random (`Page`). */
const REACH = 10_000;

async function searchAtAnyOffset<Document>(
  { store, target }: Documents<Document>,
  wanted: Search,
  query: QueryOptions,
): Promise<Results> {
  const bounded = { ...query, bodyLimit: BODY_LIMIT };
  const [first] = wanted.order;
  const isRandom = first !== undefined && 'shuffled' in first;
  if (isRandom || wanted.offset + wanted.size <= REACH) return store.search(target, wanted, bounded);
  let after: Cursor | null = null;
  for (let left = wanted.offset; left > 0;) {
    const size = Math.min(left, REACH - 1);
    // Only the cursor is needed: a body limit of 1 leaves out the documents.
    const skipped: Results = await store.search(
      target,
      { ...wanted, offset: 0, size, after },
      { ...query, bodyLimit: 1 },
    );
    if (skipped.next === undefined) return { total: skipped.total, found: [] };
    after = skipped.next;
    left -= size;
  }
  return store.search(target, { ...wanted, offset: 0, after }, bounded);
}

/** The groups of a search: complete ones, and for those beyond `BODY_LIMIT` the ids of their members. */
interface FoundGroups {
  readonly groups: readonly (readonly Found[])[];
  readonly rest: readonly (readonly string[])[];
}

function groupBatches<Document>(
  { store, target, read }: Documents<Document>,
  { groups, rest }: FoundGroups,
  query: QueryOptions,
): PageInParts<Document>['groups'] {
  const readPart = async (part: readonly (readonly Found[])[]) =>
    await mapInSlices(part, (group) => group.map(read), query.signal);
  async function* readParts(): AsyncGenerator<readonly (readonly Document[])[]> {
    if (groups.length > 0) yield await readPart(groups);
    if (rest.length === 0) return;
    for await (const part of groupsOf(store, target, rest, query)) yield await readPart(part);
  }
  return { [Symbol.asyncIterator]: readParts };
}

/** Groups of documents by their ids, read on demand. */
async function* groupsOf(
  store: ReadStore,
  target: Target,
  groups: readonly (readonly string[])[],
  query: QueryOptions,
): AsyncGenerator<readonly (readonly Found[])[]> {
  let group: Found[] = [];
  let number = 0;
  const ids = groups.flatMap((members, at) => members.map((id) => ({ id, group: at })));
  for (let from = 0; from < ids.length;) {
    const documents = await readPrefix(store, target, ids.slice(from, from + IDS_PER_READ), query);
    from += documents.length;
    const batch: (readonly Found[])[] = [];
    for (const { found, group: of } of documents) {
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
