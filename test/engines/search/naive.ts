import { compareTexts, isOneLetterOff } from '../../support/oracle';
import {
  type Count,
  type IndexFacet,
  type IndexFilter,
  type Key,
  type IndexOrder,
  type IndexQuery,
} from '../../../src/engines/embedded/search/query';
import { type Blobs } from '../../../src/engines/embedded/search/storage';
import { type IndexedDocument, type Schema } from '../../../src/engines/embedded/search/segment';
import { bytesOf } from '../../../src/engines/embedded/search/bytes';

/** Blobs in memory. `copy`: as of now, as in a transaction of a reader. */
export class MemoryBlobs implements Blobs {
  constructor(readonly stored = new Map<string, Uint8Array>()) {}

  get(name: string): Uint8Array | undefined {
    return this.stored.get(name);
  }

  put(name: string, bytes: Uint8Array): void {
    this.stored.set(name, bytes);
  }

  all(prefix: string): readonly (readonly [name: string, bytes: Uint8Array])[] {
    return [...this.stored].filter(([name]) => name.startsWith(prefix));
  }

  remove(prefix: string, most: number): boolean {
    let left = most;
    for (const name of this.stored.keys()) {
      if (!name.startsWith(prefix)) continue;
      if (left === 0) break;
      this.stored.delete(name);
      left -= 1;
    }
    return left === 0;
  }

  copy(): MemoryBlobs {
    return new MemoryBlobs(new Map(this.stored));
  }

  get bytes(): number {
    let sum = 0;
    for (const { length } of this.stored.values()) sum += length;
    return sum;
  }
}

export interface SomeDocument {
  readonly id: string;
  readonly row: number;
  /** One per line. */
  readonly tokens: string;
  /** By column. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** The document as it is indexed. */
export function indexed({ columns }: Schema, { id, row, tokens, numbers }: SomeDocument): IndexedDocument {
  return { id, row, tokens: bytesOf(tokens), numbers: columns.map((column) => numbers[column] ?? NaN) };
}

export interface Placed extends SomeDocument {
  readonly partition: number;
}

interface NaiveAnswer {
  readonly total: number;
  /** Rows of the page. */
  readonly rows: readonly (readonly number[])[];
  readonly next?: { readonly keys: readonly Key[]; readonly id: string };
}

/** What a query means: a plain computation over all documents. */
export function naive(documents: readonly Placed[], query: IndexQuery): NaiveAnswer {
  const { group, order, offset, size, after } = query;
  const within = group?.within ?? order;
  const matching = documents
    .filter((document) => passes(document, query.filter))
    .map((document) => {
      const keys = keysOf(document, order);
      return { document, keys, own: within === order ? keys : keysOf(document, within) };
    });
  const groups = new Map<unknown, typeof matching>();
  for (const one of matching) {
    const number = group === undefined ? undefined : one.document.numbers[group.column];
    const key = number === undefined || number < 0 ? one : number;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [one]);
    else members.push(one);
  }
  const all = [...groups.values()].map((members) => {
    members.sort((a, b) => compareAll(within, a.own, b.own) || byId(a.document, b.document));
    const keys = order.map((key, at) => {
      const values = members
        .map((one) => one.keys[at]!)
        .filter((value) => !Number.isNaN(value))
        .sort((a, b) => compareKey(key, a, b));
      return (group?.last?.[at] === true ? values.at(-1) : values[0]) ?? NaN;
    });
    return { keys, members: members.map(({ document }) => document) };
  });
  all.sort((a, b) => compareAll(order, a.keys, b.keys) || byId(a.members[0]!, b.members[0]!));
  const rest =
    after === undefined || after === null
      ? all
      : all.filter(
          ({ keys, members }) =>
            (compareAll(order, keys, after.keys) || compareTexts(members[0]!.id, after.id)) > 0,
        );
  const page = rest.slice(offset, offset + size);
  const last = after === undefined || rest.length <= size ? undefined : page.at(-1);
  return {
    total: all.length,
    rows: page.map(({ members }) => members.slice(0, group?.members ?? 1).map(({ row }) => row)),
    ...(last === undefined ? {} : { next: { keys: last.keys, id: last.members[0]!.id } }),
  };
}

/** What the facets of a filter are. */
export function naiveFacets(
  documents: readonly Placed[],
  filter: IndexFilter,
  facets: readonly IndexFacet[],
): readonly (readonly Count[])[] {
  const matching = documents.filter((document) => passes(document, filter));
  return facets.map((facet) => {
    if ('column' in facet) {
      const counted = Array.from({ length: facet.bounds.length + 1 }, (_, value) => ({ value, count: 0 }));
      for (const { numbers } of matching) {
        const number = numbers[facet.column];
        if (number !== undefined) counted[facet.bounds.filter((bound) => bound <= number).length]!.count += 1;
      }
      return counted;
    }
    const known = new Map<string, readonly string[]>();
    const counts = new Map<string, number>();
    for (const document of matching) {
      const words = new Set<string>();
      for (const token of tokensOf(document)) {
        let own = known.get(token);
        if (own === undefined) known.set(token, (own = wordsOf(token, facet)));
        for (const word of own) words.add(word);
      }
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    const own = 'near' in facet && counts.has(facet.near) ? [facet.near] : undefined;
    return (own ?? [...counts.keys()])
      .map((value) => ({ value, count: counts.get(value) ?? 0 }))
      .sort((a, b) => b.count - a.count || compareTexts(a.value, b.value))
      .slice(0, facet.size);
  });
}

/** What a facet counts of a token. */
function wordsOf(token: string, facet: Exclude<IndexFacet, { readonly column: string }>): readonly string[] {
  if ('startingWith' in facet)
    return token.startsWith(facet.startingWith) && !/[\u0000-\u001f]/.test(token) ? [token] : [];
  return facet.after
    .flatMap((before) => (token.startsWith(before) ? [token.slice(before.length)] : []))
    .filter((word) => word === facet.near || isOneLetterOff(word, facet.near));
}

const split = new WeakMap<Placed, ReadonlySet<string>>();

function tokensOf(document: Placed): ReadonlySet<string> {
  let tokens = split.get(document);
  if (tokens === undefined) split.set(document, (tokens = new Set(document.tokens.split('\n'))));
  return tokens;
}

function passes(document: Placed, filter: IndexFilter): boolean {
  if ('all' in filter) return filter.all.every((part) => passes(document, part));
  if ('any' in filter) return filter.any.some((part) => passes(document, part));
  if ('token' in filter) return tokensOf(document).has(filter.token);
  if ('prefix' in filter) return [...tokensOf(document)].some((token) => token.startsWith(filter.prefix));
  const value = document.numbers[filter.column] ?? NaN;
  return value >= (filter.min ?? -Infinity) && value <= (filter.max ?? Infinity);
}

function keysOf(document: Placed, order: readonly IndexOrder[]): readonly Key[] {
  return order.map((key) => {
    if ('matches' in key) return key.matches.filter((filter) => passes(document, filter)).length;
    if ('ofRow' in key) return key.ofRow(document.row) ?? NaN;
    const value = document.numbers[key.column] ?? NaN;
    return 'by' in key && !Number.isNaN(value) ? key.by(value) : value;
  });
}

function compareAll(order: readonly IndexOrder[], a: readonly Key[], b: readonly Key[]): number {
  for (const [at, key] of order.entries()) {
    const compared = compareKey(key, a[at]!, b[at]!);
    if (compared !== 0) return compared;
  }
  return 0;
}

function compareKey(key: IndexOrder, a: Key, b: Key): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  const isDescending = 'matches' in key || ('descending' in key && key.descending);
  const compared = typeof a === 'string' ? compareTexts(a, String(b)) : a - Number(b);
  return isDescending ? -compared : compared;
}

function byId(a: Placed, b: Placed): number {
  return compareTexts(a.id, b.id);
}
