import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  appendRequests,
  backTo,
  type DeliveryRequest,
  requestStream,
} from '../../domain/subscriptions/delivery-requests';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import {
  type ActiveSubscription,
  MOST_ROTATIONS,
  nextRotation,
  SUBSCRIPTION,
  type SubscriptionCommand,
  type SubscriptionContent,
  subscriptionDecider,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../domain/subscriptions/subscription';
import { type SubscriptionTopic } from '../../domain/subscriptions/topic';
import { VisibleWrites } from '../../http/visible-writes';
import {
  eventAt,
  lastEvent,
  execute,
  type Executed,
  load,
  type StateAt,
  toDomainEvent,
} from '../../kernel/decider';
import { namedUuid, NO_STREAM, type Position, streamOf } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { without } from '../../kernel/values';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../runtime/clock';
import { type Posted } from '../../wire/api/posted';
import { SubscriptionCheck, type SubscriptionCheckParts } from './subscription-check';
import {
  missingSubscription,
  type OwnedSubscription,
  ownedSubscription,
  SubscriptionParts,
  type Which,
} from './subscription.queries';

/**
 * The requests of a subscription up to a revision of them, back to a time (epoch ms) or a position, newest first; after
 * them what is in the stream of the subscription, where old logs have requests, and where they are cancelled.
 */
export async function* requestsSince(
  log: EventLog,
  subscriptionId: string,
  revision: number,
  since: number | Position,
): AsyncGenerator<SubscriptionEvent & { readonly position: Position }> {
  yield* backTo<SubscriptionEvent>(log, requestStream(subscriptionId), since, revision);
  yield* backTo<SubscriptionEvent>(log, streamOf(SUBSCRIPTION, subscriptionId), since);
}

type Subscriber = Pick<Caller, 'organisationId' | 'kind' | 'siteId'>;

/** A subscription after a command, and the position from which lists include it. */
interface WrittenSubscription {
  readonly subscriptionId: string;
  readonly subscription: ActiveSubscription;
  readonly position: Position;
}

interface ChangedSubscription {
  readonly subscription: ActiveSubscription;
  readonly position: Position;
  /** Whether the command has changed anything. */
  readonly isChanged: boolean;
}

/** Events that may be read of a subscription each time. */
const MOST_EVENTS = 1_000;

/** Executes commands on subscriptions, and waits until lists show the outcome. */
@Injectable()
export class Subscriptions {
  constructor(
    private readonly log: EventLog,
    @Inject(VisibleWrites) private readonly visible: Pick<VisibleWrites, 'after'>,
    readonly clock: Clock,
  ) {}

  now(): string {
    return this.clock.now().toISOString();
  }

  /**
   * Old logs have requests in the streams of subscriptions. The state that is read of a long one is appended, so that
   * it is short from then on.
   */
  async owned(which: Which): Promise<OwnedSubscription> {
    const owned = await ownedSubscription(this.log, which);
    if (owned.events <= MOST_EVENTS) return owned;
    const command = { do: 'restate', at: this.now() } as const;
    await execute(this.clock, this.log, subscriptionDecider, which.id, command, owned);
    return await ownedSubscription(this.log, which);
  }

  /** Creates a subscription; raises CON_350 if there are too many. */
  async create(command: CreateCommand, request?: RepeatedRequest): Promise<WrittenSubscription> {
    const created = await new NewSubscriptions(this.clock, this.log).create(command, request);
    if (created?.state.is !== 'active')
      throw fault.content(
        `you have ${MOST_SUBSCRIPTIONS} subscriptions: expected at most that many; delete one first`,
      );
    const position = await this.visible.after([created]);
    return { subscriptionId: created.id, subscription: created.state, position };
  }

  /** Raises CON_210 if the subscription is deleted meanwhile, CON_350 for a rotation too many. */
  async change(
    id: string,
    command: Exclude<SubscriptionCommand, CreateCommand>,
    known: StateAt<ActiveSubscription>,
  ): Promise<ChangedSubscription> {
    const executed = await execute(this.clock, this.log, subscriptionDecider, id, command, known);
    const isDeleted = command.do === 'delete' && executed.events.length > 0;
    if (executed.state.is !== 'active' && !isDeleted) throw missingSubscription(id);
    const subscription = executed.state.is === 'active' ? executed.state : known.state;
    if (command.do === 'rotateSecret' && executed.events.length === 0)
      throw tooManyRotations(subscription, command.at);
    const position = await this.visible.after([executed]);
    return { subscription, position, isChanged: executed.events.length > 0 };
  }

  /** Asks for something to be sent. Of a subscription that is deleted meanwhile nothing is. */
  async request(
    id: string,
    request: DeliveryRequest,
  ): Promise<{ readonly id: string; readonly position: Position }> {
    const { ids, ...appended } = await appendRequests(this.clock, this.log, id, [request]);
    return { id: ids[0] ?? '', position: await this.visible.after([appended]) };
  }
}

/**
 * What callers may do with subscriptions. What was posted is unchecked: everything that is wrong is raised (ADR 18).
 */
@Injectable()
export class SubscriptionCommands {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly follower: FollowedDirectory,
    private readonly parts: SubscriptionParts,
  ) {}

  /** Document 2, Subscriptions. */
  async create(
    topic: SubscriptionTopic,
    posted: Posted,
    caller: Subscriber,
    request?: RepeatedRequest,
  ): Promise<WrittenSubscription> {
    const subscription = this.checked(topic, posted, caller);
    const { organisationId } = caller;
    const at = this.subscriptions.now();
    const command = { do: 'create', at, topic: topic.name, organisationId, subscription } as const;
    return await this.subscriptions.create(command, request);
  }

  async replace(
    which: Which & { readonly caller: Subscriber },
    posted: Posted,
  ): Promise<WrittenSubscription> {
    const { topic, id, caller } = which;
    const known = await this.subscriptions.owned(which);
    const { content } = known.state;
    const subscription = this.checked(topic, posted, caller, { id, content });
    const at = this.subscriptions.now();
    const command = { do: 'replace', at, subscriptionId: id, subscription } as const;
    return { subscriptionId: id, ...(await this.subscriptions.change(id, command, known)) };
  }

  /** Anything else (`docs/decisions.md#n14`). */
  async change(
    which: Which,
    change: 'cancelBackfills' | 'cancelRedeliveries' | 'delete' | 'rotateSecret',
  ): Promise<WrittenSubscription> {
    const { id } = which;
    const known = await this.subscriptions.owned(which);
    const at = this.subscriptions.now();
    return { subscriptionId: id, ...(await this.subscriptions.change(id, { do: change, at }, known)) };
  }

  /** What was posted, checked. `before` is what a PUT replaces: the site stays, and what was larger may stay so. */
  private checked(
    topic: SubscriptionTopic,
    posted: Posted,
    caller: Subscriber,
    before?: SubscriptionCheckParts['before'],
  ): SubscriptionContent {
    const { addressProblem, convertible } = this.parts;
    const siteId = before === undefined ? caller.siteId : before.content.siteId;
    const options: SubscriptionCheckParts = {
      directory: this.follower.directory,
      caller: siteId === undefined ? caller : { ...caller, siteId },
      addressProblem,
      convertible: convertible(),
      before,
    };
    const checked = new SubscriptionCheck(topic).check(posted, options);
    const content = siteId === undefined ? checked : { ...checked, siteId };
    checkSize(content, before?.content);
    return content;
  }
}

/** Most bytes of a subscription's content as JSON in UTF-8 (`docs/decisions.md#n15`). */
const MOST_BYTES = 128 * 1024;

/** Raises CON_350 for a content that is too large, unless it replaces one as large, which old logs may contain. */
function checkSize(content: SubscriptionContent, before: SubscriptionContent | undefined): void {
  const size = bytesOf(content);
  if (size <= MOST_BYTES || (before !== undefined && size <= bytesOf(before))) return;
  throw fault.content(
    `the settings have ${size} bytes as JSON in UTF-8: expected at most ${MOST_BYTES}; shorten them, or create ` +
      'several subscriptions',
  );
}

/** Without ids of receivers: a copy that is sent back has them. */
function bytesOf(content: SubscriptionContent): number {
  const receivers = content.receivers.map((receiver) => without(receiver, 'id'));
  return Buffer.byteLength(JSON.stringify({ ...content, receivers }));
}

function tooManyRotations(subscription: ActiveSubscription, at: string) {
  const from = nextRotation(subscription, at) ?? at;
  return fault.content(
    `the secret was replaced ${MOST_ROTATIONS} times within 24 hours: expected at most that many; the next rotation ` +
      `is possible from ${from}`,
  );
}

/** Subscriptions of an organisation (`docs/decisions.md#n15`). */
const MOST_SUBSCRIPTIONS = 100;

type CreateCommand = Extract<SubscriptionCommand, { readonly do: 'create' }>;

/** A request that may be repeated; `mayHaveRun`: it was begun before, and nobody knows what became of it. */
interface RepeatedRequest {
  readonly id: string;
  readonly mayHaveRun: boolean;
}

type CreatedSubscription = Executed<SubscriptionState, SubscriptionEvent> & { readonly id: string };

/**
 * Creates subscriptions, of an organisation at most `MOST_SUBSCRIPTIONS` at a time, whatever races and whichever
 * process is killed.
 *
 * An organisation has as many slots. The subscriptions of a slot follow each other: an id is a hash of organisation,
 * slot and number, and a number is used once the subscription with the one before is deleted. Racing posts that choose
 * one slot meet in one stream, where one of them succeeds.
 */
class NewSubscriptions {
  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
  ) {}

  /**
   * Undefined if all slots are in use. `request`: what it has created before, or creates meanwhile in another process,
   * is found again, also if it was deleted since.
   */
  async create(command: CreateCommand, request?: RepeatedRequest): Promise<CreatedSubscription | undefined> {
    const { organisationId } = command;
    const created = request?.mayHaveRun === true ? await this.createdBy(request, organisationId) : undefined;
    if (created !== undefined) return created;
    const chance =
      request === undefined ? this.clock.random() : parseInt(request.id.slice(0, 8), 16) / 2 ** 32;
    const first = Math.floor(chance * MOST_SUBSCRIPTIONS);
    for (let at = 0; at < MOST_SUBSCRIPTIONS; at += 1) {
      const slot = (first + at) % MOST_SUBSCRIPTIONS;
      const last = await this.lastUsed(organisationId, slot);
      const own = request && (await this.createdUnder(subscriptionIdOf(organisationId, slot, last), request));
      if (own !== undefined) return own;
      const id = await this.freeId(organisationId, slot, last);
      if (id === undefined) continue;
      const ids = request === undefined ? this.clock : { uuid: () => eventIdOf(request, id) };
      const executed = await execute(ids, this.log, subscriptionDecider, id, command, UNKNOWN);
      if (executed.position !== undefined) return { id, ...executed };
    }
    return undefined;
  }

  /** What a request has created last in any slot. */
  private async createdBy(
    request: RepeatedRequest,
    organisationId: number,
  ): Promise<CreatedSubscription | undefined> {
    for (let slot = 0; slot < MOST_SUBSCRIPTIONS; slot += 1) {
      const last = await this.lastUsed(organisationId, slot);
      const own = await this.createdUnder(subscriptionIdOf(organisationId, slot, last), request);
      if (own !== undefined) return own;
    }
    return undefined;
  }

  /**
   * The subscription with this id if the request has created it: then its first event has an id made of the request.
   */
  private async createdUnder(id: string, request: RepeatedRequest): Promise<CreatedSubscription | undefined> {
    const first = await eventAt(this.log, streamOf(SUBSCRIPTION, id), 0);
    if (first?.id !== eventIdOf(request, id)) return undefined;
    const loaded = await load(this.log, subscriptionDecider, id);
    const atFirst = (): SubscriptionState =>
      subscriptionDecider.evolve(subscriptionDecider.initial, toDomainEvent(first) as SubscriptionEvent);
    const state = loaded.state.is === 'active' ? loaded.state : atFirst();
    return { ...loaded, state, id, events: [], ids: [] };
  }

  /** The next id of a slot, unless it has a subscription. `last`: its last number. */
  private async freeId(organisationId: number, slot: number, last: number): Promise<string | undefined> {
    const idOf = (number: number): string => subscriptionIdOf(organisationId, slot, number);
    if (last === 0) return idOf(1);
    const { state } = await load(this.log, subscriptionDecider, idOf(last));
    return state.is === 'deleted' ? idOf(last + 1) : undefined;
  }

  /** The last number that is used, 0 if none is: doubles a number until it is unused, then halves the interval. */
  private async lastUsed(organisationId: number, slot: number): Promise<number> {
    const idOf = (number: number): string => subscriptionIdOf(organisationId, slot, number);
    let unused = 1;
    while (await this.exists(idOf(unused))) unused *= 2;
    let used = Math.floor(unused / 2);
    while (unused - used > 1) {
      const middle = Math.floor((used + unused) / 2);
      if (await this.exists(idOf(middle))) used = middle;
      else unused = middle;
    }
    return used;
  }

  private async exists(id: string): Promise<boolean> {
    return (await lastEvent(this.log, streamOf(SUBSCRIPTION, id))) !== undefined;
  }
}

const UNKNOWN = { state: subscriptionDecider.initial, revision: NO_STREAM };

const CREATED = Buffer.from('affilog created ');

function eventIdOf({ id }: RepeatedRequest, subscriptionId: string): string {
  return namedUuid(CREATED, `${id} ${subscriptionId}`);
}

/** `slot` from 0, `number` from 1. */
function subscriptionIdOf(organisationId: number, slot: number, number: number): string {
  return createHash('sha256')
    .update(`subscription ${organisationId} ${slot} ${number}`)
    .digest('hex')
    .slice(0, 32);
}
