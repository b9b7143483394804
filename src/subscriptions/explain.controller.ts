import { Controller, Get, Param, type Type } from '@nestjs/common';
import { type Caller } from '../directory/organisations';
import { Answer } from '../http/answer';
import { ApiOperation, CurrentCaller, Roles } from '../http/decorators';
import { documentWriter } from '../wire/record-document';
import { namedFor } from './deliveries.names';
import { explainOperations, explanationShape } from './explain.fields';
import { ExplainQueries } from './explain.queries';
import { type SubscriptionKind } from './kind';
import { SUBSCRIBERS } from './subscriptions.controller';

/** The controller of why messages were sent, or not (`docs/decisions.md#n14`). */
export function explainController(kind: SubscriptionKind): Type<object> {
  const { explain } = explainOperations(kind);
  const toXml = documentWriter(explanationShape(kind));

  @Controller(kind.path)
  class ExplainController {
    constructor(private readonly queries: ExplainQueries) {}

    @Get(`:id/explain/:${kind.subjectField}`)
    @ApiOperation(explain)
    @Roles(SUBSCRIBERS)
    async explain(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Param(kind.subjectField) subject: string,
    ): Promise<Answer> {
      const explained = await this.queries.explain({ kind, id, caller }, subject);
      return Answer.of(
        explained.map((one) => namedFor(kind, one)),
        toXml,
      );
    }
  }
  return ExplainController;
}
