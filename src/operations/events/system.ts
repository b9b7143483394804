import { z } from 'zod';
import { TOPIC_NAMES } from '../../domain/subscriptions/subscription';
import {
  type DescribedEvent,
  event,
  bare,
  shared,
  optional,
  text,
  int,
  number,
  mark,
  word,
  time,
  list,
  table,
  epoch,
  position,
} from './records';

const subscription = shared('Subscription', {
  filter: z
    .strictObject({
      ...optional({
        programIds: list(z.int(), 'Programs'),
        siteIds: list(z.int(), 'Sites'),
        eventIds: list(z.int(), 'Events of programs'),
        eventTypeIds: list(z.int(), 'Types of events'),
        voucherTypeIds: list(z.int(), 'Types of vouchers'),
        languageIds: list(z.string(), 'Languages of vouchers'),
        keywords: list(z.string(), 'Words of vouchers or products'),
        feedIds: list(z.int(), 'Feeds'),
        tdCategoryIds: list(z.int(), 'Platform categories'),
        minFallPercent: int('Prices that fell by this much at least, in per cent'),
      }),
      stateIds: list(
        z.int(),
        'States of transactions, statuses of claims, or changes of vouchers or products',
      ),
    })
    .describe('What messages are about; an absent list selects all'),
  receivers: list(
    z.strictObject({
      receiverUrl: text('Address, with `${attribute}` for values'),
      httpMethod: word(['GET', 'POST'], 'Method'),
      ...optional({
        id: text('Its id, if it continues a receiver that was different'),
        receiverBody: text('Body, with `${attribute}` for values'),
        receiverFormat: word(['JSON', 'XML', 'custom'], 'Format of the body'),
        disabled: mark('The owner has disabled it'),
      }),
    }),
    'Where messages are sent',
  ),
  ...optional({
    subscriptionName: text('Name'),
    siteId: int('Messages are about this site only'),
    currencyConversion: z
      .strictObject({ to: text('ISO 4217') })
      .describe('The currency that amounts are converted to'),
    customAttribute: z
      .strictObject({
        tdAttributes: list(z.string(), 'Attributes that it depends on'),
        userAttribute: text('Its name'),
        rules: list(
          z.strictObject({ inputs: list(z.string(), 'Values'), output: text('Its value') }),
          'Rules',
        ),
      })
      .describe('An attribute that is made of others'),
    disabled: mark('It is disabled'),
    strictOrder: mark('Messages about one subject are sent in order'),
  }),
});

const receiver = text('Id of the receiver, 16 characters');
const ofReceiver = {
  subscriptionId: text('Subscription'),
  organisationId: int('Organisation that the subscription belongs to'),
  receiver,
};
const sequence = int('Number of the state in the history of its subject');
const messageId = text('Id of the message, `msg_…`');
const messageSubject = text('Id of the transaction or claim');
const stateId = int('State of the transaction, or status of the claim');
const revisionOfMessage = int('Revision of its `MessageDue` in the stream `matched`');
const deadLetter = {
  subject: messageSubject.optional(),
  stateId: stateId.optional(),
  attempts: int('Number of attempts'),
};
const lost = {
  id: messageId,
  ...optional(ofReceiver),
  receiver,
  ...deadLetter,
  reason: text('Why it is not tried again'),
};

const health = z
  .strictObject({
    timeouts: int('Time-outs in a row'),
    minutes: list(
      z.strictObject({
        minute: int('Minutes since 1970'),
        attempts: int('Attempts'),
        failed: int('Of these, failed'),
      }),
      'Attempts of the last five minutes',
    ),
    ...optional({
      rest: z
        .strictObject({ until: epoch('Until when'), ms: int('Length in milliseconds') })
        .describe('It rests'),
      failing: z
        .strictObject({
          since: epoch('Of the first failure'),
          last: epoch('Of the last failure'),
          count: int('Failures'),
        })
        .describe('Failures since the last success'),
      succeeded: epoch('When it was last successful'),
    }),
  })
  .describe('How it fares');

const requests = 'deliveryrequests-<subscriptionId> or subscription-<subscriptionId>';
const organisationId = int('Organisation');

const parkedEvent = text('Id of the event');

/** Subscriptions, requests, the delivery log, what is parked, and what operators did. */
export const SYSTEM_EVENTS: Readonly<Record<string, DescribedEvent>> = {
  // Subscriptions and requests
  SubscriptionCreated: event('subscription-<subscriptionId>', 'A subscription was created.', {
    topic: word(TOPIC_NAMES, 'What it is about'),
    organisationId,
    subscription,
  }),
  SubscriptionReplaced: event('subscription-<subscriptionId>', 'A PUT has replaced its content.', {
    subscription,
    kept: z
      .strictObject({
        secret: z
          .strictObject({ number: int('Number, from 1'), since: time('When it replaced the one before') })
          .describe('The secret that messages are signed with'),
        replacedSecrets: list(
          z.strictObject({
            number: int('Number'),
            until: time('Until when messages are signed with it too'),
          }),
          'Secrets before it, oldest first',
        ),
        redeliveriesCancelled: time('When redeliveries were last cancelled').optional(),
      })
      .describe('What a PUT does not replace; if absent, it is as before')
      .optional(),
  }),
  SubscriptionDeleted: event('subscription-<subscriptionId>', 'A subscription was deleted.', {}),
  ReceiverDisabled: event('subscription-<subscriptionId>', 'The system has disabled a receiver.', {
    receiver,
    reason: word(['gone', 'failing'], 'Why'),
  }),
  ReceiverEnabled: event('subscription-<subscriptionId>', 'A receiver is enabled again.', { receiver }),
  SecretRotated: event('subscription-<subscriptionId>', 'Messages are signed with another secret.', {
    secret: int('Number of the secret; the secret itself is not in the log'),
  }),
  BackfillsCancelled: event(
    'subscription-<subscriptionId>',
    'Messages that were requested are not sent.',
    {},
  ),
  RedeliveriesCancelled: event('subscription-<subscriptionId>', 'Redeliveries are not made.', {}),
  TestRequested: event(requests, 'A message with example values is to be sent.', { receiver, stateId }),
  ProbeRequested: event(requests, 'A receiver that rests is to be tried at once.', { receiver }),
  MessageRequested: event(requests, 'A backfill makes a message of a transition of the past.', {
    receiver,
    message: messageId,
    subject: messageSubject,
    sequence,
    stateId,
    time: time('When the state was entered'),
    isBeyond: mark('It exceeds what is sent: a dead letter').optional(),
  }),
  RedeliveryRequested: event(requests, 'A message is to be sent again.', {
    receiver,
    message: messageId,
    revision: revisionOfMessage,
  }),
  // Deliveries, in the log
  DeliveriesOwned: event('deliveries-owner', 'Which installation sends the messages of this log.', {
    installation: text('Identifies the file of the log, or its servers'),
    created: time('When the file was created').optional(),
    key: text('Fingerprint of the key of secrets; not in `GET /ops/1.0/log`'),
  }),
  DeliveriesMatched: event('deliveries-matched', 'Messages of all earlier events were made.', {}),
  MessageDeadLettered: event('deadletter-<messageId>', 'A message is not tried again.', lost),
  // Deliveries, in the delivery log
  MessageDue: event(
    'matched',
    'A message is due.',
    {
      id: messageId,
      ...ofReceiver,
      subject: messageSubject,
      sequence,
      stateId,
      cause: position('The event that caused it'),
      ...optional({
        topic: word(TOPIC_NAMES, 'What it is about'),
        rendered: position('Where its subscription was read, if that is not `cause`'),
        made: time('When it was made, if it is of a backfill'),
        request: z
          .strictObject({
            method: word(['GET', 'POST'], 'Method'),
            url: text('Address'),
            ...optional({ contentType: text('Content type'), body: text('Body') }),
          })
          .describe('What is sent; absent: it cannot be sent, or is rendered when it is sent'),
        unsendable: text('Why it cannot be sent'),
        renderable: mark('A redelivery renders it'),
        awaitsRate: z
          .strictObject({
            from: text('ISO 4217'),
            to: text('ISO 4217'),
            upTo: position('Rates were read up to here'),
          })
          .describe('It waits for this exchange rate'),
        conversion: z
          .strictObject({
            from: text('ISO 4217'),
            to: text('ISO 4217'),
            rate: number('Rate'),
            day: text('Day of the rate, YYYY-MM-DD'),
          })
          .describe('How its amounts were converted'),
        strictOrder: mark('Messages about its subject are sent in order'),
        isTest: mark('It is a test'),
      }),
    },
    { at: 'When the state was entered' },
  ),
  RedeliveryDue: event('matched', 'A message is to be sent once more.', {
    id: messageId,
    ...ofReceiver,
    revision: revisionOfMessage,
    cancelledBefore: time('The last cancellation before the request').optional(),
  }),
  ProbeDue: event('matched', 'A receiver is to be tried at once.', ofReceiver),
  RedeliveriesWithdrawn: event('matched', 'Redeliveries that are due are not made.', ofReceiver),
  Matched: bare('matched', 'How far messages were made.', {
    upTo: position('All events up to here'),
    messages: int('Messages of the next event that were made'),
    ...optional({
      event: position('That event'),
      inTurn: mark('Messages to several organisations take turns'),
    }),
  }),
  PartitionTaken: event('partition-<number>', 'A process has taken over receivers.', {
    owner: text('The process'),
  }),
  MessageAttempted: event(
    'partition-<number>',
    'The outcome of an attempt to send a message.',
    {
      id: messageId,
      ...ofReceiver,
      revision: revisionOfMessage,
      outcome: word(['delivered', 'failed', 'dead', 'cancelled'], 'Outcome'),
      ...optional({
        attempt: int('Number of the attempt, from 1; absent: it was not attempted'),
        ms: int('Duration in milliseconds'),
        status: int('HTTP status of the answer'),
        error: text('Why it failed'),
        isTimeout: mark('The receiver has not answered in time'),
        isProbe: mark('It was attempted at the end of the receiver’s rest'),
        answer: text('The first KiB of the answer'),
        next: time('When it is tried again'),
        isManual: mark('The attempt was asked for, and is not of the schedule'),
        redelivery: int(
          'Revision of the `RedeliveryDue` that it ends; an attempt of the schedule may end one too',
        ),
        rendered: position('`rendered` of what was sent'),
        deadLetter: z.strictObject(deadLetter).describe('Of a message that is not tried again'),
      }),
    },
    { at: 'When the attempt began, or it was decided without one' },
  ),
  PartitionSaved: bare('partition-<number>', 'The state of a partition; receivers are in compact form.', {
    part: int('Number of this part, from 1'),
    parts: int('Number of parts'),
    matchedUpTo: int('Revision of the stream `matched`'),
    receivers: list(
      z.strictObject({
        id: receiver,
        ...optional({
          queue: text('Encoded integers'),
          settled: text('Encoded integers'),
          retries: text('Encoded integers'),
          redeliveries: text('Encoded integers'),
          subjects: table(z.string(), 'Subjects of retries, by revision'),
          rest: int('Milliseconds since 1970'),
          health,
        }),
      }),
      'States of receivers',
    ),
    deadLetters: list(z.strictObject({ at: time('When'), ...lost }), 'Not yet in the log').optional(),
  }),
  // What cannot be used
  EventParked: event('parked-<consumer>', 'A consumer cannot use an event.', {
    event: parkedEvent,
    type: text('Its type'),
    stream: text('Its stream'),
    revision: int('Its revision'),
    error: text('Why'),
    code: text('The version of the code'),
    after: int('A revision of the stream that the consumer appends to').optional(),
  }),
  EventRetried: event('parked-<consumer>', 'It is parked no longer.', {
    event: parkedEvent,
    stream: text('Its stream'),
    revision: int('Its revision'),
    code: text('The version of the code that retries it by itself').optional(),
  }),
  ParkedEventSkipped: event('parked-<consumer>', 'An operator gave it up.', {
    event: parkedEvent,
    reason: text('Why'),
    by: text('Who'),
  }),
  EventSkipped: event('projection-<name>', 'An operator excluded an event from a read model.', {
    event: parkedEvent,
    stream: text('Its stream'),
    document: text('Id of the document').optional(),
    reason: text('Why'),
    by: text('Who'),
  }),
  // Operators
  OperatorActed: event(
    'operator-actions',
    'An operator is about to change something.',
    {
      action: text('The command that does it'),
      by: z
        .strictObject(
          optional({
            user: text('User of the shell'),
            token: text('Fingerprint of the token'),
            organisationId: int('Organisation of the token'),
          }),
        )
        .describe('Who: a user, or the holder of a token'),
      reason: text('Why').optional(),
      asked: table(z.string(), 'Arguments, options or keys by their names'),
    },
    { at: 'When it began' },
  ),
  OperatorActionEnded: event(
    'operator-actions',
    'What an operator has begun has ended.',
    {
      began: text('Id of the event that began it'),
      failure: text('Why it failed; absent: it is done').optional(),
    },
    { at: 'When it ended' },
  ),
};
