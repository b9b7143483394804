import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { ReceiverNames } from '../../../src/delivery/sending/dns';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { TestClock } from '../../support/clock';

/**
 * What a DNS server says of a name: addresses with a time to live, a code (3: no such name, 2: server failure), or
 * nothing.
 */
type Zone = (
  name: string,
) => { readonly ipv4?: readonly string[]; readonly ttl?: number; readonly code?: number } | undefined;

/** A DNS server on loopback that knows IPv4 addresses only. */
class DnsServer {
  readonly asked: string[] = [];

  private constructor(private readonly socket: Socket) {}

  static async start(zone: Zone): Promise<DnsServer> {
    const socket = createSocket('udp4');
    const server = new DnsServer(socket);
    socket.on('message', (query, from) => server.answer(query, from, zone));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  close(): void {
    this.socket.close();
  }

  private answer(query: Buffer, from: RemoteInfo, zone: Zone): void {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    const isIPv4 = query.readUInt16BE(at + 1) === 1;
    this.asked.push(`${name} ${query.readUInt16BE(at + 1)}`);
    const said = zone(name);
    if (said === undefined) return;
    const { ipv4 = [], ttl = 0, code = 0 } = said;
    const addresses = isIPv4 ? ipv4 : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    const records = addresses.map((address) => {
      const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]);
      record.writeUInt32BE(ttl, 6);
      return record;
    });
    const packet = Buffer.concat([head, query.subarray(12, at + 5), ...records]);
    this.socket.send(packet, from.port, from.address);
  }
}

describe('names', () => {
  const open: { close(): void }[] = [];
  afterEach(() => {
    for (const one of open.splice(0)) one.close();
  });

  async function namesIn(zone: Zone, { hasLocalNames = false, now = 0 } = {}) {
    const server = await DnsServer.start(zone);
    const clock = { now };
    const { address } = server;
    const names = new ReceiverNames(new TestClock(Date.now, () => clock.now), hasLocalNames, () => [address]);
    open.push(names, server);
    return { names, server, clock };
  }

  it('are resolved by DNS queries, and again when their time is over (decisions N9)', async () => {
    const { names, server, clock } = await namesIn(() => ({ ipv4: ['8.8.8.8', '8.8.4.4'], ttl: 10 }));
    const all = await Promise.all([names.addressesOf('a.example'), names.addressesOf('a.example')]);
    for (const addresses of all) expect([...addresses].sort()).toEqual(['8.8.4.4', '8.8.8.8']);
    clock.now = 9_999;
    await names.addressesOf('a.example');
    expect([...server.asked].sort()).toEqual(['a.example 1', 'a.example 28']);
    clock.now = 10_000;
    await names.addressesOf('a.example');
    expect(server.asked).toHaveLength(4);
  });

  it('are resolved again after a minute, and not within a second, whatever their DNS says (decisions N9)', async () => {
    const { names, server, clock } = await namesIn((name) => ({
      ipv4: ['8.8.8.8'],
      ttl: name === 'long.example' ? 86_400 : 0,
    }));
    for (const [name, until] of [
      ['long.example', 60_000],
      ['short.example', 1_000],
    ] as const) {
      clock.now = 0;
      server.asked.length = 0;
      await names.addressesOf(name);
      clock.now = until - 1;
      await names.addressesOf(name);
      expect(server.asked).toHaveLength(2);
      clock.now = until;
      await names.addressesOf(name);
      expect(server.asked).toHaveLength(4);
    }
  });

  it('whose servers do not answer delay no other name (decisions N7)', async () => {
    const { names } = await namesIn((name) => (name.startsWith('hung') ? undefined : { ipv4: ['8.8.8.8'] }));
    let failed = 0;
    const hung = Array.from({ length: 100 }, (_, at) =>
      names.addressesOf(`hung${at}.example`).catch(() => (failed += 1)),
    );
    for (let at = 0; at < 100; at += 1)
      expect(await names.addressesOf(`good${at}.example`)).toEqual(['8.8.8.8']);
    expect(failed).toBe(0);
    names.close();
    await Promise.all(hung);
    expect(failed).toBe(100);
  });

  it.each([
    ['do not exist', 3, true],
    ['have no address', 0, true],
    ['fail', 2, true],
    ['fail, as all names do', 2, false],
  ])(
    'that %s are a fault of the receiver, unless no name can be resolved (decisions N4)',
    async (_, code, works) => {
      const { names } = await namesIn((name) => ({ code: name === '' && works ? 0 : code }));
      const fails = expect(names.addressesOf('a.example')).rejects;
      await fails.toMatchObject({ name: 'UnresolvedName', isOurFault: !works });
    },
  );

  it('that fail are a fault of the receiver if another name can be resolved, whatever is answered for the root (decisions N4)', async () => {
    let isDown = false;
    const { names } = await namesIn((name) => {
      if (name === 'good.example' && !isDown) return { ipv4: ['8.8.8.8'] };
      return { code: name === '' ? 5 : 2 };
    });
    await names.addressesOf('good.example');
    await expect(names.addressesOf('bad.example')).rejects.toMatchObject({ isOurFault: false });
    isDown = true;
    await expect(names.addressesOf('bad.example')).rejects.toMatchObject({ isOurFault: true });
  });

  it('that could be resolved once say nothing about themselves (decisions N4)', async () => {
    let isDown = false;
    const { names, clock } = await namesIn((name) => {
      if (name === '') return { code: 5 };
      return isDown && name !== 'good.example' ? { code: 2 } : { ipv4: ['8.8.8.8'] };
    });
    await names.addressesOf('bad.example');
    isDown = true;
    clock.now = 60_000;
    await expect(names.addressesOf('bad.example')).rejects.toMatchObject({ isOurFault: true });
    await names.addressesOf('good.example');
    await expect(names.addressesOf('bad.example')).rejects.toMatchObject({ isOurFault: false });
  });

  it('cannot be resolved without a DNS server: our fault (decisions N4)', async () => {
    const { names, server } = await namesIn(() => undefined);
    open.splice(open.indexOf(server), 1);
    server.close();
    await expect(names.addressesOf('a.example')).rejects.toMatchObject({ isOurFault: true });
  });

  it('are asked of other servers once the machine has them (decisions N4)', async () => {
    const silent = await DnsServer.start(() => undefined);
    const good = await DnsServer.start(() => ({ ipv4: ['8.8.8.8'] }));
    const servers = [silent.address];
    const names = new ReceiverNames(SYSTEM_CLOCK, false, () => servers);
    open.push(silent, good, names);
    servers[0] = good.address;
    await expect(names.addressesOf('a.example')).rejects.toMatchObject({ isOurFault: true });
    expect(await names.addressesOf('a.example')).toEqual(['8.8.8.8']);
  });

  it('of this machine are known only if operators permit addresses (decisions N9)', async () => {
    const zone: Zone = () => ({ code: 3 });
    const without = (await namesIn(zone)).names;
    await expect(without.addressesOf('localhost')).rejects.toMatchObject({ isOurFault: false });
    const { names } = await namesIn(zone, { hasLocalNames: true });
    expect(await names.addressesOf('localhost')).toContain('127.0.0.1');
    await expect(names.addressesOf('nowhere.invalid')).rejects.toMatchObject({ isOurFault: false });
  });
});
