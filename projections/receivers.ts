import { type FieldType } from '../src/kernel/read-store';
import { type Outcome, type PartitionEvent } from '../src/domain/deliveries/delivery-events';
import { type ReceiverAttempt, type ReceiverDay } from '../src/domain/deliveries/stored-delivery';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  receiver: 'column',
  subscriptionId: 'keyword',
  organisationId: 'number',
  /** The start of the day, epoch ms. */
  at: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type ReceiverField = keyof typeof FIELDS;

type Handled = Extract<PartitionEvent, { readonly type: 'MessageAttempted' }>;

/**
 * How deliveries to each receiver go, by day (`docs/decisions.md#n14`): days expire as the delivery log does, so that a rebuild
 * gives the same.
 */
export const receivers: Projection<ReceiverDay, Handled> = {
  collection: { name: 'receivers', version: 1, fields: FIELDS, sorts: ['at'] },
  streams: ['partition-'],
  handles: ['MessageAttempted'],
  expires: { field: 'at', at: ({ day }) => Date.parse(day) },
  usesDirectory: false,
  idOf: ({ data: { receiver, at } }) => `${receiver} ${dayOf(at)}`,
  fold: (before, { data }) => afterOutcome(before ?? newDay(data), data),
  describe: (document) => {
    const { receiver, subscriptionId, organisationId, day } = document;
    return { document, fields: { receiver, subscriptionId, organisationId, at: Date.parse(day) } };
  },
};

function dayOf(at: string): string {
  return at.slice(0, 10);
}

function newDay({ receiver, subscriptionId, organisationId, at }: Outcome): ReceiverDay {
  const counts = { attempts: 0, failed: 0, delivered: 0, dead: 0 };
  return { receiver, subscriptionId, organisationId, day: dayOf(at), ...counts };
}

function afterOutcome(before: ReceiverDay, outcome: Outcome): ReceiverDay {
  const { at, attempt, outcome: kind } = outcome;
  const { receiver, subscriptionId, organisationId, day } = before;
  const isSuccess = kind === 'delivered';
  const isFailure = attempt !== undefined && !isSuccess;
  const failingSince = isSuccess ? undefined : (before.failingSince ?? (isFailure ? at : undefined));
  const lastSuccess = isSuccess ? attemptOf(outcome) : before.lastSuccess;
  const lastFailure = isFailure ? attemptOf(outcome) : before.lastFailure;
  return {
    ...{ receiver, subscriptionId, organisationId, day },
    attempts: before.attempts + (attempt === undefined ? 0 : 1),
    failed: before.failed + (isFailure ? 1 : 0),
    delivered: before.delivered + (isSuccess ? 1 : 0),
    dead: before.dead + (kind === 'dead' ? 1 : 0),
    ...(lastSuccess === undefined ? {} : { lastSuccess }),
    ...(lastFailure === undefined ? {} : { lastFailure }),
    ...(failingSince === undefined ? {} : { failingSince }),
  };
}

function attemptOf({ at, status, error }: Outcome): ReceiverAttempt {
  return {
    at,
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
  };
}
