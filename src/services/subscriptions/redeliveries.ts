import { appendIdempotently, toDomainEvent, toNewEvent } from '../../kernel/decider';
import { type Position, streamOf } from '../../kernel/event';
import { without } from '../../kernel/without';
import { type EventLog, RevisionConflict } from '../../kernel/event-log';
import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import {
  SUBSCRIPTION,
  type SubscriptionCommand,
  subscriptionDecider,
  type SubscriptionEvent,
} from '../../domain/subscriptions/subscription';
import { type Subscriptions, type Which } from './commands';
import { type OwnedSubscription } from './owned-subscription';

/** When each message was last asked for, by ids. */
type LastRequests = ReadonlyMap<string, string>;

/** A subscription, with the redeliveries that were asked for up to the same revision. */
export interface Asked {
  readonly which: Which;
  readonly known: OwnedSubscription;
  readonly requests: LastRequests;
  /** Epoch ms; no message of interest is older. */
  readonly since: number;
}

export interface Requested {
  readonly asked: Asked;
  /** Absent if all messages were asked for already. */
  readonly position?: Position;
  readonly count: number;
}

/** By how much the clocks of those who append may differ (ms), with room to spare. */
const CLOCKS_MS = 60 * 60 * 1000;

/**
 * Asks for redeliveries: for each message once, until it is attempted (`docs/decisions.md#n17`). What was asked for is read from
 * the stream of the subscription, and appended at the revision that was read. So read models may be behind, and requests may
 * race.
 */
export class Redeliveries {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly log: EventLog,
  ) {}

  /** `since`: epoch ms; `known`: the subscription, if it was loaded. Raises CON_200 and CON_210. */
  async read(which: Which, since: number, known?: OwnedSubscription): Promise<Asked> {
    const loaded = known ?? (await this.subscriptions.owned(which));
    return {
      which,
      known: loaded,
      since,
      requests: await this.lastRequests(which.id, loaded.revision, since),
    };
  }

  /** Asks for messages, as many as an append has room for, without those that are asked for already. */
  async request(asked: Asked, messages: readonly ListedDelivery[], at: string): Promise<Requested> {
    for (let current = asked; ; current = await this.read(asked.which, asked.since)) {
      const { which, known, requests } = current;
      const wanted = messages.filter((listed) => pendingSince(listed, current) === undefined);
      if (wanted.length === 0) return { asked: current, count: 0 };
      const events = wanted
        .flatMap((listed) => subscriptionDecider.decide(redeliveryOf(listed, at), known.state))
        .map((event) => toNewEvent(event));
      try {
        const stream = streamOf(SUBSCRIPTION, which.id);
        const { revision, position } = await appendIdempotently(this.log, stream, known.revision, events);
        const own = wanted.map(({ messageId }) => [messageId, at] as const);
        return {
          asked: { ...current, known: { ...known, revision }, requests: new Map([...requests, ...own]) },
          count: wanted.length,
          position,
        };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }

  /** Reads back to `since`: no message is asked for before what it is about has happened. */
  private async lastRequests(id: string, revision: number, since: number): Promise<LastRequests> {
    const requests = new Map<string, string>();
    const options = { backwards: true, from: revision };
    for await (const batch of this.log.readStream(streamOf(SUBSCRIPTION, id), options)) {
      for (const recorded of batch) {
        const { type, data } = toDomainEvent(recorded) as SubscriptionEvent;
        if (Date.parse(data.at) < since - CLOCKS_MS || type === 'RedeliveriesCancelled') return requests;
        if (type === 'RedeliveryRequested' && !requests.has(data.message))
          requests.set(data.message, data.at);
      }
    }
    return requests;
  }
}

/** The delivery as it is since redeliveries were last cancelled, if they were. */
export function withoutCancelled<Listed extends ListedDelivery>(
  listed: Listed,
  { redeliveriesCancelled }: { readonly redeliveriesCancelled?: string | undefined },
): Listed {
  const { redelivery } = listed;
  const isCancelled =
    redelivery !== undefined && redeliveriesCancelled !== undefined && redelivery <= redeliveriesCancelled;
  return isCancelled ? (without(listed as ListedDelivery, 'redelivery') as Listed) : listed;
}

/** Since when a message is to be sent once more; undefined if nobody has asked for it, or it was attempted since. */
export function pendingSince(
  listed: ListedDelivery,
  { known, requests }: Pick<Asked, 'known' | 'requests'>,
): string | undefined {
  const { messageId, redelivery, redelivered } = withoutCancelled(listed, known.state);
  const last = requests.get(messageId);
  return last !== undefined && last !== redelivered ? last : redelivery;
}

type Redelivery = Extract<SubscriptionCommand, { readonly do: 'redeliver' }>;

function redeliveryOf({ receiver, messageId, matched }: ListedDelivery, at: string): Redelivery {
  return { do: 'redeliver', at, receiver, message: messageId, revision: matched };
}
