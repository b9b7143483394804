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
  const targets = urls.map(targetOf);
  const secret = randomBytes(32);
  await inParallel(Array.from({ length: count }).keys(), IN_FLIGHT, async (number) => {
    const target = targets[number % targets.length];
    if (target === undefined) throw new Error('expected a URL');
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      ...signed(secret, `msg_${number}`, BODY),
    };
    await answered(target.client, { path: target.path, method: 'POST', headers, body: BODY });
  });
  await Promise.all(targets.map(({ client }) => client.close()));
}

/** Sends signed messages without a body, each when it is asked to, with nothing recorded: as `postAll`. */
export class BareSender {
  private readonly secret = randomBytes(32);
  private readonly targets: readonly { readonly client: Client; readonly path: string }[];

  constructor(urls: readonly string[]) {
    this.targets = urls.map(targetOf);
  }

  /** To one of the URLs, with a query. */
  async get(target: number, query: string): Promise<void> {
    const to = this.targets[target];
    if (to === undefined) throw new Error('expected a URL');
    const path = to.path + query;
    await answered(to.client, { path, method: 'GET', headers: signed(this.secret, `msg_${query}`, '') });
  }

  async close(): Promise<void> {
    await Promise.all(this.targets.map(({ client }) => client.close()));
  }
}

function targetOf(text: string): { readonly client: Client; readonly path: string } {
  const { origin, pathname } = new URL(text);
  return { client: new Client(origin, { keepAliveTimeout: 60_000 }), path: pathname };
}

function signed(secret: Buffer, id: string, body: string): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
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
