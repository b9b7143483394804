import { Controller, Get, type Type } from '@nestjs/common';
import { listDeliveries } from '../../../projections/deliveries';
import { listReceivers } from '../../../projections/receivers';
import { type ListedDelivery, STATES } from '../../domain/deliveries/stored-delivery';
import { type TopicName } from '../../domain/subscriptions/subscription';
import { stateField } from '../../domain/subscriptions/topic';
import { TOPICS } from '../../domain/topics';
import { Clock } from '../../runtime/clock';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/answer';
import { EventLog } from '../../kernel/event-log';
import { type MakeFault } from '../../kernel/fault';
import { ReadStore } from '../../kernel/read-store';
import { type PageInParts } from '../../projector/search-in-parts';
import { type OperationText, type Shape } from '../../wire/api/description';
import { given, INTEGER, type Keys, type KeyTable, oneOf, TEXT } from '../../wire/keys/keys';
import { CURSOR_KEY, ListCursors, PAGE_HEADERS, sizeKey, sizeOf } from '../../wire/keys/pages';
import { listOf } from '../../wire/record/record';
import {
  deliveryKeys,
  namedFor,
  type OperatorsDelivery,
  operatorsDelivery,
  operatorsReceiver,
} from './deliveries.fields';
import { AnyWaiting, toDelivery, toRest, toTotals, type WaitingReceivers } from './deliveries.queries';

const ANY_DELIVERIES = {
  name: 'AnyDeliveries',
  kind: listOf(operatorsDelivery, { each: 'delivery' }),
} as const satisfies Shape;

const ANY_RECEIVERS = {
  name: 'AnyReceivers',
  kind: listOf(operatorsReceiver, { each: 'receiver' }),
} as const satisfies Shape;

const whose = {
  organisationId: { type: INTEGER, multiple: true, description: 'Organisations that are notified' },
  subscriptionId: { type: TEXT, multiple: true, description: 'Ids of subscriptions' },
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
export const anyDeliveryOperations = {
  deliveries: {
    id: 'listAnyDeliveries',
    summary: 'List the messages of all subscriptions',
    description: 'Newest first, as long as they are kept; without what is sent.',
    example: { organisationId: [1], state: ['dead'], pageSize: 3, pretty: true },
    answer: ANY_DELIVERIES,
    sends: PAGE_HEADERS,
  },
  receivers: {
    id: 'listAnyReceivers',
    summary: 'List all receivers that anything was sent to',
    description: 'With how deliveries to them go; those that were used last come first.',
    example: { pageSize: 3, pretty: true },
    answer: ANY_RECEIVERS,
    sends: PAGE_HEADERS,
  },
} as const satisfies Readonly<Record<string, OperationText>>;

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
    @ApiOperation(anyDeliveryOperations.deliveries)
    deliveries(@MatrixKeys(anyDeliveryKeys) keys: AnyDeliveryKeys): ListAnswer {
      return ListAnswer.of(ANY_DELIVERIES, async (query) => {
        const { organisationId, subscriptionId, receiverId, state, pageSize: requested } = keys;
        const selected = topics.map((topic) => selectedOf(topic, keys));
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
    @ApiOperation(anyDeliveryOperations.receivers)
    receivers(@MatrixKeys(anyReceiverKeys) keys: AnyReceiverKeys): ListAnswer {
      return ListAnswer.of(ANY_RECEIVERS, async (query) => {
        const { organisationId, subscriptionId, pageSize: requested } = keys;
        const criteria = { organisationId: given(organisationId), subscriptionId: given(subscriptionId) };
        const size = sizeOf('pageSize', requested, unusable, RECEIVERS);
        const page = { size, after: receiverCursors.read(keys) };
        const found = await listReceivers(this.store, criteria, page, query);
        const waiting = await new AnyWaiting(this.log, this.store).of(found.receivers, this.clock.now());
        const output = found.receivers.map(({ receiver, ...totals }) => ({
          organisationId: totals.organisationId,
          subscriptionId: totals.subscriptionId,
          receiverId: receiver,
          disabled: waiting.isHeld(receiver),
          ...toRest(waiting.restingUntil.get(receiver)),
          ...toTotals(totals),
        }));
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
        yield listed.map((one) => toOutput(one, waiting));
      }
    }
  }
  return AnyDeliveriesController;
}

/** The fields of a delivery have the names of its topic. */
function toOutput(listed: ListedDelivery, waiting: WaitingReceivers): OperatorsDelivery {
  const { state, ...output } = toDelivery(listed, waiting);
  return {
    organisationId: listed.organisationId,
    subscriptionId: listed.subscriptionId,
    ...namedFor(TOPICS[listed.topic], output),
    state: listed.state,
    held: state === 'held',
  };
}

interface SelectedByTopic {
  readonly topic: TopicName;
  readonly subjects: readonly string[];
  readonly stateIds: readonly number[];
}

function selectedOf(
  { name, subjectField, states }: (typeof topics)[number],
  keys: AnyDeliveryKeys,
): SelectedByTopic {
  return {
    topic: name,
    subjects: keys[subjectField as 'transactionId'],
    stateIds: keys[stateField(states) as 'messageTypeId'],
  };
}

/** Keys of one topic find no messages of another. */
function topicsOf(selected: readonly SelectedByTopic[]): readonly TopicName[] | undefined {
  const used = selected.filter(({ subjects, stateIds }) => subjects.length + stateIds.length > 0);
  if (used.length === 0) return undefined;
  return used.length === 1 ? used.map(({ topic }) => topic) : [];
}
