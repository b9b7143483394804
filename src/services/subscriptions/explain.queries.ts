import { Injectable } from '@nestjs/common';
import { deliveryOf } from '../../../projections/delivery-list';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { EventLog } from '../../kernel/event-log';
import { ReadStore } from '../../kernel/read-store';
import { type ExplainedEvent, type Explanation, explainMatches } from '../../delivery/matching/explain';
import { messageIdOf, receiversOf } from '../../domain/subscriptions/receiver-id';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { type Which } from './commands';
import { namedFor } from './deliveries.names';
import { heldReceivers, toDelivery } from './deliveries.output';
import { type OutputExplained, type RESULTS } from './explain.fields';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { ownedSubscription } from './owned-subscription';

/** Ids of transactions and claims. */
const SUBJECT = /^[0-9a-f]{1,64}$/;

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
    const { kind, id, caller } = which;
    const { state } = await ownedSubscription(this.log, kind, id, caller);
    const stream = SUBJECT.test(subject) ? kind.streamOf(subject) : undefined;
    const events =
      stream === undefined ? [] : await explainMatches(this.log, kind, stream, { only: id, last: MOST });
    if (ownOf(events, caller).next().done === true)
      throw fault.unknownTransaction(
        `${subject.slice(0, 100)}: expected the ${kind.subjectField} of a ${kind.subject} of yours`,
      );
    const output = async (one: OwnEvent): Promise<OutputExplained> => await this.output(which, state, one);
    return (async function* () {
      for (const one of ownOf(events, caller)) yield [namedFor(kind, await output(one))];
    })();
  }

  private async output(
    { kind, id }: Which,
    state: ActiveSubscription,
    { event, occurrence, explanation }: OwnEvent,
  ): Promise<OutputExplained> {
    const { stateId, at, sequence } = occurrence;
    const reason = reasonOf(explanation, kind);
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
  readonly occurrence: NonNullable<ExplainedEvent['occurrence']>;
  readonly explanation: Explanation;
}

/** A transition that the caller is a party of, at the site of its token if that is for one. */
function explainedFor(
  { event, occurrence, subscriptions: [found] }: ExplainedEvent,
  { organisationId, siteId }: Which['caller'],
): readonly OwnEvent[] {
  const isOwn =
    occurrence?.parties.includes(organisationId) === true &&
    (siteId === undefined || occurrence.siteId === siteId);
  return isOwn && found !== undefined ? [{ event, occurrence, explanation: found.explanation }] : [];
}

function* ownOf(events: Iterable<ExplainedEvent>, caller: Which['caller']): Generator<OwnEvent, undefined> {
  for (const one of events) yield* explainedFor(one, caller);
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

function reasonOf(explanation: Explanation, { states }: SubscriptionKind): string | undefined {
  switch (explanation.is) {
    case 'excluded':
      return explanation.by
        .map(({ clause, allowed, found }) => {
          const name = clause === 'stateIds' ? states.field : clause;
          const of = clause === 'siteId' ? 'the subscription is for site' : `filter.${name} has`;
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
