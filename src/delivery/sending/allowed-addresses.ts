import { BlockList, isIP } from 'node:net';
import { plainAddress } from './addresses';

/** An entry of `NOTIFY_ALLOW` is unusable. */
export class UnusableNetwork extends Error {
  override readonly name = 'UnusableNetwork';
}

interface Entry {
  readonly network: BlockList;
  /** Absent: the ports that are allowed anyway. */
  readonly port?: number;
}

const ENTRY = /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^[\]]*?))(?::(?<port>\d{1,5}))?$/;

/**
 * Networks and ports that operators permit in addition to public addresses (`NOTIFY_ALLOW`, `docs/decisions.md#n9`), separated by
 * commas. Each entry is an address or a network, with or without a port: `10.0.0.0/8`, `127.0.0.1:4000`, `10.1.0.0/16:8080`,
 * `fd00::/8`, `[::1]:4000`, `[fd00::/8]:4000`. With a port, exactly that port is permitted; without one, those that are allowed
 * for public addresses.
 */
export class AllowedAddresses {
  static readonly none = new AllowedAddresses([]);

  private constructor(private readonly entries: readonly Entry[]) {}

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

function parseEntry(entry: string): Entry {
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
      `"${entry}": expected an address or network, with or without a port, such as 10.0.0.0/8, 127.0.0.1:4000 or [::1]:4000`,
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
