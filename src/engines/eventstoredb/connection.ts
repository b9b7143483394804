import { EventStoreDBClient } from '@eventstore/db-client';
import { UnusableUrl } from '../unusable-url';
import { closeConnection, watchConnections } from './channel';

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
    'userCertFile',
    'userKeyFile',
  ].map((name) => name.toLowerCase()),
);

/**
 * A client for `esdb://` and `esdb+discover://` URLs; connects when it is first used. Raises `UnusableUrl`: the
 * client library itself would print the whole URL where it does not know an option.
 */
export function clientFor(url: string): EventStoreDBClient {
  if (!/^esdb(?:\+discover)?:\/\//.test(url))
    throw new UnusableUrl('the URL has to begin with esdb:// or esdb+discover://');
  const options = url.replace(CREDENTIALS, '').split('?', 2)[1] ?? '';
  for (const option of options.split('&').filter(Boolean)) {
    const name = option.split('=', 1)[0] ?? '';
    if (!OPTIONS.has(name.toLowerCase().replace(/[_-]/g, '')))
      throw new UnusableUrl(
        `${/^\w+$/.test(name) ? name : 'what follows the ?'} is not an option of esdb:// URLs`,
      );
  }
  return watchConnections(parsed(url));
}

function parsed(url: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(url);
  } catch {
    throw new UnusableUrl('the URL is not esdb://[user:password@]host[:port][,host…][?option=value&…]');
  }
}

/**
 * A client over a connection of its own, however many there are: gRPC shares one between all clients whose
 * options are the same, so that the `n`th has a longer keep-alive time-out (ms). Raises `UnusableUrl`.
 */
export function anotherClientFor(url: string, n: number): EventStoreDBClient {
  const separator = url.replace(CREDENTIALS, '').includes('?') ? '&' : '?';
  return clientFor(`${url}${separator}keepAliveTimeout=${KEEP_ALIVE + n}`);
}

/** What the client takes where the URL says nothing else. */
const KEEP_ALIVE = 10_000;

/**
 * The client for reads. They have one of their own: what breaks a read off makes the client connect anew, which
 * must not touch appends.
 */
export class ReadingClient {
  #current: EventStoreDBClient;
  #renewals = 0;
  #renewed = -Infinity;

  /** `silence`: how long a connection is given until it is thought broken (ms). */
  constructor(
    private readonly url: string,
    readonly silence: number,
  ) {
    this.#current = clientFor(url);
  }

  get current(): EventStoreDBClient {
    return this.#current;
  }

  /**
   * Further calls go over a new connection, unless they do since a call that has failed began (`since`, of
   * `performance.now`). The others find out by themselves: a client that is disposed of would tell them that they have
   * come to their end. When they have, the connection that was left is closed.
   */
  renew(since: number): void {
    if (this.#renewed >= since) return;
    this.#renewed = performance.now();
    this.#renewals += 1;
    closeConnection(this.#current);
    this.#current = anotherClientFor(this.url, this.#renewals);
  }

  async close(): Promise<void> {
    await this.#current.dispose();
    closeConnection(this.#current);
  }
}
