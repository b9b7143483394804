import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { openLog } from '../../src/engines/embedded/log/open-log';
import { releaseClosedFiles } from '../../src/engines/embedded/connection';
import { NO_STREAM } from '../../src/kernel/event';
import { TRANSACTION } from '../../src/domain/transactions/transaction';
import { report } from './attack-run';
import { whileHealthChecked, type ReadSummary, readToEnd } from './heavy-reads';
import { NETWORK, type Server } from './server';
import { sale } from './transactions';

/** Operators, each with a token for conversions: they see all transactions. */
const OPERATORS = [91, 92, 93, 94, 95, 96].map((id) => ({ id, token: String(id).repeat(20) }));
/** The advertiser: a reader that is not slow. */
const OTHER = '9'.repeat(40);

export const HISTORY_NETWORK = {
  ...NETWORK,
  organisations: [
    ...NETWORK.organisations,
    ...OPERATORS.map(({ id }) => ({ id, kind: 'operator', name: `Operator ${id}` })),
  ],
  tokens: [
    ...NETWORK.tokens,
    { token: OTHER, organisationId: 1, system: 'CONVERSIONS' },
    ...OPERATORS.map(({ id, token }) => ({ token, organisationId: id, system: 'CONVERSIONS' })),
  ],
};

const ID = 'f'.repeat(32);
const PATH = `/1.0/conversions/transactions/${ID}/transitions`;

/** Writes a transaction with amendments of some bytes into the log of a folder: by requests it would take minutes. */
export async function writeHistory(folder: string, amendments: number, bytes: number): Promise<void> {
  const { log } = await openLog(join(folder, 'log.sqlite'), false);
  const transaction = sale({
    advertiserId: 1,
    programId: 101,
    siteId: 1101,
    publisherId: 11,
    currencyId: 'EUR',
  });
  const event = (type: string, more: object) => {
    const data = JSON.stringify({ at: '2026-01-05T08:00:00.000Z', transaction, ...more });
    return { id: randomUUID(), type, data, meta: '{}' };
  };
  const stream = `${TRANSACTION}-${ID}`;
  const first = [
    event('TransactionTracked', {}),
    event('TransactionBecamePending', { autoApproveDate: '2036-01-05T08:00:00.000Z' }),
  ];
  let { revision } = await log.append(stream, NO_STREAM, first);
  const amended = { transaction: { ...transaction, reportInfo: 'x'.repeat(bytes) } };
  const atOnce = Math.floor(900_000 / bytes);
  for (let left = amendments; left > 0; left -= atOnce) {
    const events = Array.from({ length: Math.min(atOnce, left) }, () => event('TransactionAmended', amended));
    ({ revision } = await log.append(stream, revision, events));
  }
  await log.close();
  releaseClosedFiles();
}

/** Begins to read the history over a connection of its own, and reads no more than its first bytes. */
async function slowReader(server: Server, token: string): Promise<Socket> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${PATH}?token=${token} HTTP/1.1\r\nHost: x\r\n\r\n`);
  socket.once('data', () => socket.pause());
  return socket;
}

/** Slow readers of one history, and what others get meanwhile: another reads all of it, in JSON and in XML. */
export async function readHistories(
  server: Server,
  readers: number,
): Promise<{ readonly live: number; readonly ready: number; readonly answers: readonly ReadSummary[] }> {
  const { result, live, ready } = await whileHealthChecked(server, async () => {
    const slow = await Promise.all(
      Array.from({ length: readers }, (_, at) =>
        slowReader(server, OPERATORS[at % OPERATORS.length]?.token ?? ''),
      ),
    );
    const answers = [
      await readToEnd(server, `${PATH}?token=${OTHER}`, '"sequenceNumber"'),
      await readToEnd(
        server,
        `${PATH.replace('/transitions', '/transitions.xml')}?token=${OTHER}`,
        '<sequenceNumber>',
      ),
    ];
    for (const socket of slow) socket.destroy();
    return answers;
  });
  report(
    `${readers} slow readers of a history: another read ${result.map(({ count, ms }) => `${count} states in ${ms} ms`).join(', ')}; ` +
      `live in ${live} ms, ready in ${ready} ms at most`,
  );
  return { live, ready, answers: result };
}
