import { setTimeout as pause } from 'node:timers/promises';
import { type EsdbServer, startEsdbServer } from '../../support/esdb-server';
import { Receivers } from '../../support/receivers';
import { folderWithNetwork, NETWORK, removeFolder, Server, temporaryFolder } from '../../support/server';

const TOKEN = 'd'.repeat(40);
const KEY = 'k'.repeat(32);
const WITH_CONVERSIONS = {
  ...NETWORK,
  tokens: [{ token: TOKEN, organisationId: 11, system: 'CONVERSIONS' }],
};

interface Subscribed {
  readonly subscriptionId: string;
  readonly receivers: readonly { readonly receiverId: string }[];
}

describe('Several servers over one log (docs/operations.md, Several processes; decisions N3, N5)', () => {
  let esdb: EsdbServer;
  let receivers: Receivers;
  const folders: string[] = [];
  const servers: Server[] = [];

  beforeAll(async () => {
    esdb = await startEsdbServer();
    receivers = new Receivers(() => 200);
    await receivers.listen();
    folders.push(await folderWithNetwork({ EVENT_LOG: esdb.url }, WITH_CONVERSIONS));
  });
  afterAll(async () => {
    for (const server of servers) await server.end('SIGKILL');
    await receivers.close();
    await esdb.stop();
    for (const folder of folders) await removeFolder(folder);
  });

  /** With a data folder of its own. */
  async function start(settings: Readonly<Record<string, string>>): Promise<Server> {
    const folder = await temporaryFolder();
    folders.push(folder);
    const allowed = { NOTIFY_ALLOW: `127.0.0.0/8:${receivers.port}` };
    const server = await Server.start(folder, {
      environment: { EVENT_LOG: esdb.url, ...allowed, ...settings },
    });
    servers.push(server);
    return server;
  }

  async function post<Answer>({ url }: Server, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${url}/1.0/conversions/subscriptions${path}?token=${TOKEN}`, {
      method: 'POST',
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    return (await answer.json()) as Answer;
  }

  async function healthOf({ url }: Server): Promise<{ readonly status: string; readonly notifier?: string }> {
    return (await (await fetch(`${url}/health/ready`)).json()) as never;
  }

  it('one without the NOTIFY_KEY of the others says so and takes no part: another one takes everything over when one is killed', async () => {
    const first = await start({ NOTIFY_KEY: KEY });
    const without = await start({});
    const second = await start({ NOTIFY_KEY: KEY });
    while ((await healthOf(without)).notifier === undefined) await pause(50);
    expect(await healthOf(without)).toMatchObject({
      status: 'degraded',
      notifier: expect.stringMatching(/^NOTIFY_KEY is not the one that the secrets/) as string,
    });
    expect(without.stderr).toMatch(/no notifications are sent: NOTIFY_KEY is not the one/);
    for (const server of [first, second]) expect((await healthOf(server)).notifier).toBeUndefined();

    // So many that each server sends to some.
    const subscribed = await post<Subscribed>(first, '', {
      filter: { messageTypeIds: [4] },
      receivers: Array.from({ length: 10 }, (_, number) => ({
        ...{ httpMethod: 'POST', receiverUrl: receivers.url(number) },
        ...{ receiverFormat: 'JSON', receiverBody: '{}' },
      })),
    });
    const test = async (server: Server): Promise<void> => {
      for (const { receiverId } of subscribed.receivers) {
        const path = `/${subscribed.subscriptionId}/receivers/${receiverId}/test`;
        while ((await post<{ readonly state: string }>(server, path)).state !== 'delivered');
      }
    };
    await test(without);
    await first.end('SIGKILL');
    await test(second);
  });
});
