import { BlockList, isIP } from 'node:net';

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
 * Whether an IP address is public: global unicast (`docs/decisions.md#n9`). IPv4 addresses within IPv6 count as the IPv4 address
 * (mapped, compatible, NAT64) or are not public (6to4, Teredo). Texts that are no address, or have a zone, are not public.
 */
export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address);
  if (plain === undefined) return false;
  if (isIP(plain) === 4) return !notPublic.check(plain, 'ipv4');
  return global6.check(plain, 'ipv6') && !notPublic.check(plain, 'ipv6');
}

/** The address that packets are sent to: the IPv4 address if it is contained in an IPv6 address. Undefined: no address. */
export function plainAddress(address: string): string | undefined {
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
