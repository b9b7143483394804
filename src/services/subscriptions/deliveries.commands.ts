import { Injectable } from '@nestjs/common';
import { oldestDeliveries, type OldestDeliveries } from '../../../projections/deliveries';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import {
  decideRedelivery,
  isRedeliveredInBulk,
  pendingSince,
  redeliveryOf,
  type RedeliveryRefusal,
} from '../../domain/deliveries/redelivery';
import { type ListedDelivery } from '../../domain/deliveries/stored-delivery';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import { appendRequests, lastRequest } from '../../domain/subscriptions/delivery-requests';
import { type ActiveSubscription } from '../../domain/subscriptions/subscription';
import { type Position, START } from '../../kernel/event';
import { EventLog, RevisionConflict } from '../../kernel/event-log';
import { type Fault } from '../../kernel/fault';
import { ReadStore } from '../../kernel/read-store';
import { type Posted, Refusals } from '../../wire/api/posted';
import { ListCursors } from '../../wire/keys/pages';
import { complete, recordReader } from '../../wire/record/read';
import { requestsSince, Subscriptions } from './commands';
import { postedRedeliveries, type PostedRedeliveries } from './deliveries.fields';
import { DeliveryQueries, heldReceivers } from './deliveries.queries';
import { type OwnedSubscription, receiverProblem, type Which } from './subscription.queries';

const readPeriod = recordReader(postedRedeliveries);

function checkedPeriod({ id }: Which, subscription: ActiveSubscription, posted: Posted): PostedRedeliveries {
  const refusals = new Refusals({ unusable: fault.content });
  const period = readPeriod(posted, refusals);
  const { minTime, maxTime, receiverId } = period;
  if (minTime !== undefined && maxTime !== undefined && Date.parse(minTime) > Date.parse(maxTime))
    refusals.add(fault.content, `minTime is ${minTime}: expected a time up to maxTime, ${maxTime}`);
  const problem = receiverId === undefined ? undefined : receiverProblem(id, subscription, receiverId);
  if (problem !== undefined) refusals.add(fault.unknownReceiver, problem);
  return complete<PostedRedeliveries>(period, refusals);
}

const REFUSED: Readonly<Record<RedeliveryRefusal, (reason: string) => Fault>> = {
  deleted: fault.unknownSubscription,
  'no receiver': fault.unknownReceiver,
  'not kept': fault.unknownDelivery,
  unsendable: fault.content,
};

/** Most messages of one command, and of one append. */
const MOST = 10_000;
const APPEND = 500;

type PeriodKeys = Omit<PostedRedeliveries, 'dryRun' | 'cursor'> & { readonly cursor: string | undefined };

const cursors = new ListCursors<PeriodKeys>({ presentation: [], excluded: [], refuse: fault.content });

function keysOf({ minTime, maxTime, receiverId, state, cursor }: PostedRedeliveries): PeriodKeys {
  return { minTime, maxTime, state, ...(receiverId === undefined ? {} : { receiverId }), cursor };
}

/** A subscription, with the redeliveries that were asked for up to a revision of its requests. */
interface AskedRedeliveries {
  readonly which: Which;
  readonly known: OwnedSubscription;
  readonly revision: number;
  /** When each message was last asked for, by ids. */
  readonly lastRequests: ReadonlyMap<string, string>;
  /** Epoch ms; no message of interest is older. */
  readonly since: number;
}

interface RequestedRedeliveries {
  readonly asked: AskedRedeliveries;
  /** Absent if all messages were asked for already. */
  readonly position?: Position;
  readonly count: number;
}

/**
 * Redeliveries (ADR 18). Each message is asked for once, until it is attempted (`docs/decisions.md#n17`). What was
 * asked for is read from the requests of the subscription, and appended at the revision that was read. So read models
 * may be behind, and requests may race.
 */
@Injectable()
export class RedeliveryCommands {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly queries: DeliveryQueries,
    private readonly store: ReadStore,
    private readonly log: EventLog,
  ) {}

  /** Has a message sent again (`docs/decisions.md#n14`). Raises CON_540 if it is no longer kept. */
  async redeliver(which: Which, messageId: string) {
    const known = await this.subscriptions.owned(which);
    const listed = await this.queries.delivery(which, messageId);
    const message = await this.queries.toSend(which.topic, known, listed);
    const before = await this.read(which, Date.parse(listed.at), known);
    const at = this.subscriptions.now();
    const { state: subscription } = known;
    const lastRequest = before.lastRequests.get(messageId);
    const decision = decideRedelivery(
      { subscription, listed, message, lastRequest },
      { at, mayRepeat: false },
    );
    if (decision.is === 'refused') throw REFUSED[decision.because](decision.reason);
    const { asked, position = await this.probe(which, listed, at) } = await this.request(
      before,
      [listed],
      at,
    );
    const redelivery = pendingIn(asked, listed);
    const pending = { ...listed, ...(redelivery === undefined ? {} : { redelivery }) };
    const details = await this.queries.detailsOf(which, asked.known, pending);
    const isHeld = heldReceivers(which.id, asked.known.state).has(listed.receiver);
    return { delivery: isHeld ? details : { ...details, nextAttempt: at }, position };
  }

  /** The message is asked for already: if its receiver rests, it is tried now. */
  private async probe(which: Which, { receiver }: ListedDelivery, at: string): Promise<Position> {
    const isResting = (await this.queries.resting([receiver])).size > 0;
    const { disabledReceivers } = (await this.subscriptions.owned(which)).state;
    if (!isResting || receiver in disabledReceivers) return await this.log.head();
    const probe = { type: 'ProbeRequested', data: { at, receiver } } as const;
    return (await this.subscriptions.request(which.id, probe)).position;
  }

  /** Has dead letters, or others, of a period sent again. `posted` is unchecked; raises everything that is wrong. */
  async redeliverAll(which: Which, posted: Posted) {
    const known = await this.subscriptions.owned(which);
    const period = checkedPeriod(which, known.state, posted);
    const at = this.subscriptions.now();
    let asked = await this.read(which, Date.parse(period.minTime), known);
    const { found, remaining, next } = await this.found(asked, period);
    const more = {
      remaining,
      ...(next === undefined ? {} : { cursor: cursors.write(keysOf(period), next) }),
    };
    if (period.dryRun) return { requested: found.length, ...more, position: await this.log.head() };
    let [requested, position]: [number, Position | undefined] = [0, undefined];
    for (let from = 0; from < found.length; from += APPEND) {
      const done = await this.request(asked, found.slice(from, from + APPEND), at);
      ({ asked, position = position } = done);
      requested += done.count;
    }
    return { requested, ...more, position: position ?? (await this.log.head()) };
  }

  /**
   * Those to receivers that the subscription still has, and that were attempted or may be rendered, without those that
   * are asked for already.
   */
  private async found(asked: AskedRedeliveries, period: PostedRedeliveries): Promise<OldestDeliveries> {
    const { id } = asked.which;
    const { minTime, maxTime, receiverId, state } = period;
    const at = { min: Date.parse(minTime), max: Date.parse(maxTime) };
    const receiver =
      receiverId === undefined ? [...receiversOf(id, asked.known.state.content).keys()] : [receiverId];
    const criteria = { subscriptionId: [id], receiver, states: [{ state }], at };
    const page = { most: MOST, start: cursors.read(keysOf(period)) ?? null };
    const resting = await this.queries.resting(receiver);
    const now = Date.parse(this.subscriptions.now());
    const isWanted = (listed: ListedDelivery): boolean =>
      isRedeliveredInBulk(listed, resting.has(listed.receiver) ? undefined : now) &&
      pendingIn(asked, listed) === undefined;
    return await oldestDeliveries(this.store, criteria, page, isWanted);
  }

  /** `since`: epoch ms; `known`: the subscription, if it was loaded. Raises CON_200 and CON_210. */
  private async read(which: Which, since: number, known?: OwnedSubscription): Promise<AskedRedeliveries> {
    const revision = await lastRequest(this.log, which.id);
    return {
      ...{ which, since, revision },
      known: known ?? (await this.subscriptions.owned(which)),
      lastRequests: await this.lastRequests(which.id, revision, since),
    };
  }

  /** Asks for messages, as many as an append has room for, without those that are asked for already. */
  private async request(
    asked: AskedRedeliveries,
    messages: readonly ListedDelivery[],
    at: string,
  ): Promise<RequestedRedeliveries> {
    for (let current = asked; ; current = await this.read(asked.which, asked.since)) {
      const { which, revision: before, lastRequests } = current;
      const wanted = messages.filter((listed) => pendingIn(current, listed) === undefined);
      if (wanted.length === 0) return { asked: current, count: 0 };
      const events = wanted.map((listed) => redeliveryOf(listed, at));
      try {
        const { revision, position } = await appendRequests(
          this.subscriptions.clock,
          this.log,
          which.id,
          events,
          before,
        );
        const own = events.map(({ data }) => [data.message, data.at] as const);
        return {
          asked: { ...current, revision, lastRequests: new Map([...lastRequests, ...own]) },
          count: wanted.length,
          position,
        };
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
      }
    }
  }

  /** Reads back to `since`: no message is asked for before what it is about has happened. */
  private async lastRequests(
    id: string,
    revision: number,
    since: number,
  ): Promise<ReadonlyMap<string, string>> {
    const requests = new Map<string, { readonly at: string; readonly position: Position }>();
    let cancelled = START;
    for await (const { type, data, position } of requestsSince(this.log, id, revision, since))
      if (type === 'RedeliveriesCancelled' && position > cancelled) cancelled = position;
      else if (type === 'RedeliveryRequested' && position > (requests.get(data.message)?.position ?? START))
        requests.set(data.message, { at: data.at, position });
    const current = [...requests].filter(([, { position }]) => position > cancelled);
    return new Map(current.map(([message, { at }]) => [message, at]));
  }
}

/** Since when a message is to be sent once more; undefined if nobody has asked for it, or it was attempted since. */
function pendingIn({ lastRequests }: AskedRedeliveries, listed: ListedDelivery): string | undefined {
  return pendingSince(listed, lastRequests.get(listed.messageId));
}
