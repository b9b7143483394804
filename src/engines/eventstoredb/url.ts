import { readFileSync } from 'node:fs';
import { EventStoreDBClient } from '@eventstore/db-client';
import { UnusableUrl } from '../../kernel/unavailable';

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

/** A validated `esdb://` or `esdb+discover://` URL. */
export interface EsdbUrl {
  /** The value of an option, by its documented name. */
  option(name: string): string | undefined;
  /** The contents of the file that an option names; null without the option. Raises `UnusableUrl`. */
  file(name: string): Buffer | null;
  /** A new client, which connects on first use. */
  readonly client: EventStoreDBClient;
}

/**
 * Validates an `esdb://` or `esdb+discover://` URL. Raises `UnusableUrl`; the client library itself would print the whole URL
 * for an unknown option.
 */
export function parseEsdbUrl(url: string): EsdbUrl {
  if (!/^esdb(?:\+discover)?:\/\//.test(url))
    throw new UnusableUrl('expected a URL that starts with esdb:// or esdb+discover://');
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
  checkBoolean(options, 'tlsVerifyCert');
  const isCluster = url.startsWith('esdb+discover') || /^[^?/]*,/.test(url.replace(CREDENTIALS, ''));
  if (isCluster && options.get(normalized('tlsVerifyCert'))?.toLowerCase() === 'false')
    throw new UnusableUrl('tlsVerifyCert=false: expected a single host without esdb+discover');
  const client = clientAt(withoutOption(url, 'tlsVerifyCert'));
  const option = (name: string): string | undefined => options.get(normalized(name));
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
    throw new UnusableUrl(`${name}: expected a readable file`);
  }
}

function clientAt(url: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(url);
  } catch {
    throw new UnusableUrl('expected esdb://[user:password@]host[:port][,host…][?option=value&…]');
  }
}

function checkBoolean(options: ReadonlyMap<string, string>, name: string): void {
  const value = options.get(normalized(name));
  if (value !== undefined && !/^(?:true|false)$/i.test(value))
    throw new UnusableUrl(`${name}: expected true or false`);
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
