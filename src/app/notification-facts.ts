import { type RecordedEvent } from '../kernel/event';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { FollowedLog } from '../runtime/followed-log';
import { hasRates, RATES_STREAM, type RatesEvent } from '../delivery/matching/rates';
import { type DeliveriesOwned, isOwner, OWNER_STREAM } from '../domain/deliveries/ownership';
import { type Secrets } from '../domain/subscriptions/secrets';

/**
 * What the API answers about notifications from the log: rates, and whose deliveries it has. Follows the log until `signal`
 * aborts.
 */
export class NotificationFacts extends FollowedLog {
  private rates: RatesEvent['data'] | undefined;
  private owner: DeliveriesOwned['data'] | undefined;

  constructor(
    log: EventLog,
    private readonly own: Secrets,
    signal: AbortSignal,
  ) {
    const prefixes = [RATES_STREAM, OWNER_STREAM];
    super(log, { prefixes, apply: (event) => this.apply(event), subject: 'what is known of rates' }, signal);
  }

  /** Currencies that there are rates for; undefined as long as there are none. */
  convertible(): ReadonlySet<string> | undefined {
    return this.rates && new Set(['EUR', ...Object.keys(this.rates.rates)]);
  }

  /**
   * The secrets that messages are signed with. Raises `EngineUnavailable` if this server has another key than those that sign.
   */
  get secrets(): Secrets {
    const trouble = this.trouble();
    if (trouble !== undefined) throw new EngineUnavailable(trouble);
    return this.own;
  }

  /** Why the secrets of subscriptions cannot be answered; undefined if they can. */
  trouble(): string | undefined {
    if (this.owner === undefined || this.owner.key === this.own.fingerprint) return undefined;
    return 'secrets are not available: NOTIFY_KEY of this server is not the one that messages are signed with';
  }

  private apply({ type, data }: RecordedEvent): void {
    if (type === 'ExchangeRatesPublished') {
      const published = { data: JSON.parse(data) as RatesEvent['data'] };
      if (hasRates(published)) this.rates = published.data;
    }
    if (type === 'DeliveriesOwned') {
      const owner = JSON.parse(data) as DeliveriesOwned['data'];
      if (isOwner(owner)) this.owner = owner;
    }
  }
}
