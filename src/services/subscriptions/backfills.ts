import { Body, Controller, Delete, Injectable, Post, type Type } from '@nestjs/common';
import { type MissedMessage, missedMessages } from '../../delivery/matching/explain';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import {
  appendRequests,
  type DeliveryRequest,
  lastRequest,
} from '../../domain/subscriptions/delivery-requests';
import { type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { Answer } from '../../http/answer';
import { Clock } from '../../runtime/clock';
import { ApiOperation, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { type Position, START } from '../../kernel/event';
import { EventLog, RevisionConflict } from '../../kernel/event-log';
import { KeyedMutex } from '../../runtime/concurrency';
import { type OperationText, shape } from '../../wire/api/description';
import { type Posted, Refusals } from '../../wire/api/posted';
import { IGNORED_FIELDS } from '../../wire/keys/name-list';
import { boolean, integer, text } from '../../wire/record/kinds';
import { complete, recordReader } from '../../wire/record/read';
import { type PostedOf, record } from '../../wire/record/record';
import { requestsSince, SubscriptionCommands, Subscriptions } from './commands';
import { postedRedeliveries } from './deliveries.fields';
import {
  type OwnedSubscription,
  receiverProblem,
  SubscriptionParts,
  type Which,
} from './subscription.queries';
import { objectIn, SUBSCRIBERS, SUBSCRIPTION_ID, Wanted } from './subscriptions.controller';

const { minTime, maxTime, receiverId, cursor } = postedRedeliveries.fields;

/** `docs/decisions.md#n14`. */
const postedBackfill = record(
  {
    ...{ minTime, maxTime, receiverId, cursor },
    dryRun: { kind: boolean(), otherwise: false, description: 'Only counts the messages' },
  },
  { name: 'PostedBackfill' },
);

type PostedBackfill = PostedOf<typeof postedBackfill>;

const backfill = record(
  {
    requested: { kind: integer(), description: 'Messages that are made because of this request' },
    cursor: {
      kind: text(),
      optional: true,
      description: 'If a part of the period is left: to be posted with the same fields for it',
    },
  },
  { name: 'Backfill' },
);

export function backfillOperations({ typeName: name, subject }: SubscriptionTopic) {
  return {
    backfill: {
      id: `backfill${name}`,
      sends: IGNORED_FIELDS,
      summary: `Make the messages of transitions of the past`,
      description:
        `Of each transition of a ${subject} between two times that the subscription selects now, and did not when ` +
        'it happened. At most as long ago as messages are kept. An answer with a cursor has looked at a part of the ' +
        'period: post again with it.',
      path: SUBSCRIPTION_ID,
      body: { name: 'PostedBackfill', kind: postedBackfill },
      answer: shape('Backfill', backfill, 'backfill'),
      status: 202,
    },
    cancelBackfills: {
      id: `cancel${name}Backfills`,
      summary: 'Cancel backfills',
      description: 'All their messages that are not delivered yet, each when it would be sent next.',
      path: SUBSCRIPTION_ID,
      status: 200,
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}

/** Most messages of one command, and of one append. */
const MOST = 10_000;
const APPEND = 500;

/** Makes messages of a period that were not made then (ADR 18). */
@Injectable()
export class BackfillCommands {
  /** One at a time, since each reads many events in the thread that serves all requests. */
  private readonly turns = new KeyedMutex<'backfill'>();

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly log: EventLog,
    private readonly clock: Clock,
    private readonly parts: SubscriptionParts,
  ) {}

  /** `posted` is unchecked; raises everything that is wrong. */
  async backfill(which: Which, posted: Posted) {
    return await this.turns.runExclusive('backfill', () => this.make(which, posted));
  }

  private async make(which: Which, posted: Posted) {
    const known = await this.subscriptions.owned(which);
    const period = this.checked(which, known, posted);
    const { found, first, next } = await this.find(which, known, period);
    const more = next === undefined ? {} : { cursor: next };
    let [requested, position]: [number, Position | undefined] = [0, undefined];
    if (found.length === 0) return { requested, ...more, position: await this.log.head() };
    let before = await this.requested(which.id, first);
    for (let from = 0; from < found.length;) {
      const wanted = found.slice(from, from + APPEND).filter(({ message }) => !before.ids.has(message));
      const events = wanted.map((message) => this.request(message));
      try {
        if (events.length > 0 && !period.dryRun) {
          const appended = await appendRequests(this.clock, this.log, which.id, events, before.revision);
          before = { ...before, revision: appended.revision };
          ({ position } = appended);
        }
        requested += wanted.length;
        from += APPEND;
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        // Another request may have asked for some of them.
        before = await this.requested(which.id, first);
      }
    }
    return { requested, ...more, position: position ?? (await this.log.head()) };
  }

  private checked({ id }: Which, { state }: OwnedSubscription, posted: Posted): PostedBackfill {
    const refusals = new Refusals({ unusable: fault.content });
    const period = readPeriod(posted, refusals);
    const { minTime, maxTime, receiverId, cursor } = period;
    const earliest = new Date(this.clock.now().getTime() - this.parts.keepMs).toISOString();
    if (minTime !== undefined && minTime < earliest)
      refusals.add(
        fault.content,
        `minTime is ${minTime}: expected ${earliest} or later, since messages are kept no longer (NOTIFY_KEEP)`,
      );
    if (minTime !== undefined && maxTime !== undefined && Date.parse(minTime) > Date.parse(maxTime))
      refusals.add(fault.content, `minTime is ${minTime}: expected a time up to maxTime, ${maxTime}`);
    if (cursor !== undefined && !CURSOR.test(cursor))
      refusals.wrong('cursor', cursor, 'the cursor of the last answer');
    const problem = receiverId === undefined ? undefined : receiverProblem(id, state, receiverId);
    if (problem !== undefined) refusals.add(fault.unknownReceiver, problem);
    return complete<PostedBackfill>(period, refusals);
  }

  private async find(
    { topic, id }: Which,
    { state }: OwnedSubscription,
    { minTime, maxTime, receiverId, cursor }: PostedBackfill,
  ) {
    const receivers = new Set(
      receiverId === undefined ? receiversOf(id, state.content).keys() : [receiverId],
    );
    const [min, max] = [Date.parse(minTime), Date.parse(maxTime)];
    const missed = { topic, id, subscription: state, receivers, min, max, after: cursor };
    return await missedMessages(this.clock, this.log, missed, MOST);
  }

  /**
   * Ids of all messages that were requested since a transition, and the revision of the last request. By the order of
   * the log: whoever has asked for them may have had a clock that was slow by hours.
   */
  private async requested(id: string, since: Position) {
    const ids = new Set<string>();
    const revision = await lastRequest(this.log, id);
    for await (const { type, data } of requestsSince(this.log, id, revision, since))
      if (type === 'MessageRequested') ids.add(data.message);
    return { ids, revision };
  }

  private request(message: MissedMessage): DeliveryRequest {
    return { type: 'MessageRequested', data: { at: this.subscriptions.now(), ...message } };
  }
}

const CURSOR = new RegExp(`^\\d{${START.length}}$`);

const readPeriod = recordReader(postedBackfill);

export function backfillController(topic: SubscriptionTopic): Type<object> {
  const operations = backfillOperations(topic);

  @Controller(topic.path)
  @Roles(SUBSCRIBERS)
  class BackfillController {
    constructor(
      private readonly commands: BackfillCommands,
      private readonly subscriptions: SubscriptionCommands,
    ) {}

    @Post(':id/backfills')
    @ApiOperation(operations.backfill)
    async backfill(@Wanted(topic) which: Which, @Body() body: PostedBody): Promise<Answer> {
      const expected = 'an object with minTime and maxTime';
      const posted = await objectIn(body, { kind: postedBackfill, expected });
      const { position, ...answer } = await this.commands.backfill(which, posted);
      return Answer.of(operations.backfill, answer, { status: 202, position });
    }

    @Delete(':id/backfills')
    @ApiOperation(operations.cancelBackfills)
    async cancel(@Wanted(topic) which: Which): Promise<Answer> {
      return Answer.none(await this.subscriptions.change(which, 'cancelBackfills'), 200);
    }
  }
  return BackfillController;
}
