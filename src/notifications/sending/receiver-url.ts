import { isIP } from 'node:net';
import { isPublicAddress } from './addresses';
import { type AllowedAddresses } from './allowed-addresses';
import { isAllowedPort } from './ports';

/**
 * Why messages may not be sent to a URL (`docs/decisions.md#n9`), as far as that is known without resolving its name: scheme, user,
 * port, IP address. Undefined: they may. For `CON_270`; each attempt checks it again.
 */
export function refusalOfUrl(url: string, allowed: AllowedAddresses): string | undefined {
  return URL.canParse(url) ? refusalOfTarget(new URL(url), allowed) : 'it is not a URL';
}

/** As `refusalOfUrl`. */
export function refusalOfTarget(url: URL, allowed: AllowedAddresses): string | undefined {
  const { protocol, username, password, hostname, port } = url;
  if (protocol !== 'http:' && protocol !== 'https:') return 'the scheme is not http or https';
  if (username !== '' || password !== '') return 'a user or password is not allowed';
  const number = port === '' ? defaultPort(protocol) : Number(port);
  // The URL parser has turned all spellings of IPv4 addresses into the usual one.
  const literal = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(literal) !== 0) return refusalOfAddress(literal, number, allowed);
  return isAllowedPort(number) || allowed.hasPort(number) ? undefined : portRefusal(number);
}

/** Why messages may not be sent to an address; undefined: they may. */
export function refusalOfAddress(
  address: string,
  port: number,
  allowed: AllowedAddresses,
): string | undefined {
  const isUsualPort = isAllowedPort(port);
  if (allowed.permits(address, port, isUsualPort)) return undefined;
  if (!isPublicAddress(address) && !allowed.permits(address, port, true)) return 'the address is not public';
  return isUsualPort ? undefined : portRefusal(port);
}

/** The port of a URL that names none. */
export function defaultPort(protocol: string): number {
  return protocol === 'https:' ? 443 : 80;
}

function portRefusal(port: number): string {
  return `port ${port} is not allowed`;
}
