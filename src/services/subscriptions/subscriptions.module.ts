import { type DynamicModule, Module } from '@nestjs/common';
import { VisibleWrites } from '../../http/visible-writes';
import { backfillController, BackfillMessagesHandler, backfillOperations } from './backfills';
import {
  ChangeSubscriptionHandler,
  CreateSubscriptionHandler,
  PostedContents,
  ReplaceSubscriptionHandler,
  Subscriptions,
} from './commands';
import { RedeliverDeadLettersHandler, RedeliverMessageHandler } from './deliveries.commands';
import { deliveriesController, deliveryOperations } from './deliveries.controller';
import { DeliveryQueries } from './deliveries.queries';
import { explainController, explainOperations, ExplainQueries } from './explain';
import { conversionFaults as fault, conversionFaultTable } from '../../domain/subscriptions/faults';
import { type TopicName } from '../../domain/subscriptions/subscription';
import { type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { TOPICS } from '../../domain/topics';
import { defineService, type Service } from '../../http/service';
import { type OperationText } from '../../wire/api/description';
import { schemaFiles } from '../../wire/record/document';
import { subscriptionOperations, subscriptionsController } from './subscriptions.controller';
import { EnableReceiverHandler, TestReceiverHandler } from './receivers.commands';
import { SubscriptionParts, SubscriptionQueries } from './subscription.queries';

type Operations = Readonly<Record<string, OperationText>>;

export function messageOperations(topic: SubscriptionTopic): Operations {
  return {
    ...subscriptionOperations(topic),
    ...deliveryOperations(topic),
    ...explainOperations(topic),
    ...backfillOperations(topic),
  };
}

/** The service of each topic; JSON may omit the charset (`docs/decisions.md#a10`). `others`: further operations. */
export function subscriptionServices(
  others: Partial<Readonly<Record<TopicName, Operations>>>,
): readonly Service[] {
  return Object.values(TOPICS).map((topic) => {
    const { system, module, title, description, errorSchema } = topic.service;
    const operations = { ...others[topic.name], ...messageOperations(topic) };
    return defineService({
      system,
      modules: [module],
      description: {
        ...{ title, description, errorSchema },
        faults: conversionFaultTable,
        schemas: () => schemaFiles(operations),
      },
      faults: {
        unusable: fault.content,
        notAdmitted: fault.userType,
        unexpected: fault.unexpected,
        methodNotAllowed: fault.methodNotSupported,
        body: { type: fault.contentType, charset: fault.contentType },
      },
    });
  });
}

/** Subscriptions to each topic, as part of the services that they belong to. */
@Module({})
export class SubscriptionsModule {
  static with(parts: SubscriptionParts): DynamicModule {
    return {
      module: SubscriptionsModule,
      controllers: Object.values(TOPICS).flatMap((topic) => [
        subscriptionsController(topic),
        deliveriesController(topic),
        explainController(topic),
        backfillController(topic),
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
