import { type OperationText, type Shape } from '../../wire/api/description';
import { TEXT } from '../../wire/keys/types';
import { type AnswerOf, type Fields, listOf, record } from '../../wire/record/record';
import { instant, integer, text, wordOf } from '../../wire/record/kinds';
import { DELIVERY_STATES } from './deliveries.keys';
import { namedFor } from './deliveries.names';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { SUBSCRIPTION_ID } from './operations';

const optional = { optional: true } as const;

/** What a subscription made of a transition (`docs/decisions.md#n14`). */
export const RESULTS = ['matched', 'excluded', 'disabled', 'createdLater'] as const;

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
      description: 'What has become of the message; absent while it is not listed yet, or is no longer kept',
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

function explainedTransition(kind: SubscriptionKind) {
  return record(namedFor(kind, EXPLAINED), { name: `${kind.prefix}ExplainedTransition` });
}

export type OutputExplained = AnswerOf<ReturnType<typeof explainedTransition>>;

/** The shape of an explanation. */
export function explanationShape(kind: SubscriptionKind) {
  const { prefix } = kind;
  return {
    name: `${prefix}Explanation`,
    kind: listOf(explainedTransition(kind), { each: 'transition' }),
    xml: { file: `${prefix}Explanation_v1_0.xsd`, root: 'explanation' },
  } as const satisfies Shape;
}

export function explainOperations(kind: SubscriptionKind) {
  const { typeName: name, subject, subjectField, subjectId } = kind;
  return {
    explain: {
      id: `explain${name}`,
      summary: `Explain why messages about a ${subject} were sent, or not`,
      description: `For each transition of the ${subject}, what the subscription made of it, and what has become of its messages.`,
      example: {},
      path: {
        ...SUBSCRIPTION_ID,
        [subjectField]: {
          type: TEXT,
          description: `Id of a ${subject} of yours`,
          example: subjectId,
        },
      },
      answer: explanationShape(kind),
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}
