import { type Engines, joinEngines } from '../../engines/open';
import { type Report } from '../../runtime/failure-report';
import { type Served, type Thread } from '../../runtime/thread';
import { startOver, type Ticketed } from '../start-thread';

interface ReplayData extends Ticketed {
  /** TCP port of this machine; 0 for any free one. */
  readonly tcpPort: number;
}

interface Replay {
  /** Starts listening; the URL that clients of EventStoreDB connect to. */
  open(): Promise<string>;
}

const LOOPBACK = '127.0.0.1';

export async function run({ ticket, tcpPort }: ReplayData, report: Report): Promise<Served> {
  const { serveReplay } = await import('../../replay/serve-replay.js');
  const engines = await joinEngines(ticket);
  let close = async (): Promise<void> => undefined;
  const calls: Replay = {
    async open() {
      const server = await serveReplay(engines.log, { host: LOOPBACK, port: tcpPort, report });
      close = () => server.close();
      return server.url;
    },
  };
  return { calls, close: [() => close(), () => engines.close()] };
}

/**
 * Serves the log read-only to any client of EventStoreDB on this machine, for analysts. In a thread of its own, since
 * replaying a log is work. Needs compiled code.
 */
export function startReplay(engines: Engines, tcpPort: number, report: Report): Thread<Replay> {
  return startOver<Replay>(engines, 'replay', {
    methods: ['open'],
    data: { tcpPort },
    report,
    onRestart: ({ open }) => open(),
  });
}
