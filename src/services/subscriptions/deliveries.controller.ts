import { Body, Controller, Delete, Get, Param, Post, type Type } from '@nestjs/common';
import { listDeliveries } from '../../../projections/deliveries';
import { listReceivers } from '../../../projections/receivers';
import { type ListedDelivery, STATES } from '../../domain/deliveries/stored-delivery';
import { type TopicName } from '../../domain/subscriptions/subscription';
import { stateField, type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { TOPICS } from '../../domain/topics';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { EventLog } from '../../kernel/event-log';
import { type MakeFault } from '../../kernel/fault';
import { ReadStore } from '../../kernel/read-store';
import { type PageInParts } from '../../projector/search-in-parts';
import { Clock } from '../../runtime/clock';
import { operationsById, type OperationText, shape } from '../../wire/api/description';
import { given, INTEGERS, type Keys, type KeyTable, oneOf, TEXT, TEXTS } from '../../wire/keys/keys';
import { CURSOR_KEY, ListCursors, PAGE_HEADERS, sizeKey, sizeOf } from '../../wire/keys/pages';
import { IGNORED_FIELDS } from '../../wire/keys/name-list';
import { listOf } from '../../wire/record/record';
import { SubscriptionCommands } from './commands';
import { RedeliveryCommands } from './deliveries.commands';
import {
  deliveryKeys,
  type DeliveryKeys,
  listedDelivery,
  listedReceiver,
  namedAsTransactions,
  namedFor,
  oneDelivery,
  type OperatorsDelivery,
  operatorsDelivery,
  operatorsReceiver,
  postedRedeliveries,
  redeliveries,
} from './deliveries.fields';
import { AnyWaiting, DeliveryQueries, toOperatorsDelivery } from './deliveries.queries';
import { type Which } from './subscription.queries';
import { objectIn, SUBSCRIBERS, SUBSCRIPTION_ID, Wanted } from './subscriptions.controller';

const POSTED_REDELIVERIES = {
  kind: postedRedeliveries,
  expected: 'an object with minTime and maxTime',
} as const;

const MESSAGE = {
  ...SUBSCRIPTION_ID,
  messageId: {
    type: TEXT,
    description: 'Id of the message',
    example: 'msg_0123456789abcdefghijklmnopqrstuv',
  },
} as const;

/** Operations on the messages of a subscription (`docs/decisions.md#n14`). */
export function deliveryApi(topic: SubscriptionTopic) {
  const { typeName: name, prefix } = topic;
  const list = shape(
    `${prefix}Deliveries`,
    listOf(listedDelivery(topic), { each: 'delivery' }),
    'deliveries',
  );
  const details = shape(`${prefix}DeliveryDetails`, oneDelivery(topic), 'delivery');
  return {
    receivers: {
      id: `list${name}Receivers`,
      summary: 'List the receivers of a subscription',
      description: 'With their state, and how deliveries to them go.',
      path: SUBSCRIPTION_ID,
      answer: {
        ...shape('Receivers', listOf(listedReceiver, { each: 'receiver' }), 'receivers'),
        name: 'ReceiverTotalsList',
      },
    },
    deliveries: {
      id: `list${name}Deliveries`,
      summary: 'List the messages of a subscription',
      description: 'Newest first, as long as they are kept.',
      example: { state: ['dead'], pageSize: 3, pretty: true },
      path: SUBSCRIPTION_ID,
      answer: list,
      sends: PAGE_HEADERS,
    },
    delivery: {
      id: `get${name}Delivery`,
      summary: 'Get a message',
      description: 'With the exact request and its last attempts.',
      path: MESSAGE,
      answer: details,
    },
    redeliver: {
      id: `redeliver${name}Message`,
      summary: 'Send a message again',
      description:
        'With the same id and bytes: one attempt, in addition to the schedule, at once even if the receiver rests: ' +
        'nextAttempt, absent if the receiver is disabled. If it succeeds there is no retry. Until it is attempted, further requests ask for nothing ' +
        'new; redeliveryRequested is the time of the first one.',
      path: MESSAGE,
      answer: details,
      status: 202,
    },
    redeliverAll: {
      id: `redeliver${name}DeadLetters`,
      sends: IGNORED_FIELDS,
      summary: 'Send all dead letters, or other messages, of a period again',
      description:
        'At most 10,000 at a time, oldest first, without those that are asked for already, and without those that are ' +
        'retried within a minute; the answer has how many are left, and a cursor for these. With dryRun nothing is sent.',
      path: SUBSCRIPTION_ID,
      body: { name: 'PostedRedeliveries', kind: postedRedeliveries },
      answer: shape('Redeliveries', redeliveries, 'redeliveries'),
      status: 202,
    },
    cancelAll: {
      id: `cancel${name}Redeliveries`,
      summary: 'Cancel redeliveries',
      description: 'All that were asked for and are not attempted yet. One in flight is completed.',
      path: SUBSCRIPTION_ID,
      status: 200,
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}

export function deliveriesController(topic: SubscriptionTopic): Type<object> {
  const api = deliveryApi(topic);

  @Controller(topic.path)
  @Roles(SUBSCRIBERS)
  class DeliveriesController {
    constructor(
      private readonly commands: RedeliveryCommands,
      private readonly subscriptions: SubscriptionCommands,
      private readonly queries: DeliveryQueries,
    ) {}

    @Get(':id/receivers')
    @ApiOperation(api.receivers)
    receivers(@Wanted(topic) which: Which): QueuedAnswer {
      return QueuedAnswer.of(api.receivers, () => this.queries.receivers(which));
    }

    @Get(':id/deliveries')
    @ApiOperation(api.deliveries)
    list(
      @Wanted(topic) which: Which,
      @MatrixKeys(namedFor(topic, deliveryKeys)) sent: DeliveryKeys,
    ): ListAnswer {
      const keys = namedAsTransactions(topic, sent);
      return ListAnswer.of(api.deliveries, (query) => this.queries.list(which, keys, query));
    }

    @Get(':id/deliveries/:messageId')
    @ApiOperation(api.delivery)
    one(@Wanted(topic) which: Which, @Param('messageId') messageId: string): QueuedAnswer {
      return QueuedAnswer.of(api.delivery, async () =>
        namedFor(topic, await this.queries.one(which, messageId)),
      );
    }

    @Post(':id/deliveries/:messageId/redeliver')
    @ApiOperation(api.redeliver)
    async redeliver(@Wanted(topic) which: Which, @Param('messageId') messageId: string): Promise<Answer> {
      const { delivery, position } = await this.commands.redeliver(which, messageId);
      return Answer.of(api.redeliver, namedFor(topic, delivery), { position, status: 202 });
    }

    @Post(':id/redeliveries')
    @ApiOperation(api.redeliverAll)
    async redeliverAll(@Wanted(topic) which: Which, @Body() body: PostedBody): Promise<Answer> {
      const posted = await objectIn(body, POSTED_REDELIVERIES);
      const { position, ...answer } = await this.commands.redeliverAll(which, posted);
      return Answer.of(api.redeliverAll, answer, { status: 202, position });
    }

    @Delete(':id/redeliveries')
    @ApiOperation(api.cancelAll)
    async cancelAll(@Wanted(topic) which: Which): Promise<Answer> {
      return Answer.none(await this.subscriptions.change(which, 'cancelRedeliveries'), 200);
    }
  }
  return DeliveriesController;
}

const whose = {
  organisationId: { ...INTEGERS, description: 'Organisations that are notified' },
  subscriptionId: { ...TEXTS, description: 'Ids of subscriptions' },
} as const satisfies KeyTable;

const topics = Object.values(TOPICS);

/** Ids and states by the names of each topic; the type has those of transactions only. */
const subjectKeys: KeyTable = Object.fromEntries(
  topics.flatMap(({ subject, subjectField, states }): [string, KeyTable[string]][] => [
    [subjectField, { ...deliveryKeys.transactionId, description: `Ids of ${subject}s` }],
    [stateField(states), { ...deliveryKeys.messageTypeId, description: `States of ${subject}s` }],
  ]),
);

const anyDeliveryKeys = {
  ...whose,
  ...deliveryKeys,
  ...subjectKeys,
  state: { type: oneOf(...STATES), multiple: true, description: 'States' },
} as const satisfies KeyTable;

/** Receivers on a page by default: each has a document per day. */
const RECEIVERS = 100;

const anyReceiverKeys = {
  ...whose,
  pageSize: sizeKey('Receivers on a page', `${RECEIVERS} by default`),
  cursor: CURSOR_KEY,
} as const satisfies KeyTable;

type AnyDeliveryKeys = Keys<typeof anyDeliveryKeys>;
type AnyReceiverKeys = Keys<typeof anyReceiverKeys>;

/** The messages of all subscriptions, for operators (`docs/decisions.md#n14`). */
export const anyDeliveryApi = operationsById({
  listAnyDeliveries: {
    summary: 'List the messages of all subscriptions',
    description: 'Newest first, as long as they are kept; without what is sent.',
    example: { organisationId: [1], state: ['dead'], pageSize: 3, pretty: true },
    answer: { name: 'AnyDeliveries', kind: listOf(operatorsDelivery, { each: 'delivery' }) },
    sends: PAGE_HEADERS,
  },
  listAnyReceivers: {
    summary: 'List all receivers that anything was sent to',
    description:
      'With how deliveries to them go, and how many messages are held; those that were used last come first.',
    example: { pageSize: 3, pretty: true },
    answer: { name: 'AnyReceivers', kind: listOf(operatorsReceiver, { each: 'receiver' }) },
    sends: PAGE_HEADERS,
  },
});

/** The controller of all messages, for operators (`docs/decisions.md#n14`); `unusable` is a fault of their service. */
export function anyDeliveriesController(unusable: MakeFault): Type<object> {
  const rules = { presentation: ['pageSize'], excluded: [], refuse: unusable } as const;
  const deliveryCursors = new ListCursors<AnyDeliveryKeys>(rules);
  const receiverCursors = new ListCursors<AnyReceiverKeys>(rules);

  @Controller('/ops/1.0')
  @Roles(['operator'])
  @Produces(['json'])
  class AnyDeliveriesController {
    constructor(
      private readonly log: EventLog,
      private readonly store: ReadStore,
      private readonly clock: Clock,
    ) {}

    @Get('deliveries')
    @ApiOperation(anyDeliveryApi.listAnyDeliveries)
    deliveries(@MatrixKeys(anyDeliveryKeys) keys: AnyDeliveryKeys): ListAnswer {
      return ListAnswer.of(anyDeliveryApi.listAnyDeliveries, async (query) => {
        const { organisationId, subscriptionId, receiverId, state, pageSize: requested } = keys;
        const selected = selectedIn(keys);
        const criteria = {
          organisationId: given(organisationId),
          subscriptionId: given(subscriptionId),
          receiver: given(receiverId),
          topic: topicsOf(selected),
          subject: given(selected.flatMap(({ subjects }) => subjects)),
          stateId: given(selected.flatMap(({ stateIds }) => stateIds)),
          states: given(state)?.map((one) => ({ state: one })),
          at: { min: keys.minTime, max: keys.maxTime },
        };
        const page = { size: sizeOf('pageSize', requested, unusable), after: deliveryCursors.read(keys) };
        const found = await listDeliveries(this.store, criteria, page, query);
        const nextCursor = deliveryCursors.next(keys, found);
        return { items: this.outputOf(found), total: found.total, requested, nextCursor };
      });
    }

    @Get('receivers')
    @ApiOperation(anyDeliveryApi.listAnyReceivers)
    receivers(@MatrixKeys(anyReceiverKeys) keys: AnyReceiverKeys): ListAnswer {
      return ListAnswer.of(anyDeliveryApi.listAnyReceivers, async (query) => {
        const { organisationId, subscriptionId, pageSize: requested } = keys;
        const criteria = { organisationId: given(organisationId), subscriptionId: given(subscriptionId) };
        const size = sizeOf('pageSize', requested, unusable, RECEIVERS);
        const page = { size, after: receiverCursors.read(keys) };
        const found = await listReceivers(this.store, criteria, page, query);
        const anyWaiting = new AnyWaiting(this.log, this.store);
        const output = await anyWaiting.receivers(found.receivers, this.clock.now());
        const nextCursor = receiverCursors.next(keys, found);
        return { items: [output], total: found.total, requested, nextCursor };
      });
    }

    private async *outputOf({
      groups,
    }: Pick<PageInParts<ListedDelivery>, 'groups'>): AsyncGenerator<Iterable<OperatorsDelivery>> {
      const anyWaiting = new AnyWaiting(this.log, this.store);
      for await (const batch of groups) {
        const listed = await anyWaiting.current(batch.flat());
        const waiting = await anyWaiting.of(listed, this.clock.now());
        yield listed.map((one) => toOperatorsDelivery(one, waiting));
      }
    }
  }
  return AnyDeliveriesController;
}

/** What the keys select, by topics. */
function selectedIn(keys: AnyDeliveryKeys) {
  return topics.map(({ name, subjectField, states }) => ({
    topic: name,
    subjects: keys[subjectField as 'transactionId'],
    stateIds: keys[stateField(states) as 'messageTypeId'],
  }));
}

/** Keys of one topic find no messages of another. */
function topicsOf(selected: ReturnType<typeof selectedIn>): readonly TopicName[] | undefined {
  const used = selected.filter(({ subjects, stateIds }) => subjects.length + stateIds.length > 0);
  if (used.length === 0) return undefined;
  return used.length === 1 ? used.map(({ topic }) => topic) : [];
}
