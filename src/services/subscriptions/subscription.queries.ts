import { Injectable } from '@nestjs/common';
import { listSubscriptions } from '../../../projections/subscription-list';
import { type Caller } from '../../network/organisations';
import { EventLog } from '../../kernel/event-log';
import { type QueryOptions } from '../../kernel/query';
import { ReadStore } from '../../kernel/read-store';
import { eachOf } from '../../projector/search-in-parts';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { type OutputSubscription, type OutputSecret } from './fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { toOutput } from './output';
import { ownedSubscription } from './owned-subscription';
import { SubscriptionParts } from './subscription-parts';

/** What callers may read of their subscriptions (Document 2, Endpoints, Subscriptions). */
@Injectable()
export class SubscriptionQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
    private readonly parts: SubscriptionParts,
  ) {}

  /** The caller's, oldest first. */
  async list(
    kind: SubscriptionKind,
    { organisationId, siteId }: Caller,
    query: QueryOptions = {},
  ): Promise<AsyncIterable<Iterable<OutputSubscription>>> {
    const found = await listSubscriptions(this.store, { organisationId, siteId, topic: kind.name }, query);
    return eachOf(found, ({ subscriptionId, content }) => toOutput(kind, subscriptionId, content));
  }

  /** From its stream; raises CON_200 and CON_210, as `secret` does. */
  async one(kind: SubscriptionKind, id: string, caller: Caller): Promise<OutputSubscription> {
    const { state } = await ownedSubscription(this.log, kind, id, caller);
    return toOutput(kind, id, state.content);
  }

  async secret(kind: SubscriptionKind, id: string, caller: Caller): Promise<OutputSecret> {
    const { state } = await ownedSubscription(this.log, kind, id, caller);
    return this.secretOf(id, state);
  }

  /** `docs/decisions.md#n5`. */
  secretOf(id: string, { secret: { number, since } }: ActiveSubscription): OutputSecret {
    return { secret: this.parts.secrets().text(id, number), since };
  }
}
