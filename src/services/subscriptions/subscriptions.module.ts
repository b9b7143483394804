import { type DynamicModule, Module } from '@nestjs/common';
import { VisibleWrites } from '../../http/visible-writes';
import { backfillController, BackfillCommands, backfillOperations } from './backfills';
import { SubscriptionCommands, Subscriptions } from './commands';
import { RedeliveryCommands } from './deliveries.commands';
import { deliveriesController, deliveryApi } from './deliveries.controller';
import { DeliveryQueries } from './deliveries.queries';
import { explainController, explainOperations, ExplainQueries } from './explain';
import { conversionFaults as fault, conversionFaultTable } from '../../domain/subscriptions/faults';
import { type TopicName } from '../../domain/subscriptions/subscription';
import { type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { TOPICS } from '../../domain/topics';
import { defineService, type Service } from '../../http/service';
import { type OperationText } from '../../wire/api/description';
import { schemaFiles } from '../../wire/record/document';
import { subscriptionApi, subscriptionsController } from './subscriptions.controller';
import { ReceiverCommands } from './receivers.commands';
import { SubscriptionParts, SubscriptionQueries } from './subscription.queries';

type Operations = Readonly<Record<string, OperationText>>;

export function messageOperations(topic: SubscriptionTopic): Operations {
  return {
    ...subscriptionApi(topic),
    ...deliveryApi(topic),
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
        Subscriptions,
        SubscriptionCommands,
        SubscriptionQueries,
        ReceiverCommands,
        RedeliveryCommands,
        BackfillCommands,
        DeliveryQueries,
        ExplainQueries,
        VisibleWrites,
        { provide: SubscriptionParts, useValue: parts },
      ],
    };
  }
}
