import { type FieldType, type FieldValue } from '../src/kernel/read-store';
import {
  MATCHED,
  type MatchedEvent,
  type Outcome,
  type PartitionEvent,
} from '../src/notifications/delivery-events';
import { STATES, type StoredAttempt, type StoredDelivery } from '../src/notifications/stored-delivery';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  subscriptionId: 'keyword',
  organisationId: 'number',
  receiver: 'keyword',
  /** The transaction. */
  subject: 'keyword',
  stateId: 'number',
  /** `STATES` by index: as a number, since it changes. */
  state: 'number',
  /** Epoch ms. */
  at: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type DeliveryField = keyof typeof FIELDS;

/** Attempts that are listed: the last ones. */
const ATTEMPTS = 20;

type Handled = Extract<
  MatchedEvent | PartitionEvent,
  { readonly type: 'MessageDue' | 'RedeliveryDue' | 'MessageAttempted' }
>;

/**
 * What has become of each message (`docs/decisions.md#n14`), from the delivery log. Without what is sent, which is read from there.
 */
export const deliveries: Projection<StoredDelivery, Handled> = {
  collection: { name: 'deliveries', version: 1, fields: FIELDS, sorts: ['at'] },
  streams: [MATCHED, 'partition-'],
  acrossStreams: true,
  handles: ['MessageDue', 'RedeliveryDue', 'MessageAttempted'],
  replaces: ['MessageDue'],
  expires: { field: 'at', at: ({ at }) => Date.parse(at) },
  idOf: ({ data }) => data.id,
  fold(before, event) {
    switch (event.type) {
      case 'MessageDue': {
        const { subscriptionId, organisationId, receiver, subject, sequence, stateId, at } = event.data;
        const { isTest } = event.data;
        return {
          ...{ subscriptionId, organisationId, receiver, subject, sequence, stateId, at },
          ...(isTest === true ? { isTest } : {}),
          matched: event.revision,
          state: 'due',
          attempts: [],
        };
      }
      case 'RedeliveryDue':
        return before && { ...before, redelivery: event.data.at };
      case 'MessageAttempted':
        // Its message has expired.
        return before && afterOutcome(before, event.data);
    }
  },
  describe: (document) => ({ document, fields: fieldsOf(document) }),
};

function afterOutcome(before: StoredDelivery, outcome: Outcome): StoredDelivery {
  const { next: _, redelivery: __, ...rest } = before;
  const attempts = outcome.attempt === undefined ? before.attempts : [...before.attempts, attemptOf(outcome)];
  const listed = { attempts: attempts.slice(-ATTEMPTS), changed: outcome.at };
  const { next } = outcome;
  // A redelivery is one attempt in addition to the schedule: unless it succeeds, everything else stays as it is.
  if (outcome.isManual === true && outcome.outcome !== 'delivered') {
    const schedule = before.next === undefined ? {} : { next: before.next };
    return { ...rest, ...schedule, ...listed };
  }
  const redelivery = outcome.isManual === true ? {} : pendingOf(before);
  return {
    ...rest,
    ...redelivery,
    ...listed,
    state: STATE_AFTER[outcome.outcome],
    ...(next === undefined ? {} : { next }),
    ...(outcome.error === undefined || outcome.attempt !== undefined ? {} : { reason: outcome.error }),
  };
}

const STATE_AFTER = {
  delivered: 'delivered',
  failed: 'retrying',
  dead: 'dead',
  cancelled: 'cancelled',
} as const;

function pendingOf({ redelivery }: StoredDelivery): Pick<StoredDelivery, 'redelivery'> {
  return redelivery === undefined ? {} : { redelivery };
}

function attemptOf({ attempt = 0, at, ms, status, error, answer, isManual }: Outcome): StoredAttempt {
  return {
    attempt,
    at,
    ...(ms === undefined ? {} : { ms }),
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    ...(answer === undefined ? {} : { answer }),
    ...(isManual === undefined ? {} : { isManual }),
  };
}

function fieldsOf(stored: StoredDelivery): Readonly<Record<DeliveryField, FieldValue>> {
  const { subscriptionId, organisationId, receiver, subject, stateId, state, at } = stored;
  return {
    ...{ subscriptionId, organisationId, receiver, subject, stateId },
    state: STATES.indexOf(state),
    at: Date.parse(at),
  };
}
