import { AllowedAddresses } from './allowed-addresses';
import { type Attempt, type AttemptResult } from './attempt';
import { Connections } from './connections';
import { type ConnectionOptions } from './connection';
import { Exchange, type ExchangeLimits, type ExchangeResult } from './exchange';
import { failureOf, Refused, STOPPED } from './failures';
import { headersOf } from './headers';
import { InProgress } from './in-progress';
import { Names } from './names';

const LIMITS = { connectMs: 5_000, attemptMs: 15_000, answerMs: 1_000, mostAgeMs: 5 * 60 * 1000 } as const;

export interface SenderOptions extends Partial<ExchangeLimits & ConnectionOptions> {
  /** What operators permit (`NOTIFY_ALLOW`). */
  readonly allowed?: AllowedAddresses;
}

/** Sends messages to receivers (`docs/decisions.md#n4`, N5, N9). Limits on how many at a time are the caller's. */
export class Sender {
  private readonly limits: ExchangeLimits;
  private readonly connections: Connections;
  private readonly names: Names;
  private readonly inProgress = new InProgress();
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
    this.inProgress.stopAll();
    this.names.close();
    await this.connections.close();
  }

  private exchange(attempt: Attempt, at: number, signal?: AbortSignal): Promise<ExchangeResult> {
    const { request } = attempt;
    if (this.isClosed || signal?.aborted === true) return Promise.resolve(STOPPED);
    const url = urlOf(request.url);
    if (url === undefined) return Promise.resolve({ end: 'failure', error: 'it is not a URL' });
    const host = this.connections.hostOf(url);
    if (host instanceof Refused) return Promise.resolve(failureOf(host));
    const target = url.pathname + url.search;
    const body = Buffer.from(request.body ?? '');
    const headers = headersOf(attempt, target, body, at);
    const { method } = request;
    const options = { method, path: target, headers, ...(method === 'POST' ? { body } : {}) };
    return new Promise((resolve) => {
      const exchange = new Exchange(host, options, this.limits, (result) => {
        this.inProgress.delete(exchange, signal);
        resolve(result);
      });
      this.inProgress.add(exchange, signal);
      exchange.start();
    });
  }
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
