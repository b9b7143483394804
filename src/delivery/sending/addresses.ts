import { BlockList, isIP } from 'node:net';
import { NamedError } from '../../kernel/fault';

/**
 * Why messages may not be sent to a URL, as far as that is known without resolving its name (`docs/decisions.md#n9`).
 */
type Objection = 'scheme' | 'user' | 'address' | 'port';

/**
 * What is wrong with the URL of a receiver, to follow the name of its field and a colon (`CON_270`); undefined if
 * nothing is.
 */
export function addressProblem(url: URL, allowed: AllowedAddresses): string | undefined {
  switch (objectionTo(url, allowed)) {
    case undefined:
      return undefined;
    case 'scheme':
      return 'the scheme is not supported; expected http or https';
    case 'user':
      return 'a user or password is not allowed';
    case 'address':
      return 'the address is not public; expected a host name or a public IP address (the operator may permit it: NOTIFY_ALLOW)';
    case 'port':
      return portProblem(url);
  }
}

/** Why nothing is sent to a URL, for the owner of the receiver; undefined: it may be sent. */
export function refusalOfUrl(url: URL, allowed: AllowedAddresses): string | undefined {
  const objection = objectionTo(url, allowed);
  return objection === undefined ? undefined : refusalBy(objection, portOf(url.protocol, url.port));
}

/** Why nothing is sent to an address; undefined: it may be sent. */
export function refusalOfAddress(
  address: string,
  port: number,
  allowed: AllowedAddresses,
): string | undefined {
  const objection = objectionToAddress(address, port, allowed);
  return objection === undefined ? undefined : refusalBy(objection, port);
}

/** `port`: empty if the URL names none. */
export function portOf(protocol: string, port: string): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

function objectionTo(url: URL, allowed: AllowedAddresses): Objection | undefined {
  const { protocol, username, password, hostname } = url;
  if (protocol !== 'http:' && protocol !== 'https:') return 'scheme';
  if (username !== '' || password !== '') return 'user';
  const port = portOf(protocol, url.port);
  // The URL parser has turned all spellings of IPv4 addresses into the usual one.
  const literal = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(literal) !== 0) return objectionToAddress(literal, port, allowed);
  return isAllowedPort(port) || allowed.hasPort(port) ? undefined : 'port';
}

function objectionToAddress(
  address: string,
  port: number,
  allowed: AllowedAddresses,
): 'address' | 'port' | undefined {
  const isUsualPort = isAllowedPort(port);
  if (allowed.permits(address, port, isUsualPort)) return undefined;
  if (!isPublicAddress(address) && !allowed.permits(address, port, true)) return 'address';
  return isUsualPort ? undefined : 'port';
}

function refusalBy(objection: Objection, port: number): string {
  if (objection === 'scheme') return 'the scheme is not http or https';
  if (objection === 'user') return 'a user or password is not allowed';
  return objection === 'address' ? 'the address is not public' : `port ${port} is not allowed`;
}

/** An entry of `NOTIFY_ALLOW` is unusable. */
export class UnusableNetwork extends NamedError {}

interface AllowedEntry {
  readonly network: BlockList;
  /** Absent: the ports that are allowed anyway. */
  readonly port?: number;
}

const ENTRY = /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^[\]]*?))(?::(?<port>\d{1,5}))?$/;

/**
 * Networks and ports that operators permit in addition to public addresses (`NOTIFY_ALLOW`, `docs/decisions.md#n9`),
 * separated by commas. Each entry is an address or a network, with or without a port: `10.0.0.0/8`, `127.0.0.1:4000`,
 * `10.1.0.0/16:8080`, `fd00::/8`, `[::1]:4000`, `[fd00::/8]:4000`. With a port, exactly that port is permitted; without
 * one, those that are allowed for public addresses.
 */
export class AllowedAddresses {
  static readonly none = new AllowedAddresses([]);

  private constructor(private readonly entries: readonly AllowedEntry[]) {}

  /** Raises `UnusableNetwork`, which names the entry. */
  static parse(text: string): AllowedAddresses {
    const entries = text.split(',').map((entry) => entry.trim());
    return new AllowedAddresses(entries.filter((entry) => entry !== '').map(parseEntry));
  }

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Whether an entry permits the address; `isUsualPort`: the port is allowed for public addresses. */
  permits(address: string, port: number, isUsualPort: boolean): boolean {
    const forms = [address, plainAddress(address)].filter((form) => form !== undefined);
    return this.entries.some(
      (entry) =>
        (entry.port === undefined ? isUsualPort : entry.port === port) &&
        forms.some((form) => entry.network.check(form, familyOf(form))),
    );
  }

  /** Whether an entry names the port. */
  hasPort(port: number): boolean {
    return this.entries.some((entry) => entry.port === port);
  }
}

function parseEntry(entry: string): AllowedEntry {
  const { bracketed, plain = '', port } = splitEntry(entry);
  const [address = '', prefix, more] = (bracketed ?? plain).split('/');
  const version = isIP(address);
  if (
    version === 0 ||
    address.includes('%') ||
    (bracketed !== undefined && version === 4) ||
    more !== undefined ||
    !isAtMost(prefix, version === 4 ? 32 : 128) ||
    !isAtMost(port, 65_535) ||
    Number(port) === 0
  )
    throw new UnusableNetwork(
      `"${entry}": expected an address or network, with or without a port, such as 10.0.0.0/8, 127.0.0.1:4000 ` +
        'or [::1]:4000',
    );
  const network = new BlockList();
  if (prefix === undefined) network.addAddress(address, familyOf(address));
  else network.addSubnet(address, Number(prefix), familyOf(address));
  return { network, ...(port === undefined ? {} : { port: Number(port) }) };
}

function isAtMost(digits: string | undefined, most: number): boolean {
  return digits === undefined || (/^\d{1,5}$/.test(digits) && Number(digits) <= most);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** The port of an IPv6 address needs brackets: `::1:4000` is an address. */
function splitEntry(entry: string): Readonly<Record<string, string | undefined>> {
  const address = entry.split('/')[0] ?? '';
  if (isIP(address) === 6 && !entry.includes('[')) return { plain: entry };
  return ENTRY.exec(entry)?.groups ?? {};
}

/** IPv4 ranges that are not global unicast (IANA, Special-Purpose Address Registry). */
const NOT_PUBLIC_4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** What IPv6 has of global unicast. */
const GLOBAL_6 = ['2000::', 3] as const;

/** Of that, what is not public, or contains an IPv4 address: 2001::/23 has Teredo, 2002::/16 is 6to4. */
const NOT_PUBLIC_6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const notPublic = new BlockList();
const global6 = new BlockList();
for (const [network, prefix] of NOT_PUBLIC_4) notPublic.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of NOT_PUBLIC_6) notPublic.addSubnet(network, prefix, 'ipv6');
global6.addSubnet(...GLOBAL_6, 'ipv6');

/**
 * Whether an IP address is public: global unicast (`docs/decisions.md#n9`). IPv4 addresses within IPv6 count as the
 * IPv4 address (mapped, compatible, NAT64) or are not public (6to4, Teredo). Texts that are no address, or have a zone,
 * are not public.
 */
export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address);
  if (plain === undefined) return false;
  if (isIP(plain) === 4) return !notPublic.check(plain, 'ipv4');
  return global6.check(plain, 'ipv6') && !notPublic.check(plain, 'ipv6');
}

/**
 * The address that packets are sent to: the IPv4 address if it is contained in an IPv6 address. Undefined: no address.
 */
function plainAddress(address: string): string | undefined {
  if (isIP(address) === 4) return address;
  const groups = isIP(address) === 6 ? groupsOf(address) : undefined;
  if (groups === undefined) return undefined;
  return isIPv4Within(groups) ? dotted(groups.slice(6)) : address;
}

/** The eight groups of an IPv6 address, in hexadecimal digits without leading zeros; undefined if it has a zone. */
function groupsOf(address: string): readonly string[] | undefined {
  if (!URL.canParse(`http://[${address}]/`)) return undefined;
  // The URL parser has written IPv4 notation as two groups.
  const [head = '', tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const [first = [], last = []] = [head, tail ?? ''].map((half) => (half === '' ? [] : half.split(':')));
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
}

const COMPATIBLE = '0:0:0:0:0:0';
const MAPPED = '0:0:0:0:0:ffff';
const NAT64 = '64:ff9b:0:0:0:0';

/** `::` and `::1` are addresses of IPv6. */
function isIPv4Within(groups: readonly string[]): boolean {
  const prefix = groups.slice(0, 6).join(':');
  if (prefix === COMPATIBLE) return groups[6] !== '0' || !['0', '1'].includes(groups[7] ?? '');
  return prefix === MAPPED || prefix === NAT64;
}

function dotted(groups: readonly string[]): string {
  const numbers = groups.map((group) => Number.parseInt(group, 16));
  return numbers.flatMap((number) => [number >> 8, number & 0xff]).join('.');
}

/**
 * Ports from 1024 of databases, caches, queues and mail servers, and of what manages machines (`docs/decisions.md#n9`).
 */
const REFUSED: ReadonlySet<number> = new Set([
  1113, // EventStoreDB, TCP
  1433, // SQL Server
  1434,
  1521, // Oracle
  1522,
  1526,
  2049, // NFS
  2113, // EventStoreDB
  2181, // ZooKeeper
  2375, // Docker
  2376,
  2379, // etcd
  2380,
  2483, // Oracle
  2484,
  2525, // SMTP, as a second port of many providers
  3050, // Firebird
  3306, // MySQL
  4190, // Sieve
  4333, // mSQL
  5432, // PostgreSQL
  5433,
  5672, // AMQP
  5671,
  5984, // CouchDB
  6379, // Redis
  6380,
  6432, // PgBouncer
  7000, // Cassandra
  7001,
  7199,
  7474, // Neo4j
  7687,
  8086, // InfluxDB
  8529, // ArangoDB
  9042, // Cassandra
  9092, // Kafka
  9093,
  9142,
  9160,
  9200, // Elasticsearch
  9300,
  10025, // SMTP behind content filters
  10026,
  11211, // memcached
  26257, // CockroachDB
  26379, // Redis Sentinel
  27017, // MongoDB
  27018,
  27019,
  28015, // RethinkDB
  50000, // Db2
]);

const BELOW_1024: ReadonlySet<number> = new Set([80, 443]);

/** Whether messages may be sent to this port (`docs/decisions.md#n9`). */
export function isAllowedPort(port: number): boolean {
  if (port < 1024) return BELOW_1024.has(port);
  return Number.isInteger(port) && port <= 65_535 && !REFUSED.has(port);
}

/** What is wrong with the port of a URL, to follow the name of its field and a colon; undefined if nothing is. */
export function portProblem({ protocol, port }: URL): string | undefined {
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  if (isAllowedPort(number)) return undefined;
  return (
    `port ${number} is not allowed; expected 80, 443, or one from 1024 that is not one of databases or ` +
    'mail servers'
  );
}
