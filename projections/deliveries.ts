import { type FieldType, type FieldValue } from '../src/kernel/read-store';
import {
  MATCHED,
  type MatchedEvent,
  type Outcome,
  type PartitionEvent,
} from '../src/domain/deliveries/delivery-events';
import { STATES, type StoredAttempt, type StoredDelivery } from '../src/domain/deliveries/stored-delivery';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  subscriptionId: 'keyword',
  organisationId: 'number',
  receiver: 'keyword',
  topic: 'keyword',
  /** The transaction, or claim. */
  subject: 'keyword',
  stateId: 'number',
  /** `STATES` by index: as a number, since it changes. */
  state: 'number',
  /** Epoch ms. */
  at: 'number',
  /** When it was made: since then it is kept. */
  made: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type DeliveryField = keyof typeof FIELDS;

/** Attempts that are listed: the last ones. */
const ATTEMPTS = 20;

type Handled = Extract<
  MatchedEvent | PartitionEvent,
  { readonly type: 'MessageDue' | 'RedeliveryDue' | 'MessageAttempted' }
>;

/**
 * What has become of each message (`docs/decisions.md#n14`), from the delivery log. Without what is sent, which is read from
 * there.
 */
export const deliveries: Projection<StoredDelivery, Handled> = {
  collection: { name: 'deliveries', version: 5, fields: FIELDS, sorts: ['at'] },
  streams: [MATCHED, 'partition-'],
  acrossStreams: true,
  handles: ['MessageDue', 'RedeliveryDue', 'MessageAttempted'],
  replaces: ['MessageDue'],
  expires: { field: 'made', at: madeAt },
  usesDirectory: false,
  idOf: ({ data }) => data.id,
  fold(before, event) {
    switch (event.type) {
      case 'MessageDue': {
        const { subscriptionId, organisationId, receiver, topic, subject, sequence, stateId, at } =
          event.data;
        return {
          ...{ subscriptionId, organisationId, receiver, topic, subject, sequence, stateId, at },
          matched: event.revision,
          ...only('made', event.data.made),
          ...only('isTest', event.data.isTest),
          ...only('renderable', event.data.renderable),
          state: 'due',
          attempted: 0,
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
  const { next, at, attempt, error } = outcome;
  const isManual = outcome.isManual === true;
  const ended = attempt === undefined ? [] : [attemptOf(outcome)];
  const after = {
    ...factsOf(before),
    attempted: before.attempted + ended.length,
    attempts: [...before.attempts, ...ended].slice(-ATTEMPTS),
    changed: at,
    ...only('rendered', attempt === undefined ? before.rendered : outcome.rendered),
    ...only('redelivery', isManual ? undefined : before.redelivery),
    ...only('redelivered', isManual ? (before.redelivery ?? before.redelivered) : before.redelivered),
  };
  // A redelivery is one attempt in addition to the schedule: unless it succeeds, everything else stays as it is. If it has
  // succeeded, an attempt of the schedule that was under way meanwhile changes nothing.
  const isDecided = outcome.outcome !== 'delivered' && (isManual || before.state === 'delivered');
  if (isDecided)
    return { ...after, state: before.state, ...only('next', before.next), ...only('reason', before.reason) };
  return {
    ...after,
    state: STATE_AFTER[outcome.outcome],
    ...only('next', next),
    ...only('reason', attempt === undefined ? error : undefined),
  };
}

/** What does not change. */
function factsOf(stored: StoredDelivery): Omit<StoredDelivery, 'state' | 'attempted' | 'attempts'> {
  const { subscriptionId, organisationId, receiver, topic, subject } = stored;
  const { sequence, stateId, at, made, matched, isTest, renderable } = stored;
  return {
    ...{ subscriptionId, organisationId, receiver, topic, subject, sequence, stateId, at, matched },
    ...only('made', made),
    ...only('isTest', isTest),
    ...only('renderable', renderable),
  };
}

/** An object with the property, or without it if there is no value. */
function only<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [_ in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [_ in Name]?: Value });
}

const STATE_AFTER = {
  delivered: 'delivered',
  failed: 'retrying',
  dead: 'dead',
  cancelled: 'cancelled',
} as const;

function attemptOf({ attempt = 0, at, ms, status, error, answer, isManual }: Outcome): StoredAttempt {
  return {
    ...{ attempt, at },
    ...only('ms', ms),
    ...only('status', status),
    ...only('error', error),
    ...only('answer', answer),
    ...only('isManual', isManual),
  };
}

function fieldsOf(stored: StoredDelivery): Readonly<Record<DeliveryField, FieldValue>> {
  const { subscriptionId, organisationId, receiver, topic, subject, stateId, state, at } = stored;
  return {
    ...{ subscriptionId, organisationId, receiver, topic, subject, stateId },
    state: STATES.indexOf(state),
    at: Date.parse(at),
    made: madeAt(stored),
  };
}

/** When a message was made, at the latest (epoch ms): those of backfills long after their transition. */
function madeAt({ at, made = at }: StoredDelivery): number {
  return Date.parse(made);
}
