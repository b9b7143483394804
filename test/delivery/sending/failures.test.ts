import fc from 'fast-check';
import {
  ConnectionFailed,
  ConnectTimeout,
  failureOf,
  RefusedTarget,
} from '../../../src/delivery/sending/attempt';
import { UnresolvedName } from '../../../src/delivery/sending/dns';
import { cases } from '../../support/size';

/** An error as Node.js or undici makes it. */
function coded(code: string, address?: string): Error {
  const inside = Object.assign(new Error(`secret detail ${code}`), { code, ...(address && { address }) });
  return new ConnectionFailed(inside);
}

const OURS = 'the sender had no resources';
const NO_NETWORK = 'the sender had no network';

describe('a failure without an answer', () => {
  const codes: readonly (readonly [code: string, end: string, error: string])[] = [
    ...['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EAGAIN'].map((code) => [code, 'aborted', OURS] as const),
    ...['EACCES', 'EPERM', 'ENETDOWN'].map((code) => [code, 'aborted', NO_NETWORK] as const),
    ['UND_ERR_DESTROYED', 'aborted', 'the sender was stopped'],
    ['UND_ERR_CLOSED', 'aborted', 'the sender was stopped'],
    ['ECONNREFUSED', 'failure', 'the connection was refused'],
    ['ECONNRESET', 'failure', 'the connection was closed before there was an answer'],
    ['EPIPE', 'failure', 'the connection was closed before there was an answer'],
    ['UND_ERR_SOCKET', 'failure', 'the connection was closed before there was an answer'],
    ['EHOSTUNREACH', 'failure', 'the address cannot be reached'],
    ['ETIMEDOUT', 'timeout', 'the connection has timed out'],
    ['CERT_HAS_EXPIRED', 'failure', 'the certificate has expired'],
    ['CERT_NOT_YET_VALID', 'failure', 'the certificate is not yet valid'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'failure', 'the certificate is of an unknown authority'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'failure', 'an intermediate certificate is missing'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'failure', 'TLS failed'],
    ['UND_ERR_INVALID_ARG', 'failure', 'the request cannot be made from the URL and headers'],
    ['ESOMETHING', 'failure', 'the request failed'],
  ];
  it.each(codes)('with code %s: %s, %s (decisions N4)', (code, end, error) => {
    expect(failureOf(coded(code))).toEqual({ end, error });
  });

  it.each([
    ['ENETUNREACH', '8.8.8.8', 'aborted'],
    ['ENETUNREACH', '2606:4700::1111', 'failure'],
    ['EADDRNOTAVAIL', '8.8.8.8', 'aborted'],
    ['EADDRNOTAVAIL', '2606:4700::1111', 'failure'],
  ])('%s at %s: %s, since a machine may have no IPv6 (decisions N4)', (code, address, end) => {
    expect(failureOf(coded(code, address)).end).toBe(end);
  });

  it.each([
    [['ENETUNREACH ::1', 'ECONNREFUSED'], 'failure', 'the connection was refused'],
    [['EMFILE', 'ECONNREFUSED'], 'failure', 'the connection was refused'],
    [['ENETUNREACH 8.8.8.8', 'ENETUNREACH 8.8.4.4'], 'aborted', NO_NETWORK],
    [['EMFILE', 'EMFILE'], 'aborted', OURS],
  ])('of several addresses, %j: %s, %s (decisions N4)', (codes, end, error) => {
    const errors = codes.map((one) => {
      const [code = '', address] = one.split(' ');
      return Object.assign(new Error(one), { code, address });
    });
    const result = failureOf(new ConnectionFailed(new AggregateError(errors, 'all failed')));
    expect(result.end).toBe(end);
    expect([error, 'the address cannot be reached']).toContain(result.error);
  });

  it('of a name counts for the receiver, unless no name can be resolved (decisions N4)', () => {
    expect(failureOf(new UnresolvedName(false))).toEqual({
      end: 'failure',
      error: 'the host name cannot be resolved',
    });
    expect(failureOf(new UnresolvedName(true))).toEqual({
      end: 'aborted',
      error: 'names cannot be resolved',
    });
    expect(failureOf(new RefusedTarget('port 22 is not allowed')).end).toBe('failure');
    expect(failureOf(new ConnectionFailed(new ConnectTimeout(5000)))).toEqual({
      end: 'timeout',
      error: 'no connection within 5 s',
    });
  });

  it('reveals nothing of an unexpected error (decisions N4)', () => {
    const law = (message: string): void => {
      expect(failureOf(new Error(`secret ${message}`)).error).not.toContain('secret');
      expect(failureOf(coded(message)).error).not.toContain('secret');
    };
    law('valueOf');
    fc.assert(fc.property(fc.string(), law), { numRuns: cases(200, 20) });
  });
});
