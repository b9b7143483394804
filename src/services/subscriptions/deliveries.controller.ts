import { Body, Controller, Delete, Get, Param, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { type Caller } from '../../network/organisations';
import { type OperationText, type Shape } from '../../wire/api/description';
import { Refusals } from '../../wire/api/posted';
import { PAGE_HEADERS, pageHeaders } from '../../wire/keys/pages';
import { TEXT } from '../../wire/keys/keys';
import { documentWriter } from '../../wire/record/document';
import { listPieces, listWriter } from '../../wire/record/list';
import { recordReader } from '../../wire/record/read';
import { listOf } from '../../wire/record/record';
import { ChangeSubscription } from './commands';
import { RedeliverDeadLetters, RedeliverMessage, type UncheckedPeriod } from './deliveries.commands';
import {
  deliveryKeys,
  type DeliveryKeys,
  listedDelivery,
  listedReceiver,
  namedAsTransactions,
  namedFor,
  oneDelivery,
  postedRedeliveries,
  redeliveries,
} from './deliveries.fields';
import { DeliveryQueries } from './deliveries.queries';
import { postedObject } from './fields';
import { jsonIn, SUBSCRIBERS, SUBSCRIPTION_ID } from './subscriptions.controller';

/** The shapes of answers about messages of a kind of subscriptions. */
function deliveryShapes(kind: SubscriptionKind) {
  const { prefix } = kind;
  return {
    list: {
      name: `${prefix}Deliveries`,
      kind: listOf(listedDelivery(kind), { each: 'delivery' }),
      xml: { file: `${prefix}Deliveries_v1_0.xsd`, root: 'deliveries' },
    },
    details: {
      name: `${prefix}DeliveryDetails`,
      kind: oneDelivery(kind),
      xml: { file: `${prefix}DeliveryDetails_v1_0.xsd`, root: 'delivery' },
    },
  } as const satisfies Readonly<Record<string, Shape>>;
}

const RECEIVERS = {
  name: 'ReceiverTotalsList',
  kind: listOf(listedReceiver, { each: 'receiver' }),
  xml: { file: 'Receivers_v1_0.xsd', root: 'receivers' },
} as const satisfies Shape;

const REDELIVERIES = {
  name: 'Redeliveries',
  kind: redeliveries,
  xml: { file: 'Redeliveries_v1_0.xsd', root: 'redeliveries' },
} as const satisfies Shape;

const MESSAGE = {
  ...SUBSCRIPTION_ID,
  messageId: {
    type: TEXT,
    description: 'Id of the message',
    example: 'msg_0123456789abcdefghijklmnopqrstuv',
  },
} as const;

/** Operations on the messages of a subscription (`docs/decisions.md#n14`). */
export function deliveryOperations(kind: SubscriptionKind) {
  const { typeName: name } = kind;
  const { list, details } = deliveryShapes(kind);
  return {
    receivers: {
      id: `list${name}Receivers`,
      summary: 'List the receivers of a subscription',
      description: 'With their state, and how deliveries to them go.',
      example: {},
      path: SUBSCRIPTION_ID,
      answer: RECEIVERS,
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
      example: {},
      path: MESSAGE,
      answer: details,
    },
    redeliver: {
      id: `redeliver${name}Message`,
      summary: 'Send a message again',
      description:
        'With the same id and bytes: one attempt, in addition to the schedule, at once even if the receiver rests: nextAttempt, absent if ' +
        'the receiver is disabled. Until it is attempted, further requests ask for nothing new; redeliveryRequested is the time of the ' +
        'first one.',
      example: {},
      path: MESSAGE,
      answer: details,
      status: 202,
    },
    redeliverAll: {
      id: `redeliver${name}DeadLetters`,
      summary: 'Send all dead letters, or other messages, of a period again',
      description:
        'At most 10,000 at a time, oldest first, without those that are asked for already; the answer has how many are left, and a ' +
        'cursor for these. With dryRun nothing is sent.',
      example: {},
      path: SUBSCRIPTION_ID,
      body: { name: 'PostedRedeliveries', kind: postedRedeliveries },
      answer: REDELIVERIES,
      status: 202,
    },
    cancelAll: {
      id: `cancel${name}Redeliveries`,
      summary: 'Cancel redeliveries',
      description: 'All that were asked for and are not attempted yet. One in flight is completed.',
      example: {},
      path: SUBSCRIPTION_ID,
      status: 200,
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}

const receiversToXml = documentWriter(RECEIVERS);
const redeliveriesToXml = documentWriter(REDELIVERIES);

/** The controller of the messages of a kind of subscriptions (`docs/decisions.md#n14`, `#n17`). */
export function deliveriesController(kind: SubscriptionKind): Type<object> {
  const operations = deliveryOperations(kind);
  const shapes = deliveryShapes(kind);
  const deliveriesText = listWriter(shapes.list);
  const detailsToXml = documentWriter(shapes.details);
  const table = namedFor(kind, deliveryKeys);

  @Controller(kind.path)
  class DeliveriesController {
    constructor(
      private readonly commands: CommandBus,
      private readonly queries: DeliveryQueries,
    ) {}

    @Get(':id/receivers')
    @ApiOperation(operations.receivers)
    @Roles(SUBSCRIBERS)
    receivers(@CurrentCaller() caller: Caller, @Param('id') id: string): QueuedAnswer {
      return new QueuedAnswer(async () =>
        Answer.of(await this.queries.receivers({ kind, id, caller }), receiversToXml),
      );
    }

    @Get(':id/deliveries')
    @ApiOperation(operations.deliveries)
    @Roles(SUBSCRIBERS)
    list(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @MatrixKeys(table) sent: DeliveryKeys,
    ): ListAnswer {
      const keys = namedAsTransactions(kind, sent);
      return new ListAnswer(async ({ view, query }) => {
        const { deliveries, total, nextCursor } = await this.queries.list({ kind, id, caller }, keys, query);
        return {
          pieces: listPieces(deliveriesText(view), deliveries),
          headers: pageHeaders({ total, requested: keys.pageSize, nextCursor }),
        };
      });
    }

    @Get(':id/deliveries/:messageId')
    @ApiOperation(operations.delivery)
    @Roles(SUBSCRIBERS)
    one(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Param('messageId') messageId: string,
    ): QueuedAnswer {
      return new QueuedAnswer(async () =>
        Answer.of(namedFor(kind, await this.queries.one({ kind, id, caller }, messageId)), detailsToXml),
      );
    }

    @Post(':id/deliveries/:messageId/redeliver')
    @ApiOperation(operations.redeliver)
    @Roles(SUBSCRIBERS)
    async redeliver(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Param('messageId') messageId: string,
    ): Promise<Answer> {
      const command = new RedeliverMessage({ kind, id, caller }, messageId);
      const { delivery, position } = await this.commands.execute(command);
      return Answer.of(namedFor(kind, delivery), detailsToXml, { position, status: 202 });
    }

    @Post(':id/redeliveries')
    @ApiOperation(operations.redeliverAll)
    @Roles(SUBSCRIBERS)
    async redeliverAll(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Body() body: PostedBody,
    ): Promise<Answer> {
      const command = new RedeliverDeadLetters({ kind, id, caller }, await periodIn(body));
      const { position, ...answer } = await this.commands.execute(command);
      return Answer.of(answer, redeliveriesToXml, {
        status: 202,
        position,
      });
    }

    @Delete(':id/redeliveries')
    @ApiOperation(operations.cancelAll)
    @Roles(SUBSCRIBERS)
    async cancelAll(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<Answer> {
      const change = { do: 'cancelRedeliveries' } as const;
      const { position } = await this.commands.execute(new ChangeSubscription({ kind, id, caller }, change));
      return new Answer('none', { position });
    }
  }
  return DeliveriesController;
}

const readPeriod = recordReader(postedRedeliveries);

async function periodIn(body: PostedBody): Promise<UncheckedPeriod> {
  const refusals = new Refusals({ unusable: fault.content });
  const posted = postedObject(await jsonIn(body), 'an object with minTime and maxTime');
  return { period: readPeriod(posted, refusals), refusals };
}
