import { readFileSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';
import { UnusableUrl } from '../../kernel/unavailable';

/** Up to the hosts, as the client library finds them. */
const CREDENTIALS = /^[^/]+\/\/(?:[^:]+:[^@]+@)?/;

/** What may follow the `?` of an `esdb://` URL. */
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
  ].map(spelled),
);

/** An `esdb://` or `esdb+discover://` URL that has been checked. */
export interface EsdbUrl {
  /** The value of an option, by its documented name. */
  option(name: string): string | undefined;
  /** What is in the file that an option names; null where it names none. Raises `UnusableUrl`. */
  file(name: string): Buffer | null;
  /** A client of its own, which connects when it is first used. */
  readonly client: EventStoreDBClient;
}

/**
 * Checks an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`: the client library itself would print the whole
 * URL where it does not know an option.
 */
export function parseEsdbUrl(url: string): EsdbUrl {
  if (!/^esdb(?:\+discover)?:\/\//.test(url))
    throw new UnusableUrl('expected a URL that begins with esdb:// or esdb+discover://');
  const query = url.replace(CREDENTIALS, '').split('?', 2)[1] ?? '';
  const options = new Map<string, string>();
  for (const option of query.split('&').filter(Boolean)) {
    const [name = '', ...value] = option.split('=');
    if (!OPTIONS.has(spelled(name)))
      throw new UnusableUrl(
        `${/^\w+$/.test(name) ? name : 'what follows the ?'} is not an option of esdb:// URLs`,
      );
    options.set(spelled(name), decoded(name, value.join('=')));
  }
  checkTruth(options, 'tlsVerifyCert');
  const isCluster = url.startsWith('esdb+discover') || /^[^?/]*,/.test(url.replace(CREDENTIALS, ''));
  if (isCluster && options.get(spelled('tlsVerifyCert'))?.toLowerCase() === 'false')
    throw new UnusableUrl('tlsVerifyCert=false: expected a single host without esdb+discover');
  const client = clientAt(withoutOption(url, 'tlsVerifyCert'));
  const option = (name: string): string | undefined => options.get(spelled(name));
  return { option, file: (name) => fileOf(name, option(name)), client };
}

function decoded(name: string, value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    throw new UnusableUrl(`${name}: expected a percent-encoded value`);
  }
}

function fileOf(name: string, path: string | undefined): Buffer | null {
  try {
    return path === undefined ? null : readFileSync(path);
  } catch {
    throw new UnusableUrl(`${name}: expected a file that can be read`);
  }
}

function clientAt(url: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(url);
  } catch {
    throw new UnusableUrl('expected esdb://[user:password@]host[:port][,host…][?option=value&…]');
  }
}

function checkTruth(options: ReadonlyMap<string, string>, name: string): void {
  const value = options.get(spelled(name));
  if (value !== undefined && !/^(?:true|false)$/i.test(value))
    throw new UnusableUrl(`${name}: expected true or false`);
}

/** The client library knows the option's name, but only to warn that it ignores it. */
function withoutOption(url: string, name: string): string {
  const start = CREDENTIALS.exec(url)?.[0] ?? '';
  const [hosts = '', query] = url.slice(start.length).split('?', 2);
  const others = (query ?? '')
    .split('&')
    .filter((option) => spelled(option.split('=')[0] ?? '') !== spelled(name));
  return `${start}${hosts}${others.join('&') === '' ? '' : `?${others.join('&')}`}`;
}

/** Names of options are compared without case, hyphens and underscores, as the client library does. */
function spelled(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}
