import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { UnusableUrl } from '../../runtime/unavailable';

/** The parts of a URL: its scheme, user, servers and options. A password may contain any character but `@`. */
const PARTS = /^esdb(\+discover)?:\/\/(?:([^:]+):([^@]+)@)?([^?]*)(?:\?(.*))?$/s;

/** A server: a name or an address, IPv6 in brackets, and its port. */
const SERVER = /^(?:\[([\da-f:.]+)\]|([\p{L}\p{N}._-]+))(?::(\d{1,5}))?$/iu;

const PORT = 2113;

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
}

const KEEP_ALIVE_MS = 10_000;

/** What `nodePreference` may be, without effect: calls go to the leader. */
const PREFERENCES: readonly string[] = ['leader', 'follower', 'random', 'readonlyreplica'];

/**
 * Validates an `esdb://` or `esdb+discover://` URL; the defaults are those of the clients of EventStoreDB. Raises
 * `UnusableUrl`.
 */
export function parseEsdbUrl(url: string): EsdbUrl {
  if (!/^esdb(?:\+discover)?:\/\//.test(url))
    throw new UnusableUrl('expected a URL that starts with esdb:// or esdb+discover://');
  const [, discover, name, password, servers = '', query = ''] = PARTS.exec(url.trim()) ?? [];
  const endpoints = servers.replace(/\/+$/, '').split(',').map(endpointOf);
  const options = optionsOf(query);
  const tls = options.flag('tls', true);
  const verifiesCertificates = options.flag('tlsVerifyCert', true);
  const isCluster = discover !== undefined || endpoints.length > 1;
  if (isCluster && !verifiesCertificates)
    throw new UnusableUrl('tlsVerifyCert=false: expected a single host without esdb+discover');
  if ((options.text('userKeyFile') === undefined) !== (options.text('userCertFile') === undefined))
    throw new UnusableUrl('userCertFile and userKeyFile: expected both or none');
  if (!PREFERENCES.includes(normalized(options.text('nodePreference') ?? 'leader')))
    throw new UnusableUrl('nodePreference: expected leader, follower, random or read_only_replica');
  // It is for other clients.
  options.integer('defaultDeadline', 0);
  const file = (option: string): Buffer | null => (tls ? contentOf(option, options.text(option)) : null);
  const keepAlive = {
    interval: options.integer('keepAliveInterval', KEEP_ALIVE_MS),
    timeout: options.integer('keepAliveTimeout', KEEP_ALIVE_MS),
  };
  const discovery = {
    attempts: options.integer('maxDiscoverAttempts', 10),
    intervalMs: options.integer('discoveryInterval', 100),
    timeoutMs: options.integer('gossipTimeout', 5) * 1000,
  };
  return {
    // With esdb+discover, one name stands for all servers.
    endpoints: discover === undefined ? endpoints : endpoints.slice(0, 1),
    discovery: isCluster ? discovery : undefined,
    isPlain: !tls,
    verifiesCertificates,
    user:
      name === undefined || password === undefined
        ? undefined
        : { name: decoded('the user', name), password: decoded('the password', password) },
    connectionName: options.text('connectionName') ?? randomUUID(),
    keepAlive,
    pem: { authority: file('tlsCAFile'), key: file('userKeyFile'), certificate: file('userCertFile') },
  };
}

function endpointOf(server: string): Endpoint {
  const [, ipv6, name = ipv6, port = PORT] = SERVER.exec(server.trim()) ?? [];
  if (name === undefined || Number(port) > 65_535)
    throw new UnusableUrl('expected esdb://[user:password@]host[:port][,host…][?option=value&…]');
  return { address: name, port: Number(port) };
}

interface Options {
  text(name: string): string | undefined;
  flag(name: string, missing: boolean): boolean;
  integer(name: string, missing: number): number;
}

function optionsOf(query: string): Options {
  const options = new Map<string, string>();
  for (const option of query.split('&').filter(Boolean)) {
    const [name = '', ...value] = option.split('=');
    if (!OPTIONS.has(normalized(name)))
      throw new UnusableUrl(
        `${/^\w+$/.test(name) ? name : 'what follows the ?'} is not an option of esdb:// URLs`,
      );
    options.set(normalized(name), decoded(name, value.join('=')).trim());
  }
  const text = (name: string): string | undefined => options.get(normalized(name)) || undefined;
  return {
    text,
    flag: (name, missing) => {
      const value = text(name) ?? String(missing);
      if (!/^(?:true|false)$/i.test(value)) throw new UnusableUrl(`${name}: expected true or false`);
      return value.toLowerCase() === 'true';
    },
    integer: (name, missing) => {
      const value = text(name) ?? String(missing);
      if (!/^-?\d{1,15}$/.test(value)) throw new UnusableUrl(`${name}: expected an integer`);
      return Number(value);
    },
  };
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

/** Option names are compared without case, hyphens and underscores, as in the clients of EventStoreDB. */
function normalized(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}
