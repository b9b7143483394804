import fc from 'fast-check';
import {
  addressProblem,
  AllowedAddresses,
  isPublicAddress,
  refusalOfUrl,
} from '../../../src/delivery/sending/addresses';
import { cases } from '../../support/size';

/** The first and the last address of each IPv4 range, and its neighbours, which are public. */
const RANGES: readonly (readonly [first: string, last: string, ...neighbours: string[]])[] = [
  ['0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '255.255.255.255', '223.255.255.255'],
];

/** How IPv6 contains an IPv4 address. */
const WITHIN: readonly (readonly [name: string, write: (ipv4: string) => string])[] = [
  ['mapped', (ipv4) => `::ffff:${ipv4}`],
  ['compatible', (ipv4) => `::${ipv4}`],
  ['NAT64', (ipv4) => `64:ff9b::${ipv4}`],
];

describe('public addresses', () => {
  it.each(RANGES)(
    'exclude %s to %s, and not their neighbours (decisions N9)',
    (first, last, ...neighbours) => {
      for (const address of [first, last])
        expect([address, isPublicAddress(address)]).toEqual([address, false]);
      for (const address of neighbours) expect([address, isPublicAddress(address)]).toEqual([address, true]);
    },
  );

  it.each(WITHIN)('check a %s address as the IPv4 address that it contains (decisions N9)', (_, write) => {
    expect(isPublicAddress(write('8.8.8.8'))).toBe(true);
    for (const [first, last] of RANGES.slice(1))
      for (const ipv4 of [first, last]) expect([ipv4, isPublicAddress(write(ipv4))]).toEqual([ipv4, false]);
  });

  it.each([
    ['2000::', true],
    ['2606:4700::1111', true],
    ['3ffe:ffff::', true],
    ['2001:200::', true],
    ['2001::', false],
    ['2001:0:53aa:64c:0:1234:f7f7:f7f7', false],
    ['2001:1ff:ffff::', false],
    ['2001:db8::1', false],
    ['2002:808:808::', false],
    ['2002:7f00:1::', false],
    ['3fff::1', false],
    ['3fff:fff:ffff::', false],
    ['3fff:1000::', true],
    ['4000::', false],
    ['1fff:ffff::', false],
    ['64:ff9b:1::8.8.8.8', false],
    ['::ffff:0:8.8.8.8', false],
    ['::', false],
    ['::1', false],
    ['100::', false],
    ['fc00::1', false],
    ['fe80::1', false],
    ['fe80::1%eth0', false],
    ['2606:4700::1111%eth0', false],
    ['fec0::1', false],
    ['ff02::1', false],
    ['5f00::1', false],
    ['', false],
    ['localhost', false],
    ['127.1', false],
    ['8.8.8.8.', false],
  ])('%j: %s (decisions N9)', (address, expected) => {
    expect(isPublicAddress(address)).toBe(expected);
  });

  it('do not depend on how an IPv6 address is written (decisions N9)', () => {
    const groups = fc.array(fc.oneof(fc.constant(0), fc.constant(0xffff), fc.nat(0xffff)), {
      minLength: 8,
      maxLength: 8,
    });
    const law = (numbers: readonly number[]): void => {
      const long = numbers.map((group) => group.toString(16).padStart(4, '0')).join(':');
      const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
      expect([long, isPublicAddress(long.toUpperCase())]).toEqual([long, isPublicAddress(short)]);
    };
    fc.assert(fc.property(groups, law), { numRuns: cases(1_000) });
  });
});

describe('permitted networks', () => {
  const allowed = AllowedAddresses.parse(
    '10.0.0.0/8, 127.0.0.1:4000 ,192.168.1.7, 172.16.0.0/12:25,[::1]:4000,fd00::/8,[fd12::/16]:81',
  );

  it.each([
    ['http://10.1.2.3/', undefined],
    ['http://10.1.2.3:8080/', undefined],
    ['http://10.1.2.3:22/', 'port 22 is not allowed'],
    ['http://[::ffff:10.1.2.3]/', undefined],
    ['http://127.0.0.1:4000/', undefined],
    ['http://127.0.0.1:4001/', 'the address is not public'],
    ['http://127.0.0.2:4000/', 'the address is not public'],
    ['http://192.168.1.7/', undefined],
    ['http://192.168.1.8/', 'the address is not public'],
    ['http://172.31.0.1:25/', undefined],
    ['http://172.31.0.1/', 'the address is not public'],
    ['http://[::1]:4000/', undefined],
    ['http://[0:0::1]:4000/', undefined],
    ['http://[::1]:4001/', 'the address is not public'],
    ['http://[fd00::1]/', undefined],
    ['http://[fd12::1]:81/', undefined],
    ['http://[fd13::1]:81/', 'port 81 is not allowed'],
    ['http://8.8.8.8:25/', 'port 25 is not allowed'],
    // Where a name leads is known when it is resolved.
    ['http://mail.example:25/', undefined],
    ['http://mail.example:26/', 'port 26 is not allowed'],
  ])('%s: %s (decisions N9)', (url, expected) => {
    expect(refusalOfUrl(new URL(url), allowed)).toBe(expected);
  });

  it.each([
    '10.0.0.0/33',
    '::/129',
    '10.0.0',
    'localhost',
    'localhost:4000',
    '10.0.0.1:',
    '10.0.0.1:65536',
    '10.0.0.1:0',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '[::1',
    '[10.0.0.1]:80',
    '[::1]:x',
    'fe80::1%eth0',
    '*',
  ])('"%s" is refused by name (decisions N9)', (entry) => {
    expect(() => AllowedAddresses.parse(`10.0.0.0/8, ${entry}`)).toThrow(
      `"${entry}": expected an address or network, with or without a port`,
    );
  });

  it('may be none (decisions N9)', () => {
    for (const text of ['', ' ', ',']) expect(AllowedAddresses.parse(text).isEmpty).toBe(true);
  });
});

describe('URLs of receivers', () => {
  it.each([
    ['https://receiver.example/path?x=${y}', undefined],
    ['http://receiver.example:8080/', undefined],
    ['https://8.8.8.8/', undefined],
    ['https://[2606:4700::1111]/', undefined],
    ['ftp://receiver.example/', 'the scheme is not http or https'],
    ['file:///etc/passwd', 'the scheme is not http or https'],
    ['https://user@receiver.example/', 'a user or password is not allowed'],
    ['https://:password@receiver.example/', 'a user or password is not allowed'],
    ['https://receiver.example:22/', 'port 22 is not allowed'],
    ['https://receiver.example:5432/', 'port 5432 is not allowed'],
    ['https://127.0.0.1/', 'the address is not public'],
  ])('%s: %s (decisions N9)', (url, expected) => {
    expect(refusalOfUrl(new URL(url), AllowedAddresses.none)).toBe(expected);
  });

  it.each([
    ['https://receiver.example/', undefined],
    ['https://127.0.0.1:4000/', undefined],
    [
      'https://127.0.0.1:4001/',
      'the address is not public; expected a host name or a public IP address (the operator may permit it: NOTIFY_ALLOW)',
    ],
    [
      'https://0x7f.1/',
      'the address is not public; expected a host name or a public IP address (the operator may permit it: NOTIFY_ALLOW)',
    ],
    ['https://receiver.example:25/', expect.stringMatching(/^port 25 is not allowed; expected 80, 443/)],
    ['https://user@receiver.example/', 'a user or password is not allowed'],
    ['ftp://receiver.example/', 'the scheme is not supported; expected http or https'],
  ])('are checked when a subscription is posted: %s (decisions N9)', (url, expected) => {
    const allowed = AllowedAddresses.parse('127.0.0.1:4000');
    expect(addressProblem(new URL(url), allowed)).toEqual(expected);
  });
});
