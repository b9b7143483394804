import { setTimeout } from 'node:timers/promises';
import { type ProposedEvent } from '../esdb-writing/proposal';
import { type Expectation, timedOut } from '../esdb-writing/refused-write';
import { Writer, type Written } from '../esdb-writing/writer';

/** Time (ms) that an append remains in flight after it was made, until the server has indexed it. */
const FLIGHT = 10;

/** Time (ms) after which EventStoreDB gives up an append. */
const TIMEOUT = 2_000;

/**
 * A slow writer: a repeated append is dropped while the first one is in flight, so its client only learns that it timed
 * out.
 */
export class InFlightWriter extends Writer {
  readonly #inFlight = new Set<string>();

  override async append(
    stream: string,
    expected: Expectation,
    events: readonly ProposedEvent[],
  ): Promise<Written> {
    const [first] = events;
    if (first === undefined) return await super.append(stream, expected, events);
    const key = `${first.id} ${stream}`;
    if (this.#inFlight.has(key)) {
      await setTimeout(TIMEOUT);
      throw timedOut();
    }
    this.#inFlight.add(key);
    try {
      const written = await super.append(stream, expected, events);
      await setTimeout(FLIGHT);
      return written;
    } finally {
      this.#inFlight.delete(key);
    }
  }
}
