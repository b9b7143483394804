import { Controller, Get, Param, Post } from '@nestjs/common';
import { TOPIC_NAMES } from '../../domain/subscriptions/subscription';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { WaitForReadModels } from '../../http/visible-writes';
import { type Position } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { without } from '../../kernel/values';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import {
  listedReceiver,
  operatorsDeliveryDetails,
  redeliveries,
} from '../../services/subscriptions/deliveries.fields';
import { operationsById, type Shape } from '../../wire/api/description';
import { BOOLEAN, INTEGER, type Keys, type KeyTable, oneOf, TEXT } from '../../wire/keys/keys';
import { atLeast, sizeKey, sizeOf } from '../../wire/keys/pages';
import { boolean, integer, object, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { type ActionName } from '../actions';
import {
  anyMessage,
  anySubscriptions,
  enableReceiver,
  redeliver,
  redeliverAll,
  testReceiver,
} from '../notifications';
import { type ProjectedEngines } from '../rebuild';
import { OperatorActions } from './actions.controller';
import { operatorFaults as fault, REASON } from './operator-service';
import { ProjectionParts } from './projections.controller';

const listKeys = {
  organisationId: { type: INTEGER, description: 'Only of this organisation' },
  topic: { type: oneOf(...TOPIC_NAMES), description: 'Only to this topic' },
  offset: { type: INTEGER, description: 'Subscriptions to skip' },
  limit: sizeKey('Number of subscriptions', '100 by default'),
} as const satisfies KeyTable;

/** Each subscription is read from its stream. */
const SUBSCRIPTIONS = 100;

const optional = { optional: true } as const;

const subscription = record(
  {
    organisationId: { kind: integer(), description: 'Organisation that is notified' },
    topic: { kind: text(), description: 'What it is notified of' },
    subscriptionId: { kind: text(), description: 'Id' },
    subscriptionName: { kind: text(), ...optional, description: 'Name' },
    siteId: { kind: integer(), ...optional, description: 'The only site that it is for' },
    disabled: { kind: boolean(), description: 'Its owner has disabled it' },
    filter: { kind: object(), description: 'What is notified, as it was posted' },
    receivers: {
      kind: listOf(listedReceiver, { each: 'receiver' }),
      description: 'As their owner sees them; of an address scheme and host are left',
    },
  },
  { name: 'AnySubscription' },
);

const SUBSCRIBED = {
  name: 'AnySubscriptions',
  kind: listOf(subscription, { each: 'subscription' }),
} as const satisfies Shape;

const DETAILS = { name: 'AnyDeliveryDetails', kind: operatorsDeliveryDetails } as const satisfies Shape;

const id = (description: string, example: string) => ({ type: TEXT, description, example });

const MESSAGE = { messageId: id('Id of the message', 'msg_0123456789abcdefghijklmnopqrstuv') };
const RECEIVER = {
  subscriptionId: id('Its subscription', '0123456789abcdef0123456789abcdef'),
  receiverId: id('Id of the receiver', 'rcv_0123456789abcdef'),
};

const periodKeys = {
  minTime: { type: TEXT, required: true, description: 'About what happened at this time or later' },
  maxTime: {
    type: TEXT,
    required: true,
    description: 'About what happened at this time or earlier; a date includes its day',
  },
  receiverId: { type: TEXT, description: 'Only of this receiver' },
  state: {
    type: oneOf('dead', 'delivered', 'cancelled', 'retrying'),
    description:
      'Only messages that were given up, the default; or delivered, or cancelled, or that wait for a retry',
  },
  dryRun: { type: BOOLEAN, description: 'true: only counts the messages' },
  cursor: { type: TEXT, description: 'That of the last answer, to go on after it' },
  ...REASON,
} as const satisfies KeyTable;

/** `docs/decisions.md#x130`. */
export const notificationOperations = operationsById({
  listAnySubscriptions: {
    summary: 'List the subscriptions of all organisations',
    description: 'With their filters, and how deliveries to their receivers go; the oldest first.',
    example: { organisationId: 1 },
    answer: SUBSCRIBED,
    sends: { 'X-Total-Count': 'The number of all that match' },
  },
  getAnyDelivery: {
    summary: 'Get a message of any subscription',
    description: 'With the exact request and the answers to its last attempts.',
    path: MESSAGE,
    answer: DETAILS,
  },
  redeliverAnyMessage: {
    summary: 'Send a message of any subscription again',
    description:
      'With the same id and bytes: one attempt, in addition to the schedule, at once even if its receiver rests.',
    path: MESSAGE,
  },
  redeliverAnyMessages: {
    summary: 'Send all dead letters, or other messages, of any subscription and a period again',
    description:
      'At most 10,000 at a time, oldest first, as its owner may; the answer has how many are left, and a cursor for these. ' +
      'With dryRun they are only counted.',
    path: { subscriptionId: RECEIVER.subscriptionId },
    example: { minTime: '2026-11-01', maxTime: '2026-11-30', dryRun: true },
    answer: { name: 'AnyRedeliveries', kind: redeliveries },
  },
  enableAnyReceiver: {
    summary: 'Enable a receiver of any subscription',
    description:
      'One that the system has disabled; one that rests is tried at once. What its owner has disabled stays so: 409.',
    path: RECEIVER,
  },
  testAnyReceiver: {
    summary: 'Send a test message to a receiver of any subscription',
    description: 'With example values, at once even if it rests. The list of messages shows the outcome.',
    path: RECEIVER,
  },
});

/** Notifications of all organisations: the same functions as `affilog notifications`. */
@Controller('/ops/1.0')
@Roles(['operator'])
@Produces(['json'])
export class NotificationsController {
  constructor(
    private readonly log: EventLog,
    private readonly store: ReadStore,
    private readonly clock: Clock,
    private readonly parts: ProjectionParts,
    private readonly readModels: WaitForReadModels,
    private readonly actions: OperatorActions,
  ) {}

  @Get('subscriptions')
  @ApiOperation(notificationOperations.listAnySubscriptions)
  subscriptions(@MatrixKeys(listKeys) keys: Keys<typeof listKeys>): ListAnswer {
    return ListAnswer.of(notificationOperations.listAnySubscriptions, async (query) => {
      const { limit, offset = 0, ...criteria } = keys;
      const page = {
        size: sizeOf('limit', limit, fault.unusable, SUBSCRIPTIONS),
        offset: atLeast(0, 'offset', offset, fault.unusable),
      };
      const found = await anySubscriptions(this.engines(), criteria, page, query);
      return { ...found, requested: limit };
    });
  }

  @Get('deliveries/:messageId')
  @ApiOperation(notificationOperations.getAnyDelivery)
  delivery(@Param('messageId') messageId: string): QueuedAnswer {
    return QueuedAnswer.of(notificationOperations.getAnyDelivery, () =>
      anyMessage(this.engines(), messageId),
    );
  }

  @Post('deliveries/:messageId/redeliver')
  @ApiOperation(notificationOperations.redeliverAnyMessage)
  async redeliver(
    @CurrentCaller() caller: Caller,
    @Param('messageId') messageId: string,
    @MatrixKeys(REASON) { reason }: Keys<typeof REASON>,
  ): Promise<Answer> {
    return await this.act(caller, 'notifications redeliver', { messageId, reason }, (engines) =>
      redeliver(engines, messageId, this.clock.now()),
    );
  }

  @Post('subscriptions/:subscriptionId/redeliveries')
  @ApiOperation(notificationOperations.redeliverAnyMessages)
  async redeliverAll(
    @CurrentCaller() caller: Caller,
    @Param('subscriptionId') subscriptionId: string,
    @MatrixKeys(periodKeys) keys: Keys<typeof periodKeys>,
  ): Promise<Answer> {
    const { clock } = this;
    const period = without(keys, 'reason');
    const done = await this.actions.of(
      caller,
      'notifications redeliver-all',
      { subscriptionId, ...keys },
      (engines) => redeliverAll({ ...engines, clock }, subscriptionId, period),
    );
    const position = await this.visible();
    return Answer.of(notificationOperations.redeliverAnyMessages, done, { position });
  }

  @Post('receivers/:subscriptionId/:receiverId/enable')
  @ApiOperation(notificationOperations.enableAnyReceiver)
  async enable(
    @CurrentCaller() caller: Caller,
    @Param() receiver: { readonly subscriptionId: string; readonly receiverId: string },
    @MatrixKeys(REASON) { reason }: Keys<typeof REASON>,
  ): Promise<Answer> {
    return await this.act(caller, 'notifications enable', { ...receiver, reason }, async (engines) => {
      if (await enableReceiver(engines, receiver)) return;
      throw fault.conflict(`${receiver.receiverId} is disabled by its owner, which stays so`);
    });
  }

  @Post('receivers/:subscriptionId/:receiverId/test')
  @ApiOperation(notificationOperations.testAnyReceiver)
  async test(
    @CurrentCaller() caller: Caller,
    @Param() receiver: { readonly subscriptionId: string; readonly receiverId: string },
    @MatrixKeys(REASON) { reason }: Keys<typeof REASON>,
  ): Promise<Answer> {
    const options = { stateId: undefined, within: 0, signal: AbortSignal.timeout(1) };
    return await this.act(caller, 'notifications test', { ...receiver, reason }, (engines) =>
      testReceiver(engines, receiver, options),
    );
  }

  private engines() {
    const { log, store, clock, parts } = this;
    return { log, store, clock, deliveries: () => parts.deliveries() };
  }

  private async act(
    caller: Caller,
    action: ActionName,
    asked: Parameters<OperatorActions['of']>[2],
    work: (engines: ProjectedEngines) => Promise<unknown>,
  ): Promise<Answer> {
    await this.actions.of(caller, action, asked, work);
    return Answer.none({ position: await this.visible() });
  }

  /** The position up to which lists have everything. */
  private async visible(): Promise<Position> {
    const position = await this.log.head();
    await this.readModels.afterWrite({ position, changes: 1 });
    return position;
  }
}
