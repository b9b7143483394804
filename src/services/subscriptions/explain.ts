import { Controller, Get, Injectable, Param, type Type } from '@nestjs/common';
import { deliveryOf } from '../../../projections/deliveries';
import { type ExplainedEvent, explainMatches, type Explanation } from '../../delivery/matching/explain';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import { messageIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { isParty, type Occurrence, type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { ApiOperation, Roles } from '../../http/decorators';
import { ListAnswer } from '../../http/answer';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { type OperationText, shape } from '../../wire/api/description';
import { TEXT } from '../../wire/keys/keys';
import { instant, integer, text, wordOf } from '../../wire/record/kinds';
import { type AnswerOf, type Fields, listOf, record } from '../../wire/record/record';
import { DELIVERY_STATES, namedFor } from './deliveries.fields';
import { heldReceivers, toDelivery } from './deliveries.queries';
import { ownedSubscription, type Which } from './subscription.queries';
import { SUBSCRIBERS, SUBSCRIPTION_ID, Wanted } from './subscriptions.controller';

const optional = { optional: true } as const;

/** What a subscription made of a transition (`docs/decisions.md#n14`). */
const RESULTS = ['matched', 'excluded', 'disabled', 'createdLater'] as const;

const message = record(
  {
    receiverId: { kind: text(), description: 'Id of the receiver' },
    messageId: {
      kind: text(),
      ...optional,
      description: 'Id of the message; absent if none was made, since the receiver was disabled by its owner',
    },
    state: {
      kind: wordOf(...DELIVERY_STATES),
      ...optional,
      description: 'State of the message; absent while it is not listed yet, or is no longer kept',
    },
    reason: {
      kind: text(),
      ...optional,
      description:
        'Why the message waits without an attempt, such as for an exchange rate, or was given up without one',
    },
  },
  { name: 'ExplainedMessage' },
);

const EXPLAINED = {
  sequenceNumber: { kind: text(), description: 'Number of the event' },
  time: { kind: instant(), description: 'When the state was entered' },
  messageTypeId: { kind: integer(), description: 'State that was entered' },
  result: { kind: wordOf(...RESULTS), description: 'What the subscription made of it at that time' },
  reason: { kind: text(), ...optional, description: 'Why no messages were made' },
  messages: { kind: listOf(message, { each: 'message' }), description: 'By receivers' },
} as const satisfies Fields;

function explainedTransition(topic: SubscriptionTopic) {
  return record(namedFor(topic, EXPLAINED), { name: `${topic.prefix}ExplainedTransition` });
}

type OutputExplained = AnswerOf<ReturnType<typeof explainedTransition>>;

function explanationShape(topic: SubscriptionTopic) {
  const transitions = listOf(explainedTransition(topic), { each: 'transition' });
  return shape(`${topic.prefix}Explanation`, transitions, 'explanation');
}

export function explainOperations(topic: SubscriptionTopic) {
  const { typeName: name, subject, subjectField, subjectId } = topic;
  return {
    explain: {
      id: `explain${name}`,
      summary: `Explain why messages about a ${subject} were sent, or not`,
      description: `For each transition of the ${subject}, what the subscription made of it, and the state of its messages.`,
      path: {
        ...SUBSCRIPTION_ID,
        [subjectField]: { type: TEXT, description: `Id of a ${subject} of yours`, example: subjectId },
      },
      answer: explanationShape(topic),
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}

/** Ids of transactions, claims and vouchers, or of a product of a feed. */
const SUBJECT = /^[0-9a-f]{1,64}$|^\d{1,15}-/;

/** Transitions that are explained: the last ones. */
const MOST = 1000;

/** Why messages were made, or not (`docs/decisions.md#n14`). */
@Injectable()
export class ExplainQueries {
  constructor(
    private readonly store: ReadStore,
    private readonly log: EventLog,
  ) {}

  /** Raises CON_200 and CON_210, and CON_500 unless the caller is a party of the subject. */
  async explain(which: Which, subject: string): Promise<AsyncIterable<readonly OutputExplained[]>> {
    const { topic, id, caller } = which;
    const { state } = await ownedSubscription(this.log, which);
    const events = SUBJECT.test(subject)
      ? await explainMatches(this.log, topic, topic.streamOf(subject), { only: id, last: MOST, subject })
      : [];
    if (ownOf(events, caller).next().done === true)
      throw fault.unknownTransaction(
        `${subject.slice(0, 100)}: expected the ${topic.subjectField} of a ${topic.subject} that you can see`,
      );
    const output = async (one: OwnEvent): Promise<OutputExplained> => await this.output(which, state, one);
    return (async function* () {
      for (const one of ownOf(events, caller)) yield [namedFor(topic, await output(one))];
    })();
  }

  private async output(
    { topic, id }: Which,
    state: ActiveSubscription,
    { event, seen, explanation }: OwnEvent,
  ): Promise<OutputExplained> {
    const { stateId, at, sequence } = seen;
    const reason = reasonOf(explanation, topic);
    return {
      sequenceNumber: String(sequence),
      time: at,
      messageTypeId: stateId,
      result: resultOf(explanation),
      ...(reason === undefined ? {} : { reason }),
      messages: await this.messages(id, state, event.id, explanation),
    };
  }

  /** Those that were made at that time, and those that are listed: they were made later. */
  private async messages(
    id: string,
    state: ActiveSubscription,
    event: string,
    explanation: Explanation,
  ): Promise<OutputExplained['messages']> {
    const then = explanation.is === 'matched' ? explanation.receivers : [];
    const known = new Set(then.map((one) => one.id));
    const others = [...receiversOf(id, state.content).keys()].filter((receiver) => !known.has(receiver));
    const held = heldReceivers(id, state);
    const found = [...then, ...others.map((receiver) => ({ id: receiver }))].map(async (receiver) => {
      const messageId = messageIdOf(event, receiver.id);
      const listed = await deliveryOf(this.store, messageId);
      const wasMade = known.has(receiver.id) && 'message' in receiver;
      if (listed === undefined)
        return known.has(receiver.id) ? [{ receiverId: receiver.id, ...(wasMade ? { messageId } : {}) }] : [];
      const waiting = { isHeld: (one: string) => held.has(one), restingUntil: new Map<string, number>() };
      const { state: shown } = toDelivery(listed, waiting);
      const why = listed.reason === undefined ? {} : { reason: listed.reason };
      return [{ receiverId: receiver.id, messageId, state: shown, ...why }];
    });
    return (await Promise.all(found)).flat();
  }
}

interface OwnEvent {
  readonly event: ExplainedEvent['event'];
  readonly seen: Occurrence;
  readonly explanation: Explanation;
}

/** The transitions that the caller is a party of, at the site of its token if that is for one. */
function* ownOf(
  events: Iterable<ExplainedEvent>,
  { organisationId, siteId }: Which['caller'],
): Generator<OwnEvent, undefined> {
  for (const { event, subscriptions } of events) {
    const [found] = subscriptions;
    if (found === undefined || !isParty(found.seen, organisationId)) continue;
    const { siteId: site } = found.seen;
    if (siteId === undefined || (typeof site === 'object' ? site.has(siteId) : site === siteId))
      yield { event, ...found };
  }
}

function resultOf({ is }: Explanation): (typeof RESULTS)[number] {
  switch (is) {
    case 'matched':
    case 'excluded':
    case 'disabled':
      return is;
    case 'created later':
    case 'deleted before':
    case 'of no party':
      return 'createdLater';
  }
}

function reasonOf(explanation: Explanation, { states }: SubscriptionTopic): string | undefined {
  switch (explanation.is) {
    case 'excluded':
      return explanation.by
        .map(({ clause, allowed, found }) => {
          const name = clause === 'stateIds' ? states.field : clause;
          const of = clause === 'siteId' ? 'the subscription is for site' : `filter.${name} has`;
          if (clause === 'minFallPercent')
            return `filter.${name} is ${allowed.join()}, and the price fell by ${found ?? 0} per cent`;
          return `${of} ${allowed.join(', ')} only, not ${found ?? 'what has no value'}`;
        })
        .join('; ');
    case 'disabled':
      return 'the subscription was disabled';
    case 'created later':
      return `the subscription was created at ${explanation.at}`;
    default:
      return undefined;
  }
}

export function explainController(topic: SubscriptionTopic): Type<object> {
  const { explain } = explainOperations(topic);

  @Controller(topic.path)
  @Roles(SUBSCRIBERS)
  class ExplainController {
    constructor(private readonly queries: ExplainQueries) {}

    @Get(`:id/explain/:${topic.subjectField}`)
    @ApiOperation(explain)
    explain(@Wanted(topic) which: Which, @Param(topic.subjectField) subject: string): ListAnswer {
      return ListAnswer.of(explain, async () => ({ items: await this.queries.explain(which, subject) }));
    }
  }
  return ExplainController;
}
