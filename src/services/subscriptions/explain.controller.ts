import { Controller, Get, Param, type Type } from '@nestjs/common';
import { type Caller } from '../../network/organisations';
import { ApiOperation, CurrentCaller, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { listPieces } from '../../wire/record/list-text';
import { listWriter } from '../../wire/record/list';
import { explainOperations, explanationShape } from './explain.fields';
import { ExplainQueries } from './explain.queries';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { SUBSCRIBERS } from './subscriptions.controller';

/** The controller of why messages were sent, or not (`docs/decisions.md#n14`). */
export function explainController(kind: SubscriptionKind): Type<object> {
  const { explain } = explainOperations(kind);
  const explainedText = listWriter(explanationShape(kind));

  @Controller(kind.path)
  class ExplainController {
    constructor(private readonly queries: ExplainQueries) {}

    @Get(`:id/explain/:${kind.subjectField}`)
    @ApiOperation(explain)
    @Roles(SUBSCRIBERS)
    explain(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Param(kind.subjectField) subject: string,
    ): ListAnswer {
      return new ListAnswer(async ({ view }) => {
        const explained = await this.queries.explain({ kind, id, caller }, subject);
        return { pieces: listPieces(explainedText(view), explained) };
      });
    }
  }
  return ExplainController;
}
