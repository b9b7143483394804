import { setTimeout } from 'node:timers/promises';
import { type ProposedEvent } from '../../../src/engines/esdb-endpoint/stored-event';
import { type Expectation, timedOut } from '../esdb-writing/refused-write';
import { Writer, type Written } from '../esdb-writing/writer';

/** How long an append stays in flight after it was made (ms): until the server has indexed it. */
const FLIGHT = 10;

/** After how long EventStoreDB gives up an append (ms). */
const TIMEOUT = 2_000;

/**
 * A writer that takes its time: an append that repeats one in flight is dropped, so that its client learns nothing
 * but that it timed out.
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
