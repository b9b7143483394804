import { Body, Controller, Delete, Get, Param, Post, Put, Res, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type FastifyReply } from 'fastify';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { type Caller } from '../../network/organisations';
import { Answer } from '../../http/answer';
import { ApiOperation, CurrentCaller, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/list-answer';
import { QueuedAnswer } from '../../http/queued-answer';
import { PostedBody } from '../../http/posted-body';
import { Fault } from '../../kernel/fault';
import { listPieces } from '../../wire/record/list-text';
import { ignoredFields } from '../../wire/keys/name-list';
import { documentWriter } from '../../wire/record/document';
import { listWriter } from '../../wire/record/list';
import { ChangeSubscription, CreateSubscription, ReplaceSubscription } from './commands';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { SECRET, subscriptionOperations, subscriptionShapes, TEST_OUTCOME } from './operations';
import { toOutput } from './output';
import { postedObject, postedState } from './posted-json';
import { EnableReceiver, TestReceiver } from './receivers.commands';
import { SubscriptionCheck } from './subscription-check';
import { SubscriptionQueries } from './subscription.queries';

/** Most bytes of a body (`docs/decisions.md#n15`). */
const MAX_BODY = 1024 * 1024;

/** Operators have no subscriptions (`docs/decisions.md#n11`). */
export const SUBSCRIBERS = ['advertiser', 'publisher'] as const;

/** A secret is in no cache. */
const NO_STORE = { 'Cache-Control': 'no-store' } as const;

/** What a body is to be. */
const EXPECTED = 'one subscription';

const secretToXml = documentWriter(SECRET);
const testToXml = documentWriter(TEST_OUTCOME);

/** The controller of a kind of subscriptions (Document 2, Endpoints, Subscriptions; `docs/decisions.md#n14`). */
export function subscriptionsController(kind: SubscriptionKind): Type<object> {
  const operations = subscriptionOperations(kind);
  const shapes = subscriptionShapes(kind);
  const check = new SubscriptionCheck(kind);
  const toXml = documentWriter(shapes.one);
  const listText = listWriter(shapes.list);

  @Controller(kind.path)
  class SubscriptionsController {
    constructor(
      private readonly commands: CommandBus,
      private readonly queries: SubscriptionQueries,
    ) {}

    @Get()
    @ApiOperation(operations.list)
    @Roles(SUBSCRIBERS)
    list(@CurrentCaller() caller: Caller): ListAnswer {
      return new ListAnswer(async ({ view, query }) => ({
        pieces: listPieces(listText(view), await this.queries.list(kind, caller, query)),
      }));
    }

    @Get(':id')
    @ApiOperation(operations.get)
    @Roles(SUBSCRIBERS)
    one(@CurrentCaller() caller: Caller, @Param('id') id: string): QueuedAnswer {
      return new QueuedAnswer(async () => Answer.of(await this.queries.one(kind, id, caller), toXml));
    }

    @Post()
    @ApiOperation(operations.create)
    @Roles(SUBSCRIBERS)
    async create(
      @CurrentCaller() caller: Caller,
      @Body() body: PostedBody,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Answer> {
      const posted = postedObject(await jsonIn(body), EXPECTED);
      reply.headers(ignoredFields(check.unknownFields(posted)));
      const { subscriptionId, subscription, position } = await this.commands.execute(
        new CreateSubscription(kind, posted, caller),
      );
      const created = toOutput(kind, subscriptionId, subscription.content);
      return Answer.of(created, toXml, { status: 201, position });
    }

    @Put(':id')
    @ApiOperation(operations.replace)
    @Roles(SUBSCRIBERS)
    async replace(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Body() body: PostedBody,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Answer> {
      const posted = postedObject(await jsonIn(body), EXPECTED);
      reply.headers(ignoredFields(check.unknownFields(posted)));
      const { subscription, position } = await this.commands.execute(
        new ReplaceSubscription({ kind, id, caller }, posted),
      );
      return Answer.of(toOutput(kind, id, subscription.content), toXml, { position });
    }

    @Delete(':id')
    @ApiOperation(operations.delete)
    @Roles(SUBSCRIBERS)
    async delete(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<Answer> {
      const { position } = await this.commands.execute(
        new ChangeSubscription({ kind, id, caller }, { do: 'delete' }),
      );
      return new Answer('none', { position });
    }

    @Get(':id/secret')
    @ApiOperation(operations.secret)
    @Roles(SUBSCRIBERS)
    secret(@CurrentCaller() caller: Caller, @Param('id') id: string): QueuedAnswer {
      return new QueuedAnswer(async () =>
        Answer.of(await this.queries.secret(kind, id, caller), secretToXml, { headers: NO_STORE }),
      );
    }

    @Post(':id/secret/rotations')
    @ApiOperation(operations.rotate)
    @Roles(SUBSCRIBERS)
    async rotate(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<Answer> {
      const { subscription, position } = await this.commands.execute(
        new ChangeSubscription({ kind, id, caller }, { do: 'rotateSecret' }),
      );
      const secret = this.queries.secretOf(id, subscription);
      return Answer.of(secret, secretToXml, { position, headers: NO_STORE });
    }

    @Post(':id/receivers/:receiverId/enable')
    @ApiOperation(operations.enable)
    @Roles(SUBSCRIBERS)
    async enable(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Param('receiverId') receiver: string,
    ): Promise<Answer> {
      return Answer.none(await this.commands.execute(new EnableReceiver({ kind, id, caller }, receiver)));
    }

    @Post(':id/receivers/:receiverId/test')
    @ApiOperation(operations.test)
    @Roles(SUBSCRIBERS)
    async test(
      @CurrentCaller() caller: Caller,
      @Param('id') id: string,
      @Param('receiverId') receiver: string,
      @Body() body: PostedBody,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Answer> {
      const bytes = await bytesOf(body);
      if (bytes.length > 0) body.format(['json']);
      const stateId = bytes.length === 0 ? undefined : postedState(kind, bytes, caller);
      const isGone = (): boolean => body.isStopping || reply.raw.destroyed;
      const test = new TestReceiver({ kind, id, caller }, receiver, { stateId, isGone });
      const { answer, isOver, position } = await this.commands.execute(test);
      return Answer.of(answer, testToXml, { position, status: isOver ? 200 : 202 });
    }
  }
  return SubscriptionsController;
}

/** A body that declares JSON; raises CON_360 for any other. */
export async function jsonIn(body: PostedBody): Promise<Buffer> {
  body.format(['json']);
  return await bytesOf(body);
}

async function bytesOf(body: PostedBody): Promise<Buffer> {
  try {
    return await body.bytes(MAX_BODY);
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 413) throw error;
    throw fault.content(`the body is too large: ${error.message}`);
  }
}
