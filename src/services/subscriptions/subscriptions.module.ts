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
import { type OperationText, type Webhook } from '../../wire/api/description';
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

/** Of a message (`docs/notifications.md`, What arrives). */
const HEADERS = {
  'webhook-id': {
    description: 'Id of the message, the same at each attempt',
    example: 'msg_0123456789abcdef0123456789abcdef',
  },
  'webhook-timestamp': { description: 'Time of the attempt, in seconds since 1970', example: '1798000000' },
  'webhook-signature': {
    description:
      '`v1,` and the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` in base64, as Standard Webhooks describes; ' +
      'several, separated by spaces, after a rotation of the secret',
    example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
  'webhook-attempt': { description: 'Number of the attempt, from 1', example: '1' },
  'webhook-sequence': { description: 'The sequenceNumber of the message', example: '1' },
  'webhook-redelivery': {
    description: '`manual`, if somebody has asked for the message again',
    example: 'manual',
    isOptional: true,
  },
  'webhook-test': {
    description: '`true`, if it is a test with example values',
    example: 'true',
    isOptional: true,
  },
} as const satisfies Webhook['headers'];

/** The messages about a topic, as OpenAPI describes them (`docs/decisions.md#x137`). */
function webhookOf(topic: SubscriptionTopic): Webhook {
  const { message, subject, path, sample } = topic;
  const [state = 1] = sample.states;
  return {
    id: `${subject}Message`,
    summary: `A ${subject} has entered a state`,
    description:
      `The request that a receiver of a subscription (\`POST ${path}\`) gets. Its body is the receiver’s ` +
      '`receiverBody`, in which `${name}` stands for an attribute: without quotes around it for its value as JSON, null ' +
      'if there is none, and within quotes for its text. Here it has each attribute under its own name. A receiver ' +
      'with GET gets the attributes in its URL.',
    headers: HEADERS,
    message: { name: message.name ?? '', kind: message },
    example: (now) => topic.example(state, now).attributes,
    answers: {
      200: 'Any status from 200 to 299, within 15 seconds: the message is delivered.',
      410: 'The receiver is gone: it is disabled.',
      default: 'Any other status: the message is sent again later, after 429 and 503 as `Retry-After` says.',
    },
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
        webhooks: [webhookOf(topic)],
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
