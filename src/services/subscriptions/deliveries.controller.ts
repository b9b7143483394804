import { Body, Controller, Delete, Get, Param, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { QueuedAnswer } from '../../http/queued-answer';
import { PostedBody } from '../../http/posted-body';
import { listPieces } from '../../wire/record/list-text';
import { pageHeaders } from '../../wire/keys/pages';
import { Refusals } from '../../wire/api/posted';
import { documentWriter } from '../../wire/record/document';
import { listWriter } from '../../wire/record/list';
import { recordReader } from '../../wire/record/read';
import { ChangeSubscription } from './commands';
import { RedeliverDeadLetters, RedeliverMessage, type UncheckedPeriod } from './deliveries.commands';
import { postedRedeliveries } from './deliveries.fields';
import { deliveryKeys, type DeliveryKeys } from './deliveries.keys';
import { deliveryOperations, deliveryShapes, RECEIVERS, REDELIVERIES } from './deliveries.operations';
import { namedAsTransactions, namedFor } from './deliveries.names';
import { DeliveryQueries } from './deliveries.queries';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { postedObject } from './posted-json';
import { jsonIn, SUBSCRIBERS } from './subscriptions.controller';

const receiversToXml = documentWriter(RECEIVERS);
const redeliveriesToXml = documentWriter(REDELIVERIES);

/** The controller of what has become of the messages of a kind of subscriptions (`docs/decisions.md#n14`, `#n17`). */
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
