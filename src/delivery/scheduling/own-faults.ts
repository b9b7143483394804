import { RepeatedFailures } from '../../runtime/repeated-failures';
import { type AttemptResult, NO_NETWORK, UNREACHABLE } from '../sending/attempt';

/** While another receiver was reached within this time (ms), the network is there. */
const NETWORK_MS = 60_000;

/**
 * Faults of this process or its machine, which count as no attempt: they are reported, once a minute each, and are trouble until
 * an attempt reaches its receiver.
 */
export class OwnFaults {
  private readonly repeated = new RepeatedFailures();
  private last: string | undefined;
  private reachedAt = -Infinity;

  constructor(
    private readonly report: (message: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Why nothing is sent; undefined if the last attempt has reached its receiver. */
  get trouble(): string | undefined {
    return this.last;
  }

  /** What the end of an attempt counts as. `isStopped`: this process has given it up. */
  classify(result: AttemptResult, isStopped: boolean): AttemptResult {
    const { end, error, status } = result;
    if (end !== 'aborted') {
      this.last = undefined;
      if (status !== undefined) this.reachedAt = this.now();
      return result;
    }
    if (isStopped || error === undefined) return result;
    // Where others are reached, a network that is not is the receiver's.
    if (error === NO_NETWORK.error && this.now() - this.reachedAt < NETWORK_MS)
      return { ...result, ...UNREACHABLE };
    this.last = error;
    if (this.repeated.count(error) !== undefined) this.report(`a message is sent later: ${error}`);
    return result;
  }
}
