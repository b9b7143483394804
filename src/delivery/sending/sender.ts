import { sentUrl } from '../../domain/subscriptions/sent-url';
import { AllowedAddresses } from './allowed-addresses';
import { type Attempt, type AttemptResult } from './attempt';
import { Connections } from './connections';
import { type ConnectionOptions } from './connection';
import { Exchange, type ExchangeLimits } from './exchange';
import { type Failure, failureOf, Refused, STOPPED } from './failures';
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
   * Makes one attempt. Never rejects, and ends within 15 seconds, whatever the receiver does. When the signal aborts, it ends at
   * once: with the receiver's answer, if its status has arrived, otherwise `aborted`.
   */
  attempt(attempt: Attempt, signal?: AbortSignal): Promise<AttemptResult> {
    const { request } = attempt;
    if (this.isClosed || signal?.aborted === true) return ended(STOPPED);
    const url = sentUrl(request.url);
    if (url === undefined) return ended({ end: 'failure', error: 'it is not a URL' });
    const host = this.connections.hostOf(url);
    if (host instanceof Refused) return ended(failureOf(host));
    const { method } = request;
    const path = url.pathname + url.search;
    const body = Buffer.from(request.body ?? '');
    const headers = headersOf(attempt, path, body, Date.now());
    const options = { method, path, headers, body: method === 'POST' ? body : null };
    return new Promise((resolve) => {
      const exchange = new Exchange(host, options, this.limits, (result) => {
        this.inProgress.delete(exchange, signal);
        resolve(result);
      });
      this.inProgress.add(exchange, signal);
      exchange.start();
    });
  }

  /** Ends attempts in progress as `aborted`, and all connections. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.inProgress.stopAll();
    this.names.close();
    await this.connections.close();
  }
}

/** An attempt that has sent nothing. */
function ended(failure: Failure): Promise<AttemptResult> {
  return Promise.resolve({ ...failure, at: Date.now(), ms: 0 });
}
