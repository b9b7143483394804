import { AllowedAddresses } from './allowed-addresses';
import { type Attempt, type AttemptResult } from './attempt';
import { Connections } from './connections';
import { type ConnectorOptions } from './connector';
import { Exchange, type ExchangeLimits, type ExchangeResult } from './exchange';
import { STOPPED } from './failures';
import { headersOf } from './headers';
import { Names } from './names';

const LIMITS = { connectMs: 5_000, attemptMs: 15_000, answerMs: 1_000 } as const;

export interface SenderOptions extends Partial<ExchangeLimits & ConnectorOptions> {
  /** What operators permit (`NOTIFY_ALLOW`). */
  readonly allowed?: AllowedAddresses;
}

/** Sends messages to receivers (`docs/decisions.md#n4`, N5, N9). Limits on how many at a time are the caller's. */
export class Sender {
  private readonly limits: ExchangeLimits;
  private readonly connections: Connections;
  private readonly names: Names;
  private readonly inProgress = new Set<Exchange>();
  private isClosed = false;

  constructor(options: SenderOptions = {}) {
    const { allowed = AllowedAddresses.none, ...others } = options;
    // Names that DNS does not know have addresses that only operators can permit.
    this.names = new Names(!allowed.isEmpty);
    const resolve = (name: string): Promise<readonly string[]> => this.names.addressesOf(name);
    this.limits = { ...LIMITS, ...others };
    this.connections = new Connections({ ...LIMITS, resolve, ...others, allowed });
  }

  /**
   * Makes one attempt. Never rejects, and ends within 15 seconds, whatever the receiver does. When the signal aborts, it ends at once:
   * with the receiver's answer, if its status has arrived, otherwise `aborted`.
   */
  async attempt(attempt: Attempt, signal?: AbortSignal): Promise<AttemptResult> {
    const [at, start] = [Date.now(), performance.now()];
    const result = await this.exchange(attempt, at, signal);
    return { ...result, at, ms: Math.round(performance.now() - start) };
  }

  /** Ends attempts in progress as `aborted`, and all connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    for (const exchange of this.inProgress) exchange.cut(STOPPED);
    this.names.close();
    await this.connections.close();
  }

  private exchange(attempt: Attempt, at: number, signal?: AbortSignal): Promise<ExchangeResult> {
    const { request } = attempt;
    if (this.isClosed || signal?.aborted === true) return Promise.resolve(STOPPED);
    return new Promise((resolve) => {
      const url = URL.canParse(request.url) ? new URL(request.url) : undefined;
      if (url === undefined) {
        resolve({ end: 'failure', error: 'it is not a URL' });
        return;
      }
      const path = url.pathname + url.search;
      const body = Buffer.from(request.body ?? '');
      const headers = headersOf(attempt, path, body, at);
      const options = {
        method: request.method,
        path,
        headers,
        ...(request.method === 'POST' ? { body } : {}),
      };
      const exchange = new Exchange(
        this.limits,
        (handler) => this.connections.to(url).dispatch(options, handler),
        (result) => {
          this.inProgress.delete(exchange);
          signal?.removeEventListener('abort', stop);
          resolve(result);
        },
      );
      const stop = (): void => exchange.cut(STOPPED);
      this.inProgress.add(exchange);
      signal?.addEventListener('abort', stop, { once: true });
      exchange.start();
    });
  }
}
