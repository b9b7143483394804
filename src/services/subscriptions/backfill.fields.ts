import { type OperationText, type Shape } from '../../wire/api/description';
import { type AnswerOf, type PostedOf, record } from '../../wire/record/record';
import { boolean, integer, text } from '../../wire/record/kinds';
import { postedRedeliveries } from './deliveries.fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { SUBSCRIPTION_ID } from './operations';

const { minTime, maxTime, receiverId, cursor } = postedRedeliveries.fields;

/** `docs/decisions.md#n14`. */
export const postedBackfill = record(
  {
    ...{ minTime, maxTime, receiverId, cursor },
    dryRun: { kind: boolean(), otherwise: false, description: 'Only counts the messages' },
  },
  { name: 'PostedBackfill' },
);

export type PostedBackfill = PostedOf<typeof postedBackfill>;

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

export type OutputBackfill = AnswerOf<typeof backfill>;

export const BACKFILL = {
  name: 'Backfill',
  kind: backfill,
  xml: { file: 'Backfill_v1_0.xsd', root: 'backfill' },
} as const satisfies Shape;

export function backfillOperations({ typeName: name, subject }: SubscriptionKind) {
  return {
    backfill: {
      id: `backfill${name}`,
      summary: `Make the messages of transitions of the past`,
      description:
        `Of each transition of a ${subject} between two times that the subscription selects now, and did not when it happened. At most ` +
        'as long ago as messages are kept. An answer with a cursor has looked at a part of the period: post again with it.',
      example: {},
      path: SUBSCRIPTION_ID,
      body: { name: 'PostedBackfill', kind: postedBackfill },
      answer: BACKFILL,
      status: 202,
    },
    cancelBackfills: {
      id: `cancel${name}Backfills`,
      summary: 'Cancel backfills',
      description: 'All their messages that are not delivered yet, each when it would be sent next.',
      example: {},
      path: SUBSCRIPTION_ID,
      status: 200,
    },
  } as const satisfies Readonly<Record<string, OperationText>>;
}
