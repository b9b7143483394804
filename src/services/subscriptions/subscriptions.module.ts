import { type DynamicModule, Module } from '@nestjs/common';
import { VisibleWrites } from '../../http/visible-writes';
import { BackfillMessagesHandler } from './backfill.commands';
import { backfillController } from './backfill.controller';
import {
  ChangeSubscriptionHandler,
  CreateSubscriptionHandler,
  PostedContents,
  ReplaceSubscriptionHandler,
  Subscriptions,
} from './commands';
import { RedeliverDeadLettersHandler, RedeliverMessageHandler } from './deliveries.commands';
import { deliveriesController } from './deliveries.controller';
import { DeliveryQueries } from './deliveries.queries';
import { explainController } from './explain.controller';
import { ExplainQueries } from './explain.queries';
import { type SubscriptionKind } from './kind';
import { EnableReceiverHandler, TestReceiverHandler } from './receivers.commands';
import { SubscriptionParts } from './subscription-parts';
import { SubscriptionQueries } from './subscription.queries';
import { subscriptionsController } from './subscriptions.controller';

/** Subscriptions of each kind, as part of the services that they belong to. */
@Module({})
export class SubscriptionsModule {
  static with(kinds: readonly SubscriptionKind[], parts: SubscriptionParts): DynamicModule {
    return {
      module: SubscriptionsModule,
      controllers: kinds.flatMap((kind) => [
        subscriptionsController(kind),
        deliveriesController(kind),
        explainController(kind),
        backfillController(kind),
      ]),
      providers: [
        CreateSubscriptionHandler,
        ReplaceSubscriptionHandler,
        ChangeSubscriptionHandler,
        EnableReceiverHandler,
        TestReceiverHandler,
        Subscriptions,
        PostedContents,
        SubscriptionQueries,
        RedeliverMessageHandler,
        RedeliverDeadLettersHandler,
        BackfillMessagesHandler,
        DeliveryQueries,
        ExplainQueries,
        VisibleWrites,
        { provide: SubscriptionParts, useValue: parts },
      ],
    };
  }
}
