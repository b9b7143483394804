import { createHmac, randomBytes } from 'node:crypto';
import { Client, type Dispatcher } from 'undici';
import { inParallel } from '../../src/runtime/concurrency';

const IN_FLIGHT = 256;
const BODY = JSON.stringify({ more: 'x'.repeat(590) });

/**
 * Posts so many signed messages of 600 bytes to these URLs in turn, 256 at a time, with nothing recorded: by the
 * fastest interface of undici, one client for each host.
 */
export async function postAll(urls: readonly string[], count: number): Promise<void> {
  const targets = urls.map((text) => {
    const { origin, pathname } = new URL(text);
    return { client: new Client(origin, { keepAliveTimeout: 60_000 }), path: pathname };
  });
  const secret = randomBytes(32);
  await inParallel(Array.from({ length: count }).keys(), IN_FLIGHT, async (number) => {
    const target = targets[number % targets.length];
    if (target === undefined) throw new Error('expected a URL');
    const id = `msg_${number}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${BODY}`).digest('base64');
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    await answered(target.client, { path: target.path, method: 'POST', headers, body: BODY });
  });
  await Promise.all(targets.map(({ client }) => client.close()));
}

async function answered(client: Client, request: Dispatcher.DispatchOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    client.dispatch(request, {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => resolve(),
      onResponseError: (_, error) => reject(error),
    });
  });
}
