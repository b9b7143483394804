import { type components, type operations } from './openapi.js';
import { type Query, type Sent, type Transport } from './transport.js';

export type Schemas = components['schemas'];

/** Its operations, by their ids. */
type Id = keyof operations;

/** What a client decides: the pages of a list, and how an answer is written. */
type Presentation =
  | 'cursor'
  | 'dateOutputFormat'
  | 'format'
  | 'jsonp'
  | 'limit'
  | 'offset'
  | 'page'
  | 'pageSize'
  | 'pretty'
  | 'since'
  | 'tdconnect';

/** The keys of an operation. */
export type Keys<Of extends Id> = Omit<NonNullable<operations[Of]['parameters']['query']>, Presentation>;

/** The body of an operation. */
export type Posted<Of extends Id> = operations[Of] extends {
  readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } };
}
  ? Body
  : never;

/** The answer of an operation. */
export type Answered<Of extends Id> = operations[Of] extends {
  readonly responses: { readonly 200: { readonly content: { readonly 'application/json': infer Body } } };
}
  ? Body
  : never;

/** What a copy of a list lacks: first empty it if `reset`, then remove what is `removed`, then store what is `changed`. */
export interface Changes<Item> {
  readonly reset: boolean;
  readonly removed: readonly string[];
  readonly changed: readonly Item[];
  /** To be stored with the copy: the next call begins there. */
  readonly since: string;
}

/** Most items of a page. */
export const PAGE = 1000;

/** Requests with the token of a system. */
export class Rest {
  constructor(
    private readonly transport: Transport,
    private readonly system: Sent['system'],
  ) {}

  async get<Answer>(path: string, query: Query = {}): Promise<Answer> {
    return await jsonOf<Answer>(await this.send('GET', path, { query }));
  }

  async post<Answer>(path: string, body?: unknown): Promise<Answer> {
    return await jsonOf<Answer>(await this.send('POST', path, { body }));
  }

  async put<Answer>(path: string, body: unknown): Promise<Answer> {
    return await jsonOf<Answer>(await this.send('PUT', path, { body }));
  }

  async send(
    method: Sent['method'],
    path: string,
    more: Omit<Sent, 'method' | 'path' | 'system'> = {},
  ): Promise<Response> {
    return await this.transport.send({ system: this.system, method, path, ...more });
  }

  /** All items of a list whose pages are found by number. */
  async *pages<Item>(path: string, queryOf: (page: number) => Query): AsyncGenerator<Item, void, void> {
    for (let page = 0, found = PAGE; found === PAGE; page += 1) {
      const items = await this.get<readonly Item[]>(path, queryOf(page));
      yield* items;
      found = items.length;
    }
  }

  /** All items of a list whose pages are found by cursor. */
  async *byCursor<Item>(path: string, query: Query): AsyncGenerator<Item, void, void> {
    for (let cursor: string | null = '*'; cursor !== null;) {
      const answer = await this.send('GET', path, { query: { ...query, pageSize: PAGE, cursor } });
      yield* await jsonOf<readonly Item[]>(answer);
      cursor = answer.headers.get('X-Next-Cursor');
    }
  }

  /** Changes since then, until there are none at present. `hasMore`: whether there may be more behind some. */
  async *changes<Item>(
    path: string,
    query: Query,
    since: string,
    hasMore: (answer: Response, changed: readonly unknown[]) => boolean = ({ headers }) =>
      headers.get('X-Has-More') === 'true',
  ): AsyncGenerator<Changes<Item>, void, void> {
    for (let next = since, more = true; more;) {
      const answer = await this.send('GET', path, { query: { ...query, since: next } });
      const { headers } = answer;
      const changed = await jsonOf<readonly Item[]>(answer);
      const removed = (headers.get('X-Removed') ?? '').split(',').filter((id) => id !== '');
      next = headers.get('X-Next-Since') ?? next;
      more = hasMore(answer, changed);
      yield { reset: headers.get('X-Since-Reset') === 'true', removed, changed, since: next };
    }
  }
}

export async function jsonOf<Answer>(answer: Response): Promise<Answer> {
  return (await answer.json()) as Answer;
}
