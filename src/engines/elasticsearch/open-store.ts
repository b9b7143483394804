import { Client } from '@elastic/elasticsearch';
import { type ReadStore } from '../../kernel/read-store';
import { UnusableUrl } from '../unusable-url';
import { Catalogue } from './catalogue';
import { Connection, type Patience } from './connection';
import { Control } from './control';
import { ElasticsearchStore } from './elasticsearch-store';
import { Names } from './names';

export interface ElasticsearchOptions {
  /** Sent in place of a user and password: the encoded form, as the server gives it out. */
  readonly apiKey?: string;
  /** 1 s, 4 s and 2 minutes unless it says otherwise. */
  readonly patience?: Partial<Patience>;
  /** Ms after which a request that is not answered has failed (10,000). */
  readonly silence?: number;
  /** Epoch ms. */
  readonly now?: () => number;
}

/** What the names of all indices begin with unless the URL says otherwise. */
const PREFIX = 'affilog';
const PATIENCE: Patience = { read: 1_000, write: 4_000, fill: 120_000 };
const SILENCE_MS = 10_000;

/**
 * Opens the read store in an Elasticsearch, 8.19 or 9: `https://user:password@host:9200/prefix`. All its indices
 * begin with the prefix, so that several can share a cluster. Nothing is asked of the server yet: it may be started
 * later. Raises `UnusableUrl`.
 */
export function openElasticsearch(url: string, options: ElasticsearchOptions = {}): ReadStore {
  const { node, prefix, username, password } = addressOf(url);
  const { apiKey, patience, silence = SILENCE_MS, now = Date.now } = options;
  const auth = apiKey !== undefined ? { apiKey } : username !== '' ? { username, password } : undefined;
  const client = new Client({
    node,
    ...(auth === undefined ? {} : { auth }),
    maxRetries: 0,
    requestTimeout: silence,
    agent: { connections: 32 },
  });
  const connection = new Connection(client, { ...PATIENCE, ...patience });
  const names = new Names(prefix);
  const control = new Control(connection, names.control);
  return new ElasticsearchStore(connection, names, control, new Catalogue(connection, names, control, now));
}

function addressOf(text: string): { node: string; prefix: string; username: string; password: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UnusableUrl('the URL is not one of http:// or https://');
  const prefix = url.pathname.replace(/^\/|\/$/g, '') || PREFIX;
  if (!/^[a-z0-9][a-z0-9_-]{0,99}$/.test(prefix))
    throw new UnusableUrl(
      `"${prefix}" in the URL cannot begin the names of indices: lower-case letters, digits, "-" and "_" can`,
    );
  return {
    node: url.origin,
    prefix,
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}
