import { type estypes } from '@elastic/elasticsearch';
import { type Filter, type Word } from '../../kernel/query';
import { encode, ID, type IndexLayout, property } from './layout';
import { EngineUnavailable } from '../../kernel/event-log';
import { type IndexContext, RefusedRequest } from './connection';

export type Query = estypes.QueryDslQueryContainer;

/** Values per `terms` query: the server allows 65,536. */
const MAX_VALUES = 50_000;

const NOTHING: Query = { match_none: {} };
const ANYTHING: Query = { match_all: {} };

/** A query for the documents that match a filter, without scores. Raises `UndeclaredField`. */
export function queryOf(
  filter: Filter,
  layout: IndexLayout,
): { readonly bool: { readonly filter: Query[] } } {
  return { bool: { filter: [{ exists: { field: ID } }, ...conditionsOf(filter, layout)] } };
}

/** Matches a word in a field. */
export function having(field: string, word: Word): Query {
  if (typeof word !== 'string' && 'prefixes' in word)
    return anyOf(word.prefixes.map((value) => ({ prefix: { [property(field)]: { value } } })));
  if (typeof word !== 'string')
    return anyOf(word.map((tokens) => allOf(tokens.map((token) => having(field, token)))));
  return { term: { [property(field)]: encode(word) } };
}

/** The conditions of a filter, all of which must match. */
function conditionsOf(filter: Filter, layout: IndexLayout): Query[] {
  if ('all' in filter) return filter.all.flatMap((part) => conditionsOf(part, layout));
  if ('any' in filter) return [anyOf(filter.any.map((part) => allOf(conditionsOf(part, layout))))];
  if ('words' in filter) {
    const fields = filter.within.map((name) => layout.field(name, 'words').name);
    return filter.words.map((word) => anyOf(fields.map((field) => having(field, word))));
  }
  if ('in' in filter) {
    const { name, type } = layout.field(filter.field, 'number', 'keyword', 'column');
    return [amongValues(name, valuesOf(type === 'number', filter.in))];
  }
  const { name } = layout.field(filter.field, 'number');
  return [withinBounds(name, filter.min, filter.max)];
}

/** The distinct values that the field can have at all. */
function valuesOf(isNumber: boolean, given: readonly (string | number)[]): (string | number)[] {
  const possible = given.filter((value) =>
    isNumber ? Number.isSafeInteger(value) : typeof value === 'string',
  );
  return [...new Set(possible)];
}

function amongValues(field: string, values: readonly (string | number)[]): Query {
  const lists: Query[] = [];
  for (let from = 0; from < values.length; from += MAX_VALUES) {
    const some = values.slice(from, from + MAX_VALUES);
    lists.push({
      terms: { [property(field)]: some.map((value) => (typeof value === 'string' ? encode(value) : value)) },
    });
  }
  return anyOf(lists);
}

function withinBounds(field: string, min = -Infinity, max = Infinity): Query {
  const name = property(field);
  const [least, most] = [Math.ceil(min), Math.floor(max)];
  if (Number.isNaN(least) || Number.isNaN(most) || least > most) return NOTHING;
  const bounds = {
    ...(Number.isSafeInteger(least) ? { gte: least } : {}),
    ...(Number.isSafeInteger(most) ? { lte: most } : {}),
  };
  if (least > Number.MAX_SAFE_INTEGER || most < Number.MIN_SAFE_INTEGER) return NOTHING;
  return Object.keys(bounds).length === 0 ? { exists: { field: name } } : { range: { [name]: bounds } };
}

function allOf(queries: Query[]): Query {
  const [first = ANYTHING, ...others] = queries;
  return others.length === 0 ? first : { bool: { filter: queries } };
}

export function anyOf(queries: Query[]): Query {
  const [first = NOTHING, ...others] = queries;
  return others.length === 0 ? first : { bool: { should: queries, minimum_should_match: 1 } };
}

/** How long the server retains a snapshot between two requests. */
const KEEP_ALIVE = '2m';

/** Documents on the first page, maximum documents on a page, and characters to aim at. */
const PAGE = { first: 200, most: 2_000, characters: 4_000_000 } as const;

/** The size of the page after one with these bodies, so that answers stay bounded. */
export function nextPageSize(bodies: readonly string[]): number {
  if (bodies.length === 0) return PAGE.first;
  const characters = bodies.reduce((sum, { length }) => sum + length, 0);
  return Math.min(PAGE.most, Math.max(1, Math.floor((PAGE.characters * bodies.length) / (characters + 1))));
}

/** A page of a search in a snapshot, in an order without ties. */
export type SnapshotPage = Omit<estypes.SearchRequest, 'index' | 'pit' | 'search_after'> & {
  readonly size: number;
};

/** An index as of one moment (a point in time). Callers must close it. */
export class Snapshot {
  private constructor(
    private readonly context: IndexContext,
    private id: string,
  ) {}

  static async open(context: IndexContext): Promise<Snapshot> {
    const { id } = await context.ask((client, options) =>
      client.openPointInTime({ index: context.alias, keep_alive: KEEP_ALIVE }, options),
    );
    return new Snapshot(context, id);
  }

  /** All matching documents, page by page. `sizeAfter` computes the size of the next page. */
  async *pages<Source>(
    request: SnapshotPage,
    sizeAfter: (hits: readonly estypes.SearchHit<Source>[]) => number = () => request.size,
  ): AsyncGenerator<readonly estypes.SearchHit<Source>[]> {
    let after: estypes.SortResults | undefined;
    for (let size = request.size; ;) {
      const hits = await this.page<Source>({ ...request, size }, after);
      if (hits.length > 0) yield hits;
      if (hits.length < size) return;
      after = hits.at(-1)?.sort;
      size = sizeAfter(hits);
    }
  }

  async count(query: estypes.QueryDslQueryContainer): Promise<number> {
    const { hits } = await this.search({ query, size: 0, track_total_hits: true });
    return typeof hits.total === 'object' ? hits.total.value : (hits.total ?? 0);
  }

  async close(): Promise<void> {
    // If this fails, the snapshot expires by itself. The connection of a cancelled query is closed, so use that of the
    // store.
    const { connection } = this.context;
    await (connection.parent ?? connection)
      .ask((client, options) => client.closePointInTime({ id: this.id }, options), 0)
      .catch(() => undefined);
  }

  private async page<Source>(
    request: SnapshotPage,
    after: estypes.SortResults | undefined,
  ): Promise<estypes.SearchHit<Source>[]> {
    const paging = after === undefined ? {} : { search_after: after };
    const { hits } = await this.search<Source>({ track_total_hits: false, ...request, ...paging });
    return hits.hits;
  }

  async search<Source, Aggregations = unknown>(
    request: Omit<estypes.SearchRequest, 'index' | 'pit'>,
  ): Promise<estypes.SearchResponse<Source, Aggregations>> {
    try {
      const answer = await this.context.ask((client, options) =>
        client.search<Source, Aggregations>(
          { allow_partial_search_results: false, ...request, pit: { id: this.id, keep_alive: KEEP_ALIVE } },
          options,
        ),
      );
      this.id = answer.pit_id ?? this.id;
      return answer;
    } catch (error) {
      if (error instanceof RefusedRequest && error.status === 404)
        throw new EngineUnavailable('the read store is not available: it lost a snapshot');
      throw error;
    }
  }
}
