import { Client, type estypes } from '@elastic/elasticsearch';

/** A copy of an index: its settings and mappings, and its documents by id. */
export interface Copied {
  readonly layout: Pick<estypes.IndicesCreateRequest, 'settings' | 'mappings'>;
  readonly documents: readonly (readonly [name: string, source: string])[];
}

/** Documents per request. */
const BULK = 1000;

/** Elasticsearch with only its client, for someone who knows the indices. */
export class BareBulk {
  private readonly client: Client;

  constructor(server: string) {
    this.client = new Client({ node: new URL('/', server).href, requestTimeout: 60_000 });
  }

  /** Reads a whole index into memory. */
  async copy(index: string): Promise<Copied> {
    const [state] = Object.values(await this.client.indices.get({ index }));
    await this.client.indices.refresh({ index });
    const documents: (readonly [string, string])[] = [];
    const { id } = await this.client.openPointInTime({ index, keep_alive: '2m' });
    for (let after: estypes.SortResults | undefined; ;) {
      const { hits } = await this.client.search({
        pit: { id, keep_alive: '2m' },
        sort: { _shard_doc: 'asc' },
        size: BULK,
        ...(after === undefined ? {} : { search_after: after }),
      });
      if (hits.hits.length === 0) break;
      documents.push(...hits.hits.map(({ _id, _source }) => [_id ?? '', JSON.stringify(_source)] as const));
      after = hits.hits.at(-1)?.sort;
    }
    await this.client.closePointInTime({ id });
    const { number_of_shards, auto_expand_replicas, refresh_interval, sort } = state?.settings?.index ?? {};
    return {
      layout: {
        settings: {
          number_of_shards,
          auto_expand_replicas,
          refresh_interval,
          ...(sort === undefined ? {} : { sort }),
        } as estypes.IndicesIndexSettings,
        ...(state?.mappings === undefined ? {} : { mappings: state.mappings }),
      },
      documents,
    };
  }

  async create(index: string, { layout }: Copied): Promise<void> {
    await this.client.indices.create({ index, ...layout });
  }

  /** Writes all documents, one request after the other. */
  async write(index: string, { documents }: Copied): Promise<void> {
    for (let from = 0; from < documents.length; from += BULK) {
      const operations = documents
        .slice(from, from + BULK)
        .flatMap(([name, source]) => [`{"index":{"_id":${JSON.stringify(name)}}}`, source]);
      const { errors } = await this.client.bulk({ index, operations });
      if (errors) throw new Error('a document was not written');
    }
  }

  /** Removes all indices with a prefix. */
  async remove(prefix: string): Promise<void> {
    const index = Object.keys(await this.client.indices.get({ index: `${prefix}*` }));
    if (index.length > 0) await this.client.indices.delete({ index });
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}
