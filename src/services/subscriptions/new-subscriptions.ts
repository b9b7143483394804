import { createHash, randomInt } from 'node:crypto';
import { execute, type Executed } from '../../kernel/decider';
import { NO_STREAM, streamOf } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { loadSubscription } from '../../domain/subscriptions/loaded-subscription';
import {
  SUBSCRIPTION,
  type SubscriptionCommand,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../domain/subscriptions/subscription';

/** Subscriptions of an organisation (`docs/decisions.md#n15`). */
export const MOST_SUBSCRIPTIONS = 100;

export type CreateCommand = Extract<SubscriptionCommand, { readonly do: 'create' }>;

export type Created = Executed<SubscriptionState, SubscriptionEvent> & { readonly id: string };

/**
 * Creates subscriptions, of an organisation at most `MOST_SUBSCRIPTIONS` at a time, whatever races and whichever process is
 * killed.
 *
 * An organisation has as many slots. The subscriptions of a slot follow each other: an id is a hash of organisation, slot and
 * number, and a number is used once the subscription with the one before is deleted. Racing posts that choose one slot meet in
 * one stream, where one of them succeeds.
 */
export class NewSubscriptions {
  constructor(private readonly log: EventLog) {}

  /** Undefined if all slots are in use. */
  async create(command: CreateCommand): Promise<Created | undefined> {
    const first = randomInt(MOST_SUBSCRIPTIONS);
    for (let at = 0; at < MOST_SUBSCRIPTIONS; at += 1) {
      const id = await this.freeId(command.organisationId, (first + at) % MOST_SUBSCRIPTIONS);
      if (id === undefined) continue;
      const executed = await execute(this.log, subscriptionDecider, id, command, UNKNOWN);
      if (executed.position !== undefined) return { id, ...executed };
    }
    return undefined;
  }

  /** The next id of a slot, unless it has a subscription. */
  private async freeId(organisationId: number, slot: number): Promise<string | undefined> {
    const idOf = (number: number): string => subscriptionIdOf(organisationId, slot, number);
    const last = await this.lastUsed(idOf);
    if (last === 0) return idOf(1);
    const { state } = await loadSubscription(this.log, idOf(last));
    return state.is === 'deleted' ? idOf(last + 1) : undefined;
  }

  /** The last number that is used, 0 if none is: doubles a number until it is unused, then halves the interval. */
  private async lastUsed(idOf: (number: number) => string): Promise<number> {
    let unused = 1;
    while (await this.exists(idOf(unused))) unused *= 2;
    let used = Math.floor(unused / 2);
    while (unused - used > 1) {
      const middle = Math.floor((used + unused) / 2);
      if (await this.exists(idOf(middle))) used = middle;
      else unused = middle;
    }
    return used;
  }

  private async exists(id: string): Promise<boolean> {
    for await (const batch of this.log.readStream(streamOf(SUBSCRIPTION, id), { limit: 1 }))
      if (batch.length > 0) return true;
    return false;
  }
}

const UNKNOWN = { state: subscriptionDecider.initial, revision: NO_STREAM };

/** `slot` from 0, `number` from 1. */
function subscriptionIdOf(organisationId: number, slot: number, number: number): string {
  return createHash('sha256')
    .update(`subscription ${organisationId} ${slot} ${number}`)
    .digest('hex')
    .slice(0, 32);
}
