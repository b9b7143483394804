import { STATES } from '../../domain/deliveries/stored-delivery';
import { TOPIC_NAMES } from '../../domain/subscriptions/subscription';
import { TOPICS } from '../../domain/topics';
import { shortened } from '../../kernel/text';
import { notificationOperations } from '../../operations/rest/notifications.controller';
import { anyDeliveryApi } from '../../services/subscriptions/deliveries.controller';
import {
  type OperatorsReceiver,
  type OutputDeliveryDetails,
  type OutputReceiver,
  type OutputTotals,
} from '../../services/subscriptions/deliveries.fields';
import * as ui from '../content';
import { listPage } from '../lists';
import { type Operator } from '../operator';

const WHOSE = { organisationId: 'Organisation', subscriptionId: 'Subscription' };

export const messages = listPage({
  page: ['messages', 'Messages', 'The newest first', 'No messages.'],
  from: [anyDeliveryApi.listAnyDeliveries, 'cursor'],
  isLive: true,
  fields: [ui.choice('state', 'State', STATES), ...ui.lines({}, { ...WHOSE, receiverId: 'Receiver' })],
  rows: (all) => all,
  columns: {
    Message: ({ messageId }) => ui.linked(shortened(messageId, 12), 'message', { messageId }),
    State: ({ held, state: is }) => ui.state(held ? 'held' : is),
    ...ui.own('time'),
    About: (one) => subjectOf(one),
    Receiver: ({ receiverId, subscriptionId }) =>
      ui.linked(shortened(receiverId, 8), 'receivers', { subscriptionId }),
    ...ui.own('attempts'),
    'Last answer': ({ lastError, lastStatus, nextAttempt }) =>
      [lastError ?? lastStatus, nextAttempt && `again at ${nextAttempt}`]
        .filter((one) => one !== undefined)
        .join(', '),
  },
});

/** A message has the id of its topic. */
function subjectOf(message: object, most = 8): ui.Value | undefined {
  for (const { subject: kind, subjectField } of Object.values(TOPICS)) {
    const id: unknown = Reflect.get(message, subjectField);
    if (typeof id !== 'string') continue;
    const [, feedId, own = id] = kind === 'product' ? (/^(\d+)-(.+)$/s.exec(id) ?? []) : [];
    const shown = kind === 'product' && /^\d+$/.test(id) ? 'feed' : kind;
    return ui.linked(`${shown} ${shortened(id, most)}`, 'history', { kind: shown, feedId, id: own });
  }
  return undefined;
}

const { getAnyDelivery, redeliverAnyMessage, redeliverAnyMessages, enableAnyReceiver, testAnyReceiver } =
  notificationOperations;

const MESSAGE_ACTIONS = {
  redeliver: ui.action('Send again', redeliverAnyMessage, ':messageId will be sent again.', {
    explains: 'The same message once more, at once, in addition to the schedule, even if its receiver rests.',
  }),
};

export const message: ui.ConsolePage = {
  ...{ name: 'message', title: 'Message', actions: MESSAGE_ACTIONS },
  fields: ui.lines({ messageId: 'Id of the message' }),
  sections: [ui.section('message', ({ messageId = '' }) => messageId, messageBodies, true)],
};

async function messageBodies(operator: Operator, asked: ui.Asked): Promise<ui.Bodies> {
  const { messageId } = asked;
  const found = await operator.get(getAnyDelivery, asked);
  const { request, lastAttempts, state: is, held, ...others } = found;
  const { subscriptionId } = others;
  const about = subjectOf(others, Infinity);
  return [
    ui.facts({ state: ui.state(held ? 'held' : is), about, ...others }),
    ui.links(
      ui.linked('why it was sent', 'why', { kind: 'delivery', id: about?.text.split(' ')[1] }),
      ui.thing('subscription', subscriptionId, 'its subscription'),
      ui.linked('its receiver', 'receivers', { subscriptionId }),
      ui.linked('its document', 'document', { readModel: 'deliveries', id: messageId }),
    ),
    ui.form(MESSAGE_ACTIONS, 'redeliver', { messageId }),
    request === undefined
      ? ui.problem('The request is no longer kept, or it cannot be sent.')
      : { is: 'text', text: requestText(request) },
    ui.table(lastAttempts, 'It was not attempted yet.', {
      Attempt: ({ attempt, manual }) => (manual ? `${attempt}, by hand` : attempt),
      ...ui.own('time', 'status', 'milliseconds'),
      Error: ({ error }) => error && { text: error, tone: 'bad' },
      ...ui.own('answer'),
    }),
  ];
}

/** As it is sent. */
function requestText(request: NonNullable<OutputDeliveryDetails['request']>): string {
  const headers = request.headers.map(({ name, value }) => `${name}: ${value}`);
  return [`${request.method} ${request.url}`, ...headers, '', request.body ?? ''].join('\n').trim();
}

const RECEIVER_ACTIONS = {
  enable: ui.action('Enable', enableAnyReceiver, ':receiverId is enabled.', {
    explains: 'If the system has disabled it, what waits for it is sent. If it rests, it is tried at once.',
  }),
  redeliver: ui.action('Send again', redeliverAnyMessages, 'Messages to :receiverId are sent again.', {
    explains:
      'Messages to it that were given up, of what happened in this time: 10,000 at most, those that are asked for already ' +
      'left out. The list of its messages shows them.',
    fields: ui.lines({ minTime: 'From', maxTime: 'Until' }),
  }),
  test: ui.action('Test', testAnyReceiver, 'A test is sent to :receiverId.', {
    explains: 'A message with example values is sent at once. Its outcome is listed among the messages.',
  }),
};

/** As lists of receivers, or of subscriptions, have it. */
type ListedReceiver = OutputTotals &
  Partial<OutputReceiver & Pick<OperatorsReceiver, 'disabled' | 'held'>> &
  Readonly<Record<'receiverId' | 'subscriptionId', string>>;

/** How a receiver is, and why. */
function receiverState({
  disabled,
  state: is,
  restingUntil,
  failingSince,
  ...one
}: ListedReceiver): ui.Value {
  const last = one.lastFailure?.error ?? one.lastFailure?.status ?? 'unknown';
  const failing = failingSince === undefined ? '' : `; failing since ${failingSince}: ${last}`;
  const by =
    one.disabledBy === undefined ? '' : ` by its ${one.disabledBy}`.replace('its system', 'the system');
  const because = one.disabledReason === undefined ? '' : `, ${one.disabledReason}`;
  if (disabled === true || is === 'disabled')
    return ui.state('disabled', `disabled${by}${because}${failing}`);
  if (restingUntil !== undefined) return ui.state('held', `rests until ${restingUntil}${failing}`);
  return failing === '' ? ui.state('enabled') : ui.state('retrying', `enabled${failing}`);
}

const RECEIVER_COLUMNS: ui.Columns<ListedReceiver> = {
  Receiver: ({ receiverId }) => ui.linked(shortened(receiverId, 8), 'messages', { receiverId }),
  State: receiverState,
  Messages: ({ delivered, dead, failed, held }) => ({
    text: `${delivered} delivered${dead > 0 ? `, ${dead} dead` : ''}${held === undefined ? '' : `, ${held} held`}, ${failed} failures`,
    ...(dead > 0 ? { tone: 'bad' as const } : {}),
  }),
  Actions: ({ subscriptionId, receiverId, dead }) =>
    (['enable', 'test', ...(dead === 0 ? [] : (['redeliver'] as const))] as const).map((name) =>
      ui.form(RECEIVER_ACTIONS, name, { subscriptionId, receiverId }),
    ),
};

export const receivers = listPage({
  page: ['receivers', 'Receivers', 'Those that were used last first', 'No message was sent yet.'],
  from: [anyDeliveryApi.listAnyReceivers, 'cursor'],
  isLive: true,
  actions: RECEIVER_ACTIONS,
  fields: ui.lines({}, WHOSE),
  rows: (all) => all,
  columns: {
    Owner: ({ organisationId: id }) => ui.linked(id, 'subscriptions', { organisationId: id }),
    Subscription: ({ subscriptionId: id }) => ui.thing('subscription', id, shortened(id, 8)),
    Host: ({ receiverUrl }) => receiverUrl,
    ...RECEIVER_COLUMNS,
    'Last success': ({ lastSuccess }) => lastSuccess?.time,
  },
});

export const subscriptions = listPage({
  page: ['subscriptions', 'Subscriptions', 'Their receivers, the oldest first', 'Nobody has subscribed.'],
  from: [notificationOperations.listAnySubscriptions, 'offset'],
  isLive: true,
  actions: RECEIVER_ACTIONS,
  fields: [...ui.lines({}, { organisationId: 'Organisation' }), ui.choice('topic', 'To', TOPIC_NAMES)],
  rows: (all) =>
    all.flatMap(({ receivers: each, ...one }) => each.map((receiver) => ({ ...one, ...receiver }))),
  columns: {
    Owner: ({ organisationId: id }) => ui.linked(id, 'tokens', { organisationId: id }),
    Subscription: ({ subscriptionId: id, subscriptionName = shortened(id, 8) }) =>
      ui.thing('subscription', id, subscriptionName),
    ...RECEIVER_COLUMNS,
    Sends: ({ topic, filter, httpMethod, receiverUrl }) =>
      `${topic} by ${filterText(filter)}; ${httpMethod} ${receiverUrl}`,
  },
});

/** `messageTypeIds 4, 6; programIds 101`. */
function filterText(filter: object): string {
  const lists = Object.entries(filter) as readonly (readonly [string, readonly unknown[]])[];
  return lists.map(([name, ids]) => `${name} ${ids.join(', ')}`).join('; ');
}
