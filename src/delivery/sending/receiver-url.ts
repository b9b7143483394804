import { isIP } from 'node:net';
import { isPublicAddress } from './addresses';
import { type AllowedAddresses } from './allowed-addresses';
import { isAllowedPort, portProblem } from './ports';

/** Why messages may not be sent to a URL, as far as that is known without resolving its name (`docs/decisions.md#n9`). */
type Objection = 'scheme' | 'user' | 'address' | 'port';

/** What is wrong with the URL of a receiver, to follow the name of its field and a colon (`CON_270`); undefined if nothing is. */
export function addressProblem(url: URL, allowed: AllowedAddresses): string | undefined {
  switch (objectionTo(url, allowed)) {
    case undefined:
      return undefined;
    case 'scheme':
      return 'the scheme is not supported; expected http or https';
    case 'user':
      return 'a user or password is not allowed';
    case 'address':
      return 'the address is not public; expected a host name or a public IP address';
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
