import { type EventLog } from '../../kernel/event-log';
import { type Secrets } from '../../domain/subscriptions/secrets';

/** What subscriptions need of others, provided by the process; the container's token for it. */
export abstract class SubscriptionParts {
  /** The log of deliveries, opened when it is first needed. Raises `EngineUnavailable`. */
  abstract readonly deliveries: () => Promise<EventLog>;
  /** Raises `EngineUnavailable`. */
  abstract readonly secrets: () => Secrets;
  /** How long a request for a test waits for its outcome (ms). */
  abstract readonly testWithin: number;
  /** How long messages are kept (ms). */
  abstract readonly keepMs: number;
  /**
   * What is wrong with host and port of a receiver's URL, to follow the name of the field; undefined: nothing
   * (`docs/decisions.md#n9`).
   */
  abstract readonly addressProblem: (url: URL) => string | undefined;
  /** Currencies that there are rates for; undefined as long as there are none (`docs/decisions.md#n12`). */
  abstract readonly convertible: () => ReadonlySet<string> | undefined;
}
