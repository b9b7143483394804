import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import {
  type ConnectionOptions,
  parseConnectionString,
} from '@eventstore/db-client/dist/Client/parseConnectionString';
import { UnusableUrl } from '../../runtime/unavailable';

/** The part before the hosts, as the client library parses it. */
const CREDENTIALS = /^[^/]+\/\/(?:[^:]+:[^@]+@)?/;

/** The options of an `esdb://` URL. */
const OPTIONS = new Set(
  [
    'connectionName',
    'defaultDeadline',
    'discoveryInterval',
    'gossipTimeout',
    'keepAliveInterval',
    'keepAliveTimeout',
    'maxDiscoverAttempts',
    'nodePreference',
    'tls',
    'tlsCAFile',
    'tlsVerifyCert',
    'userCertFile',
    'userKeyFile',
  ].map(normalized),
);

/** Where a server listens. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** A validated `esdb://` or `esdb+discover://` URL. */
export interface EsdbUrl {
  /** The server; of a cluster the servers to ask for its leader. */
  readonly endpoints: readonly Endpoint[];
  /** How to find the leader of a cluster; undefined for a single server. */
  readonly discovery: Discovery | undefined;
  readonly isPlain: boolean;
  readonly verifiesCertificates: boolean;
  readonly user: { readonly name: string; readonly password: string } | undefined;
  readonly connectionName: string;
  /** Milliseconds; a negative value means never. */
  readonly keepAlive: { readonly interval: number; readonly timeout: number };
  /** PEM files that the URL names. */
  readonly pem: Readonly<Record<'authority' | 'key' | 'certificate', Buffer | null>>;
}

export interface Discovery {
  readonly attempts: number;
  /** Pause between attempts (ms). */
  readonly intervalMs: number;
  /** How long a server may take to answer (ms). */
  readonly timeoutMs: number;
  readonly preference: NonNullable<ConnectionOptions['nodePreference']>;
}

const KEEP_ALIVE_MS = 10_000;

/**
 * Validates an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`; the client library itself would print the
 * whole URL for an unknown option.
 */
export function parseEsdbUrl(url: string): EsdbUrl {
  if (!/^esdb(?:\+discover)?:\/\//.test(url))
    throw new UnusableUrl('expected a URL that starts with esdb:// or esdb+discover://');
  const options = optionsOf(url);
  const verify = options.get(normalized('tlsVerifyCert'));
  if (verify !== undefined && !/^(?:true|false)$/i.test(verify))
    throw new UnusableUrl('tlsVerifyCert: expected true or false');
  const verifiesCertificates = verify?.toLowerCase() !== 'false';
  const parsed = parse(withoutOption(url, 'tlsVerifyCert'));
  const isCluster = parsed.dnsDiscover || parsed.hosts.length > 1;
  if (isCluster && !verifiesCertificates)
    throw new UnusableUrl('tlsVerifyCert=false: expected a single host without esdb+discover');
  const { defaultCredentials, userKeyFile, userCertFile, tls = true } = parsed;
  if ((userKeyFile === undefined) !== (userCertFile === undefined))
    throw new UnusableUrl('userCertFile and userKeyFile: expected both or none');
  const file = (name: 'tlsCAFile' | 'userKeyFile' | 'userCertFile'): Buffer | null =>
    tls ? contentOf(name, parsed[name]) : null;
  return {
    // The client library asks one name only, which stands for all servers.
    endpoints: parsed.dnsDiscover ? parsed.hosts.slice(0, 1) : parsed.hosts,
    discovery: isCluster ? discoveryOf(parsed) : undefined,
    isPlain: !tls,
    verifiesCertificates,
    user: defaultCredentials && { name: defaultCredentials.username, password: defaultCredentials.password },
    connectionName: parsed.connectionName ?? randomUUID(),
    keepAlive: {
      interval: parsed.keepAliveInterval ?? KEEP_ALIVE_MS,
      timeout: parsed.keepAliveTimeout ?? KEEP_ALIVE_MS,
    },
    pem: { authority: file('tlsCAFile'), key: file('userKeyFile'), certificate: file('userCertFile') },
  };
}

/** The options by normalized name, percent-decoded. */
function optionsOf(url: string): ReadonlyMap<string, string> {
  const query = url.replace(CREDENTIALS, '').split('?', 2)[1] ?? '';
  const options = new Map<string, string>();
  for (const option of query.split('&').filter(Boolean)) {
    const [name = '', ...value] = option.split('=');
    if (!OPTIONS.has(normalized(name)))
      throw new UnusableUrl(
        `${/^\w+$/.test(name) ? name : 'what follows the ?'} is not an option of esdb:// URLs`,
      );
    options.set(normalized(name), decoded(name, value.join('=')));
  }
  return options;
}

function decoded(name: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new UnusableUrl(`${name}: expected a percent-encoded value`);
  }
}

function contentOf(name: string, path: string | undefined): Buffer | null {
  if (path === undefined) return null;
  try {
    return readFileSync(path);
  } catch {
    throw new UnusableUrl(`${name}=${encodeURI(path)}: expected a readable file`);
  }
}

function parse(url: string): ConnectionOptions {
  try {
    return parseConnectionString(url);
  } catch {
    throw new UnusableUrl('expected esdb://[user:password@]host[:port][,host…][?option=value&…]');
  }
}

/** The defaults are those of the client library. */
function discoveryOf({
  maxDiscoverAttempts = 10,
  discoveryInterval = 100,
  gossipTimeout = 5,
  nodePreference = 'leader',
}: ConnectionOptions): Discovery {
  return {
    attempts: maxDiscoverAttempts,
    intervalMs: discoveryInterval,
    timeoutMs: gossipTimeout * 1000,
    preference: nodePreference,
  };
}

/** Removes an option that the client library would ignore with a warning. */
function withoutOption(url: string, name: string): string {
  const start = CREDENTIALS.exec(url)?.[0] ?? '';
  const [hosts = '', query] = url.slice(start.length).split('?', 2);
  const others = (query ?? '')
    .split('&')
    .filter((option) => normalized(option.split('=')[0] ?? '') !== normalized(name));
  return `${start}${hosts}${others.join('&') === '' ? '' : `?${others.join('&')}`}`;
}

/** Option names are compared without case, hyphens and underscores, as in the client library. */
function normalized(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}
