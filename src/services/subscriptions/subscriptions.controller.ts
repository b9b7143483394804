import {
  Body,
  Controller,
  createParamDecorator,
  Delete,
  Get,
  Param,
  Post,
  Put,
  Res,
  type Type,
} from '@nestjs/common';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { admissionOf } from '../../http/request-state';
import { Fault } from '../../kernel/fault';
import { type Caller } from '../../network/organisations';
import { type OperationText, shape } from '../../wire/api/description';
import { type Posted } from '../../wire/api/posted';
import { IGNORED_FIELDS, ignoredFields, unknownFields } from '../../wire/keys/name-list';
import { TEXT } from '../../wire/keys/keys';
import { listOf, type RecordKind } from '../../wire/record/record';
import { SubscriptionCommands } from './commands';
import {
  listedSubscription,
  expectedTest,
  postedObject,
  postedState,
  postedSubscription,
  postedTest,
  subscriptionSecret,
  testOutcome,
} from './fields';
import { ReceiverCommands } from './receivers.commands';
import { SubscriptionCheck } from './subscription-check';
import { SubscriptionQueries, toOutput, type Which } from './subscription.queries';

const SECRET = shape('SubscriptionSecret', subscriptionSecret, 'subscriptionSecret');

export const SUBSCRIPTION_ID = {
  id: { type: TEXT, description: 'Id of the subscription', example: '0123456789abcdef0123456789abcdef' },
} as const;

const RECEIVER = {
  ...SUBSCRIPTION_ID,
  receiverId: { type: TEXT, description: 'Id of one of its receivers', example: '0123456789abcdef' },
} as const;

/** Document 2, Endpoints, Subscriptions; beyond it `docs/decisions.md#n14`. */
export function subscriptionApi(topic: SubscriptionTopic) {
  const { typeName: name, subject } = topic;
  const listed = listedSubscription(topic);
  const one = shape(name, listed, 'subscription');
  const body = { name: `Posted${name}`, kind: postedSubscription(topic) };
  return {
    create: {
      id: `create${name}`,
      sends: IGNORED_FIELDS,
      summary: 'Create a subscription',
      description:
        `A message is sent to each receiver when a ${subject} enters one of the states. Everything that is wrong ` +
        'with the subscription is reported at once. A body has at most 1 MiB; all settings together have at most ' +
        '128 KiB as JSON.',
      body,
      answer: one,
      status: 201,
    },
    replace: {
      id: `replace${name}`,
      sends: IGNORED_FIELDS,
      summary: 'Replace a subscription',
      description:
        'Replaces all settings: send every field, not only those that change. A receiver whose id is sent is ' +
        'continued, and what waits for it is rendered again; without ids those that are equal, else the only one ' +
        'that differs. Receivers that the system has disabled are enabled. A body has at most 1 MiB; all settings ' +
        'together have at most 128 KiB as JSON, or as much as those that they replace.',
      path: SUBSCRIPTION_ID,
      body,
      answer: one,
    },
    delete: {
      id: `delete${name}`,
      summary: 'Delete a subscription',
      description: 'Messages that are not delivered yet are cancelled, each when it would be sent next.',
      path: SUBSCRIPTION_ID,
      status: 200,
    },
    list: {
      id: `list${name}s`,
      summary: 'List subscriptions',
      description: 'All subscriptions of the caller, oldest first.',
      example: { pretty: true },
      answer: shape(`${name}s`, listOf(listed, { each: 'subscription' }), 'subscriptions'),
    },
    get: { id: `get${name}`, summary: 'Get a subscription', path: SUBSCRIPTION_ID, answer: one },
    secret: {
      id: `get${name}Secret`,
      summary: 'Get the secret of a subscription',
      description:
        'Messages are signed with it, as Standard Webhooks describes, and with each secret that was replaced less ' +
        'than 24 hours ago.',
      path: SUBSCRIPTION_ID,
      answer: SECRET,
    },
    rotate: {
      id: `rotate${name}Secret`,
      summary: 'Replace the secret of a subscription',
      description:
        'Messages are signed with the replaced secret too for 24 hours, even if the new one is replaced meanwhile. ' +
        'A secret can be replaced five times within 24 hours.',
      path: SUBSCRIPTION_ID,
      answer: SECRET,
    },
    enable: {
      id: `enable${name}Receiver`,
      summary: 'Enable a receiver that the system has disabled, or that rests',
      description:
        'Messages that were held are sent. A receiver that rests is tried at once with one message: the one that ' +
        'would be tried next. Does nothing for any other receiver.',
      path: RECEIVER,
    },
    test: {
      id: `test${name}Receiver`,
      sends: IGNORED_FIELDS,
      summary: 'Send a test message to a receiver',
      description:
        'A message with example values, marked by the header webhook-test, is sent at once, before what waits, and ' +
        'even if the receiver rests. The answer is its outcome, whatever that is. The body may be absent.',
      path: RECEIVER,
      body: { name: `Tested${name}`, kind: postedTest(topic), isOptional: true },
      answer: shape('ReceiverTestOutcome', testOutcome, 'receiverTestOutcome'),
      also: {
        202:
          'There was no outcome within 15 seconds, or the receiver is disabled by the system: GET the ' +
          'message by its id.',
      },
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}

/** Most bytes of a body (`docs/decisions.md#n15`). */
const MAX_BODY = 1024 * 1024;

/** Operators have no subscriptions (`docs/decisions.md#n11`). */
export const SUBSCRIBERS = ['advertiser', 'publisher'] as const;

const NO_STORE = { 'Cache-Control': 'no-store' } as const;

/** Parameter: the subscription that the path names, and who asks. */
export const Wanted = createParamDecorator((topic: SubscriptionTopic, context): Which => {
  const request = context.switchToHttp().getRequest<FastifyRequest<{ Params: { readonly id: string } }>>();
  return { topic, id: request.params.id, caller: admissionOf(request).caller };
});

/** The controller of subscriptions to a topic (Document 2, Endpoints, Subscriptions; `docs/decisions.md#n14`). */
export function subscriptionsController(topic: SubscriptionTopic): Type<object> {
  const api = subscriptionApi(topic);
  const check = new SubscriptionCheck(topic);

  @Controller(topic.path)
  @Roles(SUBSCRIBERS)
  class SubscriptionsController {
    constructor(
      private readonly commands: SubscriptionCommands,
      private readonly receivers: ReceiverCommands,
      private readonly queries: SubscriptionQueries,
    ) {}

    @Get()
    @ApiOperation(api.list)
    list(@CurrentCaller() caller: Caller): ListAnswer {
      return ListAnswer.of(api.list, async (query) => ({
        items: await this.queries.list(topic, caller, query),
      }));
    }

    @Get(':id')
    @ApiOperation(api.get)
    one(@Wanted(topic) which: Which): QueuedAnswer {
      return QueuedAnswer.of(api.get, () => this.queries.one(which));
    }

    @Post()
    @ApiOperation(api.create)
    async create(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
      const posted = await this.posted(body);
      const { subscriptionId, subscription, position } = await this.commands.create(
        topic,
        posted,
        caller,
        body.repeatable,
      );
      const created = toOutput(topic, subscriptionId, subscription.content);
      return Answer.of(api.create, created, { status: 201, position });
    }

    @Put(':id')
    @ApiOperation(api.replace)
    async replace(
      @Wanted(topic) which: Which & { readonly caller: Caller },
      @Body() body: PostedBody,
    ): Promise<Answer> {
      const { subscription, position } = await this.commands.replace(which, await this.posted(body));
      return Answer.of(api.replace, toOutput(topic, which.id, subscription.content), { position });
    }

    @Delete(':id')
    @ApiOperation(api.delete)
    async delete(@Wanted(topic) which: Which): Promise<Answer> {
      return Answer.none(await this.commands.change(which, 'delete'), 200);
    }

    @Get(':id/secret')
    @ApiOperation(api.secret)
    secret(@Wanted(topic) which: Which): QueuedAnswer {
      return QueuedAnswer.of(api.secret, () => this.queries.secret(which), { headers: NO_STORE });
    }

    @Post(':id/secret/rotations')
    @ApiOperation(api.rotate)
    async rotate(@Wanted(topic) which: Which): Promise<Answer> {
      const { subscription, position } = await this.commands.change(which, 'rotateSecret');
      return Answer.of(api.rotate, this.queries.secretOf(which.id, subscription), {
        position,
        headers: NO_STORE,
      });
    }

    @Post(':id/receivers/:receiverId/enable')
    @ApiOperation(api.enable)
    async enable(@Wanted(topic) which: Which, @Param('receiverId') receiver: string): Promise<Answer> {
      return Answer.none(await this.receivers.enable(which, receiver));
    }

    @Post(':id/receivers/:receiverId/test')
    @ApiOperation(api.test)
    async test(
      @CurrentCaller() caller: Caller,
      @Wanted(topic) which: Which,
      @Param('receiverId') receiver: string,
      @Body() body: PostedBody,
      @Res({ passthrough: true }) reply: FastifyReply,
    ): Promise<Answer> {
      const bytes = await bytesOf(body);
      if (bytes.length > 0) body.format(['json']);
      const posted =
        bytes.length === 0
          ? undefined
          : objectOf(body, bytes, { kind: postedTest(topic), expected: expectedTest(topic) });
      const stateId = posted && postedState(topic, posted, caller);
      const isGone = (): boolean => body.isStopping || reply.raw.destroyed;
      const tested = await this.receivers.test(which, receiver, { stateId, isGone });
      const { answer, isOver, position } = tested;
      return Answer.of(api.test, answer, { position, status: isOver ? 200 : 202 });
    }

    /** The posted subscription. Unknown fields are named in a header, whatever else is wrong. */
    private async posted(body: PostedBody): Promise<Posted> {
      const posted = postedObject(await jsonIn(body), 'one subscription');
      body.report(ignoredFields(check.unknownFields(posted)));
      return posted;
    }
  }
  return SubscriptionsController;
}

/** A body that declares JSON; raises CON_360 for any other. */
async function jsonIn(body: PostedBody): Promise<Buffer> {
  body.format(['json']);
  return await bytesOf(body);
}

interface ExpectedObject {
  readonly kind: RecordKind;
  /** For the message about a body that is none. */
  readonly expected: string;
}

/** A posted JSON object. Unknown fields are named in a header, whatever else is wrong. Raises CON_310 and CON_360. */
export async function objectIn(body: PostedBody, expected: ExpectedObject): Promise<Posted> {
  return objectOf(body, await jsonIn(body), expected);
}

function objectOf(body: PostedBody, bytes: Buffer, { kind, expected }: ExpectedObject): Posted {
  const posted = postedObject(bytes, expected);
  body.report(ignoredFields(unknownFields(kind, [posted])));
  return posted;
}

async function bytesOf(body: PostedBody): Promise<Buffer> {
  try {
    return await body.bytes(MAX_BODY);
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 413) throw error;
    throw fault.content(`the body is too large: ${error.message}`);
  }
}
