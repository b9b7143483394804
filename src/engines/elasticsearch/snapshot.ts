import { type estypes } from '@elastic/elasticsearch';
import { EngineUnavailable } from '../../kernel/event-log';
import { type Connection } from './connection';
import { Refused } from './failure';

/** How long the server keeps a snapshot between two pages. */
const KEEP = '2m';

/** A page of a search in a snapshot, in an order that has no ties. */
export type Paged = Omit<estypes.SearchRequest, 'index' | 'pit' | 'search_after'> & { readonly size: number };

/** An index as of one moment; to be closed. */
export class Snapshot {
  private constructor(
    private readonly connection: Connection,
    private id: string,
    private readonly patience: number,
  ) {}

  static async open(connection: Connection, alias: string, patience: number): Promise<Snapshot> {
    const { id } = await connection.ask(
      (client, options) => client.openPointInTime({ index: alias, keep_alive: KEEP }, options),
      patience,
    );
    return new Snapshot(connection, id, patience);
  }

  /** All that match, page by page; the next one's size is what `sizeAfter` says of the last one. */
  async *pages<Source>(
    request: Paged,
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

  /** How many match. */
  async count(query: estypes.QueryDslQueryContainer): Promise<number> {
    const { hits } = await this.search({ query, size: 0, track_total_hits: true });
    return typeof hits.total === 'object' ? hits.total.value : (hits.total ?? 0);
  }

  async close(): Promise<void> {
    // The server forgets it by itself when this fails. A query that was ended early cannot close it any more.
    await (this.connection.lasting ?? this.connection)
      .ask((client, options) => client.closePointInTime({ id: this.id }, options), 0)
      .catch(() => undefined);
  }

  private async page<Source>(
    request: Paged,
    after: estypes.SortResults | undefined,
  ): Promise<estypes.SearchHit<Source>[]> {
    const paging = after === undefined ? {} : { search_after: after };
    const { hits } = await this.search<Source>({ track_total_hits: false, ...request, ...paging });
    return hits.hits;
  }

  /** One search of it. */
  async search<Source, Aggregations = unknown>(
    request: Omit<estypes.SearchRequest, 'index' | 'pit'>,
  ): Promise<estypes.SearchResponse<Source, Aggregations>> {
    try {
      const answer = await this.connection.ask(
        (client, options) =>
          client.search<Source, Aggregations>(
            { allow_partial_search_results: false, ...request, pit: { id: this.id, keep_alive: KEEP } },
            options,
          ),
        this.patience,
      );
      this.id = answer.pit_id ?? this.id;
      return answer;
    } catch (error) {
      if (error instanceof Refused && error.status === 404)
        throw new EngineUnavailable('the read store is not available: it has lost a snapshot');
      throw error;
    }
  }
}
