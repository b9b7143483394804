import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { signalAt } from '../../support/killed';
import { folderWithNetwork, removeFolder, Server } from '../../support/server';
import { smallNetwork, tokenNamed } from '../../support/small-network';

const DAY = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY) * DAY;
const TOKEN = tokenNamed('fjord vouchers');
const NUMBERS = Array.from({ length: 400 }, (_, number) => number);
const ANSWERED = 20;

const small = smallNetwork();
const tokens = [...small.tokens, { organisationId: 3, system: 'VOUCHERS', token: TOKEN }];

/** Posts a voucher without a `sourceId`. */
async function post({ url }: Server, number: number): Promise<Response> {
  return fetch(`${url}/1.0/vouchers?token=${TOKEN}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', 'idempotency-key': `killed-${number}` },
    body: JSON.stringify({
      programId: 31,
      voucherTypeId: 3,
      title: `Offer ${number}`,
      shortDescription: 'Less to pay',
      description: 'For what is in the basket',
      startDate: TODAY,
      endDate: TODAY + 30 * DAY,
      landingUrl: 'https://fjord.example/offers',
    }),
  });
}

/** Answers 409 so far. */
let inProgress = 0;

/** Posts it until it is executed, as clients do: the first process may have died executing it. */
async function repeated(server: Server, number: number): Promise<unknown> {
  for (;;) {
    const answer = await post(server, number);
    const body = await answer.text();
    if (answer.status === 200) return JSON.parse(body) as unknown;
    if (answer.status !== 409) throw new Error(`${answer.status}: ${body}`);
    inProgress += 1;
    await pause(Number(answer.headers.get('retry-after')) * 1000);
  }
}

test('vouchers that are posted again with their keys after a kill exist once (decisions A22)', async () => {
  const folder = await folderWithNetwork({}, { ...small, tokens });
  // Killed when some of the later ones are stored, and not answered yet.
  const later = join(folder, 'later');
  const environment = signalAt('committed VoucherPublished', { nth: 2, once: later });
  let server = await Server.start(folder, { environment });
  try {
    const answered = new Map<number, unknown>();
    const send = async (number: number): Promise<void> => {
      const answer = await post(server, number);
      answered.set(number, await answer.json());
    };
    await Promise.all(NUMBERS.slice(0, ANSWERED).map(send));
    await writeFile(later, '');
    await Promise.allSettled(NUMBERS.slice(ANSWERED).map(send));
    await server.end('SIGKILL');
    expect(answered.size).toBeGreaterThanOrEqual(ANSWERED);

    server = await Server.start(folder);
    const ids = await Promise.all(NUMBERS.map((number) => repeated(server, number)));
    // The killed process was executing some.
    expect(inProgress).toBeGreaterThan(0);
    for (const [number, body] of answered) expect(ids[number]).toEqual(body);
    const listed = await fetch(`${server.url}/1.0/vouchers?token=${TOKEN}`);
    const titles = ((await listed.json()) as readonly { readonly title: string }[]).map(({ title }) => title);
    expect(titles.toSorted()).toEqual(NUMBERS.map((number) => `Offer ${number}`).toSorted());
  } finally {
    await server.end('SIGKILL');
    await removeFolder(folder);
  }
});
