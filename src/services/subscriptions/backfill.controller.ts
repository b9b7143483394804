import { Body, Controller, Delete, Param, Post, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { Refusals } from '../../wire/api/posted';
import { documentWriter } from '../../wire/record/document';
import { recordReader } from '../../wire/record/read';
import { BackfillMessages } from './backfill.commands';
import { BACKFILL, backfillOperations, postedBackfill } from './backfill.fields';
import { ChangeSubscription } from './commands';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { postedObject } from './posted-json';
import { jsonIn, SUBSCRIBERS } from './subscriptions.controller';

const toXml = documentWriter(BACKFILL);
const readPeriod = recordReader(postedBackfill);

/** The controller of messages about what has happened before (`docs/decisions.md#n14`). */
export function backfillController(kind: SubscriptionKind): Type<object> {
  const operations = backfillOperations(kind);

  @Controller(kind.path)
  class BackfillController {
    constructor(private readonly commands: CommandBus) {}

    @Post(':id/backfills')
    @ApiOperation(operations.backfill)
    @Roles(SUBSCRIBERS)
    async backfill(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Body() body: PostedBody,
    ): Promise<Answer> {
      const refusals = new Refusals({ unusable: fault.content });
      const posted = postedObject(await jsonIn(body), 'an object with minTime and maxTime');
      const unchecked = { period: readPeriod(posted, refusals), refusals };
      const command = new BackfillMessages({ kind, id, caller }, unchecked);
      const { position, ...answer } = await this.commands.execute(command);
      return Answer.of(answer, toXml, { status: 202, position });
    }

    @Delete(':id/backfills')
    @ApiOperation(operations.cancelBackfills)
    @Roles(SUBSCRIBERS)
    async cancel(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<Answer> {
      const change = { do: 'cancelBackfills' } as const;
      const { position } = await this.commands.execute(new ChangeSubscription({ kind, id, caller }, change));
      return new Answer('none', { position });
    }
  }
  return BackfillController;
}
