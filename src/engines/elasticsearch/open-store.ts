import { Client } from '@elastic/elasticsearch';
import { type ReadStore } from '../../kernel/read-store';
import { UnusableUrl } from '../../runtime/unavailable';
import { Catalogue } from './catalogue';
import { Connection, type Notices, type RetryTimes } from './connection';
import { Control } from './control';
import { ElasticsearchStore } from './elasticsearch-store';
import { Names } from './layout';

export interface ElasticsearchOptions {
  /** Used instead of a user and password: the encoded form, as issued by the server. */
  readonly apiKey?: string;
  /** By default 1 s, 4 s and 2 minutes. */
  readonly retryMs?: Partial<RetryTimes>;
  /** Time-out (ms) of one request, by default 10,000. */
  readonly timeoutMs?: number;
  /** Without them, failures that are retried are not reported. */
  readonly notices?: Notices;
  /** Epoch ms. */
  readonly now?: () => number;
}

/** The default prefix of index names. */
const PREFIX = 'affilog';
const RETRY_MS: RetryTimes = { read: 1_000, write: 4_000, fill: 120_000 };
const TIMEOUT_MS = 10_000;

/**
 * Opens a read store in Elasticsearch 8.19 or 9: `https://user:password@host:9200/prefix`. The names of all its indices
 * start with the prefix, so that several stores can share a cluster. Sends no request: the server may be started later.
 * Raises `UnusableUrl`.
 */
export function openElasticsearch(url: string, options: ElasticsearchOptions = {}): ReadStore {
  const { node, prefix, username, password } = addressOf(url);
  const { apiKey, retryMs, timeoutMs = TIMEOUT_MS, notices, now = Date.now } = options;
  const auth = apiKey !== undefined ? { apiKey } : username !== '' ? { username, password } : undefined;
  const client = new Client({
    node,
    ...(auth === undefined ? {} : { auth }),
    maxRetries: 0,
    requestTimeout: timeoutMs,
    agent: { connections: 32 },
  });
  const connection = new Connection(client, { ...RETRY_MS, ...retryMs }, notices);
  const names = new Names(prefix);
  const control = new Control(connection, names.control);
  return new ElasticsearchStore(connection, names, control, new Catalogue(connection, names, control, now));
}

function addressOf(text: string): { node: string; prefix: string; username: string; password: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UnusableUrl('the URL is malformed; expected http://… or https://…');
  const prefix = url.pathname.replace(/^\/|\/$/g, '') || PREFIX;
  if (!/^[a-z0-9][a-z0-9_-]{0,99}$/.test(prefix))
    throw new UnusableUrl(
      `"${prefix}" in the URL is not a valid index prefix; expected up to 100 lower-case letters, digits, "-" and "_"`,
    );
  return {
    node: url.origin,
    prefix,
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}
