import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { removeFolder, runUntilError, temporaryFolder } from '../../support/server';

const REFUSED = { EVENT_LOG: 'esdb://127.0.0.1:9?tls=false', READ_STORE: 'http://127.0.0.1:9' };
const SUBJECTS = { EVENT_LOG: 'the event log', READ_STORE: 'the read store' };
const RETRYING = /; retrying/;

/** Accepts connections and never answers. */
class SilentServer {
  private readonly sockets = new Set<Socket>();
  private constructor(private readonly server: Server) {}

  static async start(): Promise<SilentServer> {
    const silent = new SilentServer(
      createServer((socket) => silent.sockets.add(socket)).listen(0, '127.0.0.1'),
    );
    await once(silent.server, 'listening');
    return silent;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

describe('An engine that is down (decisions X96)', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => removeFolder(folder));

  it.each([
    ['parked list', 'EVENT_LOG'],
    ['parked list', 'READ_STORE'],
    ['serve --port 0', 'EVENT_LOG'],
    ['serve --port 0', 'READ_STORE'],
  ] as const)('is reported by affilog %s, with its retries: %s', async (command, setting) => {
    const environment = { DATA_DIR: folder, [setting]: REFUSED[setting] };
    expect(await runUntilError(command.split(' '), environment, RETRYING)).toContain(
      `${SUBJECTS[setting]} is not available: it cannot be reached (ECONNREFUSED); retrying`,
    );
  });

  it.each([
    ['parked list', 'EVENT_LOG'],
    ['serve --port 0', 'READ_STORE'],
  ] as const)(
    'is reported by affilog %s if it accepts connections without answering: %s',
    async (command, setting) => {
      const server = await SilentServer.start();
      const url =
        setting === 'EVENT_LOG'
          ? `esdb://127.0.0.1:${server.port}?tls=false`
          : `http://127.0.0.1:${server.port}`;
      const environment = { DATA_DIR: folder, [setting]: url };
      expect(await runUntilError(command.split(' '), environment, RETRYING)).toContain(
        `${SUBJECTS[setting]} is not available: it has not answered yet; retrying`,
      );
      server.stop();
    },
  );
});
