import { createHmac, randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import { inParallel } from '../../src/kernel/in-parallel';

const IN_FLIGHT = 256;
const BODY = JSON.stringify({ more: 'x'.repeat(590) });

/** Posts so many signed messages of 600 bytes to these URLs in turn, 256 at a time, with nothing recorded. */
export async function postAll(urls: readonly string[], count: number): Promise<void> {
  const dispatcher = new Agent({ connections: 4, keepAliveTimeout: 60_000 });
  const secret = randomBytes(32);
  await inParallel(Array.from({ length: count }).keys(), IN_FLIGHT, async (number) => {
    const id = `msg_${number}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${BODY}`).digest('base64');
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    const url = urls[number % urls.length] ?? '';
    const answer = await request(url, { method: 'POST', headers, body: BODY, dispatcher });
    await answer.body.dump();
  });
  await dispatcher.close();
}
