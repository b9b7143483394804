import { AllowedAddresses } from '../../../src/delivery/sending/addresses';
import { UnresolvedName } from '../../../src/delivery/sending/dns';
import { accepting, answer, attemptTo, sendingTo } from './receivers';

const { sender, receiver } = sendingTo();

/** What names resolve to in these tests. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1'],
  'localhost.': ['127.0.0.1'],
  'one.localhost': ['::1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'compatible.example': ['::7f00:1'],
  'nat64.example': ['64:ff9b::7f00:1'],
  '6to4.example': ['2002:7f00:1::1'],
  'any.example': ['0.0.0.0'],
  'any6.example': ['::'],
  'metadata.example': ['169.254.169.254'],
  'private.example': ['10.0.0.1'],
  'mixed.example': ['127.0.0.1', '8.8.8.8'],
  'mixed-last.example': ['8.8.8.8', '2606:4700::1111', '127.0.0.1'],
  'xn--nxasmq6b.example': ['127.0.0.1'],
};

const resolve = async (name: string): Promise<readonly string[]> => {
  const found = NAMES[name];
  if (found === undefined) throw new UnresolvedName(false);
  return found;
};

const NOT_PUBLIC = 'the address is not public';
const NO_USER = 'a user or password is not allowed';
const SCHEME = 'the scheme is not http or https';

/** `PORT` stands for the port of a server on all addresses of this machine. */
const SPELLINGS: readonly (readonly [url: string, error: string | RegExp])[] = [
  ...[
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '127.0.1',
    '2130706433',
    '017700000001',
    '0x7f000001',
    '0X7F000001',
    '0x7f.1',
    '0x7f.0x0.0x0.0x1',
    '0177.0.0.1',
    '0177.0.1',
    '0177.0x0.0.1',
    '00000177.0.0.01',
    '127.0.0.0x1',
    '127.255.255.254',
    '0',
    '0.0.0.0',
    '0x0',
    '１２７.0.0.1',
    '127。0。0。1',
    '127．0．0．1',
    '127｡0｡0｡1',
    '①②⑦.⓪.⓪.①',
    '%31%32%37.0.0.1',
    '127%2e0%2E0.1',
    '127%E3%80%820.0.1',
    '127.0.\u00ad0.1',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000::0001]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::FFFF:7F00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::ffff:0.0.0.0]',
    '[::127.0.0.1]',
    '[::7f00:1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[::ffff:0:127.0.0.1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fd00::1]',
    '[ff02::1]',
    '10.0.0.1',
    '169.254.169.254',
    '2852039166',
    ...Object.keys(NAMES),
    'LOCALHOST',
    'ｌｏｃａｌｈｏｓｔ',
    'βόλοσ.example',
  ].map((host) => [`http://${host}:PORT/`, NOT_PUBLIC] as const),
  ['https://127.0.0.1:PORT/', NOT_PUBLIC],
  ['http:127.0.0.1:PORT/', NOT_PUBLIC],
  ['http:\\\\127.0.0.1:PORT\\', NOT_PUBLIC],
  ['http:///127.0.0.1:PORT/', NOT_PUBLIC],
  [' ht\ntp://127.0.\t0.1:PORT/', NOT_PUBLIC],
  ['http://receiver.example\\@127.0.0.1:PORT/', /resolved/],
  ['http://user@127.0.0.1:PORT/', NO_USER],
  ['http://user:password@127.0.0.1:PORT/', NO_USER],
  ['http://8.8.8.8:PORT@127.0.0.1:PORT/', NO_USER],
  ['http://:@127.0.0.1:PORT/', NOT_PUBLIC],
  ['ftp://127.0.0.1:PORT/', SCHEME],
  ['ws://127.0.0.1:PORT/', SCHEME],
  ['gopher://127.0.0.1:PORT/', SCHEME],
  ['http://[::1%25lo]:PORT/', 'it is not a URL'],
  ['http://[fe80::1%lo]:PORT/', 'it is not a URL'],
  ['http://127.0.0.1.1:PORT/', 'it is not a URL'],
  ['http://256.0.0.1:PORT/', 'it is not a URL'],
  ['http://receiver.example:22/', 'port 22 is not allowed'],
  ['http://receiver.example:25/', 'port 25 is not allowed'],
  ['http://receiver.example:0/', 'port 0 is not allowed'],
  ['http://receiver.example:6379/', 'port 6379 is not allowed'],
];

describe('forbidden targets', () => {
  it(`are refused in ${SPELLINGS.length} spellings, before there is a connection (decisions N9)`, async () => {
    expect(SPELLINGS.length).toBeGreaterThanOrEqual(60);
    const to = await receiver(accepting, { host: '::' });
    const sending = sender({ allowed: AllowedAddresses.none, resolve });
    const results = await Promise.all(
      SPELLINGS.map(async ([url, error]) => {
        const result = await sending.attempt(attemptTo(url.replaceAll('PORT', `${to.port}`)));
        const isExpected =
          typeof error === 'string' ? result.error === error : error.test(result.error ?? '');
        return { url, end: result.end, error: isExpected ? error : result.error };
      }),
    );
    expect(results).toEqual(SPELLINGS.map(([url, error]) => ({ url, end: 'failure', error })));
    expect(to.connections).toBe(0);
  });

  it('would have been reached by most spellings of loopback (decisions N9)', async () => {
    const to = await receiver(accepting, { host: '::' });
    const allowed = AllowedAddresses.parse('127.0.0.0/8, 0.0.0.0, ::1, ::, 8.8.8.8, 2606:4700::1111');
    const sending = sender({ allowed, resolve, connectMs: 1_000 });
    const loopback = SPELLINGS.slice(0, 35).map(([url]) => url.replaceAll('PORT', `${to.port}`));
    await Promise.all(loopback.map((url) => sending.attempt(attemptTo(url))));
    expect(to.requests.length).toBeGreaterThanOrEqual(30);
  });

  it('do not include what operators permit, at its port (decisions N9)', async () => {
    const [to, other] = [await receiver(accepting), await receiver(accepting)];
    const sending = sender({ allowed: AllowedAddresses.parse(`127.0.0.1:${to.port}`), resolve });
    const ends = [];
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.2'])
      for (const { port } of [to, other])
        ends.push((await sending.attempt(attemptTo(`http://${host}:${port}/`))).end);
    expect(ends).toEqual(['success', 'failure', 'success', 'failure', 'failure', 'failure']);
    expect([to.requests.length, other.connections]).toEqual([2, 0]);
  });

  it('include a name that has one forbidden address of several (decisions N9)', async () => {
    const to = await receiver(accepting);
    const several = { 'a.example': ['127.0.0.1', '10.0.0.1'], 'b.example': ['::1', '127.0.0.1'] };
    const sending = sender({
      allowed: AllowedAddresses.parse('127.0.0.1'),
      resolve: async (name) => several[name as keyof typeof several],
    });
    for (const name of Object.keys(several))
      expect(await sending.attempt(attemptTo(`http://${name}:${to.port}/`))).toMatchObject({
        end: 'failure',
        error: NOT_PUBLIC,
      });
    expect(to.connections).toBe(0);
  });

  it('include a name whose addresses change after they were checked: rebinding (decisions N9)', async () => {
    const good = await receiver(
      (socket) => {
        // Each message needs a new connection.
        socket.end(answer(200, '', ['connection: close']));
      },
      { host: '127.0.0.2' },
    );
    const secret = await receiver(accepting, { host: '127.0.0.1', port: good.port });
    let asked = 0;
    const sending = sender({
      allowed: AllowedAddresses.parse('127.0.0.2'),
      resolve: async () => [(asked += 1) % 2 === 1 ? '127.0.0.2' : '127.0.0.1'],
    });
    const ends = [];
    for (let count = 0; count < 6; count += 1)
      ends.push((await sending.attempt(attemptTo(`http://rebinding.example:${good.port}/`))).end);
    // Each connection is made to the very address that was checked, so every second attempt fails.
    expect(ends).toEqual(['success', 'failure', 'success', 'failure', 'success', 'failure']);
    expect([asked, good.connections, secret.connections]).toEqual([6, 3, 0]);
  });

  it.each([301, 302, 303, 307, 308])(
    'are not reached by a redirect, status %d (decisions N4)',
    async (status) => {
      const target = await receiver(accepting);
      const location = `location: http://127.0.0.1:${target.port}/`;
      const to = await receiver((socket) => void socket.write(answer(status, '', [location])));
      const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
      expect(result).toMatchObject({ end: 'failure', status });
      expect(target.connections).toBe(0);
    },
  );

  it('are not avoided or reached by a proxy of the environment (decisions N9)', async () => {
    const [to, proxy] = [await receiver(accepting), await receiver(accepting)];
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    for (const name of names)
      process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
    const result = await sender().attempt(attemptTo(`http://127.0.0.1:${to.port}/`));
    for (const name of names) Reflect.deleteProperty(process.env, name);
    expect([result.end, to.requests.length, proxy.connections]).toEqual(['success', 1, 0]);
  });
});
