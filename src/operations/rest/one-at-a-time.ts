import { httpFaults, notResponding } from '../../wire/api/errors';

/** Requests that read much: one at a time in a process, until its client has left or the server stops. */
export class OneAtATime {
  private readonly stop = new AbortController();
  private isUnderWay = false;

  /** Raises 503 while another one is under way. */
  async run<T>(gone: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.isUnderWay) throw httpFaults.overloaded(undefined, { retryAfter: 1 });
    this.isUnderWay = true;
    try {
      return await work(AbortSignal.any([this.stop.signal, ...(gone === undefined ? [] : [gone])]));
    } finally {
      this.isUnderWay = false;
    }
  }

  /** A stop does not wait for it. */
  end(): void {
    this.stop.abort(notResponding());
  }
}
