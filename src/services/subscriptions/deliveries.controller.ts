import { Body, Controller, Delete, Get, Param, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { type OperationText, shape } from '../../wire/api/description';
import { Refusals } from '../../wire/api/posted';
import { PAGE_HEADERS } from '../../wire/keys/pages';
import { TEXT } from '../../wire/keys/keys';
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
import { type Which } from './subscription.queries';
import { jsonIn, SUBSCRIBERS, SUBSCRIPTION_ID, Wanted } from './subscriptions.controller';

function deliveryShapes(kind: SubscriptionKind) {
  const { prefix } = kind;
  return {
    list: shape(`${prefix}Deliveries`, listOf(listedDelivery(kind), { each: 'delivery' }), 'deliveries'),
    details: shape(`${prefix}DeliveryDetails`, oneDelivery(kind), 'delivery'),
  };
}

const RECEIVERS = {
  ...shape('Receivers', listOf(listedReceiver, { each: 'receiver' }), 'receivers'),
  name: 'ReceiverTotalsList',
};
const REDELIVERIES = shape('Redeliveries', redeliveries, 'redeliveries');

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
      path: SUBSCRIPTION_ID,
      body: { name: 'PostedRedeliveries', kind: postedRedeliveries },
      answer: REDELIVERIES,
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

/** The controller of the messages of a kind of subscriptions (`docs/decisions.md#n14`, `#n17`). */
export function deliveriesController(kind: SubscriptionKind): Type<object> {
  const operations = deliveryOperations(kind);
  const shapes = deliveryShapes(kind);

  @Controller(kind.path)
  @Roles(SUBSCRIBERS)
  class DeliveriesController {
    constructor(
      private readonly commands: CommandBus,
      private readonly queries: DeliveryQueries,
    ) {}

    @Get(':id/receivers')
    @ApiOperation(operations.receivers)
    receivers(@Wanted(kind) which: Which): QueuedAnswer {
      return new QueuedAnswer(async () => Answer.of(RECEIVERS, await this.queries.receivers(which)));
    }

    @Get(':id/deliveries')
    @ApiOperation(operations.deliveries)
    list(
      @Wanted(kind) which: Which,
      @MatrixKeys(namedFor(kind, deliveryKeys)) sent: DeliveryKeys,
    ): ListAnswer {
      const keys = namedAsTransactions(kind, sent);
      return ListAnswer.of(shapes.list, (query) => this.queries.list(which, keys, query));
    }

    @Get(':id/deliveries/:messageId')
    @ApiOperation(operations.delivery)
    one(@Wanted(kind) which: Which, @Param('messageId') messageId: string): QueuedAnswer {
      return new QueuedAnswer(async () =>
        Answer.of(shapes.details, namedFor(kind, await this.queries.one(which, messageId))),
      );
    }

    @Post(':id/deliveries/:messageId/redeliver')
    @ApiOperation(operations.redeliver)
    async redeliver(@Wanted(kind) which: Which, @Param('messageId') messageId: string): Promise<Answer> {
      const command = new RedeliverMessage(which, messageId);
      const { delivery, position } = await this.commands.execute(command);
      return Answer.of(shapes.details, namedFor(kind, delivery), { position, status: 202 });
    }

    @Post(':id/redeliveries')
    @ApiOperation(operations.redeliverAll)
    async redeliverAll(@Wanted(kind) which: Which, @Body() body: PostedBody): Promise<Answer> {
      const command = new RedeliverDeadLetters(which, await periodIn(body));
      const { position, ...answer } = await this.commands.execute(command);
      return Answer.of(REDELIVERIES, answer, { status: 202, position });
    }

    @Delete(':id/redeliveries')
    @ApiOperation(operations.cancelAll)
    async cancelAll(@Wanted(kind) which: Which): Promise<Answer> {
      return Answer.none(
        await this.commands.execute(new ChangeSubscription(which, 'cancelRedeliveries')),
        200,
      );
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
