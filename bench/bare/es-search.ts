import { Client, type estypes } from '@elastic/elasticsearch';

/** A search in the index of products, for someone who knows its fields. */
export interface BareRequest {
  readonly filter: estypes.QueryDslQueryContainer[];
  readonly sort: estypes.SortCombinations[];
  /** Words in the title, the first sort key. */
  readonly relevant?: string;
  /** Group offers by product with `collapse`. */
  readonly isGrouped?: boolean;
}

const PAGE = 100;

export const BY_PRICE: readonly estypes.SortCombinations[] = [{ f_price: 'asc' }];
export const NEWEST: readonly estypes.SortCombinations[] = [{ f_modified: 'desc' }];

/** A word in the title or the description. */
export function anywhere(word: string): estypes.QueryDslQueryContainer {
  return {
    bool: {
      should: [{ term: { f_title: word } }, { term: { f_description: word } }],
      minimum_should_match: 1,
    },
  };
}

/** Searches with only the Elasticsearch client. */
export class BareSearches {
  private readonly client: Client;

  constructor(
    server: string,
    private readonly index: string,
  ) {
    this.client = new Client({ node: new URL('/', server).href });
  }

  /** Requests the first page and the number of all hits, or of groups as counted by the server. */
  async run({ filter, sort, relevant, isGrouped = false }: BareRequest): Promise<number> {
    const request: estypes.SearchRequest = {
      index: this.index,
      query: {
        bool: {
          filter: [{ exists: { field: 'id' } }, { term: { f_visible: 1 } }, ...filter],
          ...(relevant === undefined
            ? {}
            : {
                should: [{ constant_score: { filter: { term: { f_title: relevant } } } }],
                minimum_should_match: 0,
              }),
        },
      },
      sort: [...(relevant === undefined ? [] : ['_score']), ...sort, { id: 'asc' }],
      size: PAGE,
      track_total_hits: true,
    };
    if (!isGrouped) return totalOf(await this.client.search(request));
    const answer = await this.client.search<unknown, { groups: estypes.AggregationsCardinalityAggregate }>({
      ...request,
      collapse: { field: 'f_groupId', inner_hits: { name: 'offers', size: PAGE, sort } },
      aggs: { groups: { cardinality: { field: 'f_groupId', precision_threshold: 40_000 } } },
    });
    return answer.aggregations?.groups.value ?? 0;
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}

function totalOf({ hits: { total } }: estypes.SearchResponse): number {
  return typeof total === 'object' ? total.value : (total ?? 0);
}
