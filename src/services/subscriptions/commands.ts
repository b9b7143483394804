import { Inject, Injectable } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { FollowedDirectory } from '../../network/follower';
import { type Caller } from '../../network/organisations';
import { Clock } from '../../http/clock';
import { VisibleWrites } from '../../http/visible-writes';
import { type StateAt } from '../../kernel/decider';
import { type Position } from '../../kernel/event';
import { EventLog } from '../../kernel/event-log';
import { without } from '../../kernel/without';
import { changeSubscription } from '../../domain/subscriptions/loaded-subscription';
import {
  type ActiveSubscription,
  MOST_ROTATIONS,
  nextRotation,
  type SubscriptionCommand,
  type SubscriptionContent,
} from '../../domain/subscriptions/subscription';
import { type Posted } from '../../wire/api/posted';
import { type SubscriptionKind } from '../../domain/subscriptions/topic';
import { MOST_SUBSCRIPTIONS, NewSubscriptions } from './new-subscriptions';
import {
  missingSubscription,
  type OwnedSubscription,
  ownedSubscription,
  type Owner,
} from './owned-subscription';
import { type CheckOptions, SubscriptionCheck } from './subscription-check';
import { SubscriptionParts } from './subscription-parts';

type By = Pick<Caller, 'organisationId' | 'kind' | 'siteId'>;

/** A subscription after a command, and the position from which lists include it. */
export interface Written {
  readonly subscriptionId: string;
  readonly subscription: ActiveSubscription;
  readonly position: Position;
}

/** Which subscription: raises CON_200 or CON_210 unless it is the caller's. */
export interface Which {
  readonly kind: SubscriptionKind;
  readonly id: string;
  readonly caller: Owner;
}

/**
 * Creates a subscription (Document 2, Endpoints, Subscriptions). `posted` is unchecked; raises everything that is wrong with it.
 */
export class CreateSubscription extends Command<Written> {
  constructor(
    readonly kind: SubscriptionKind,
    readonly posted: Posted,
    readonly caller: By,
  ) {
    super();
  }
}

/** Replaces all settings of a subscription. */
export class ReplaceSubscription extends Command<Written> {
  constructor(
    readonly which: Which & { readonly caller: By },
    readonly posted: Posted,
  ) {
    super();
  }
}

export interface Change {
  readonly do: 'cancelBackfills' | 'cancelRedeliveries' | 'delete' | 'rotateSecret';
}

/** Does anything else with a subscription (`docs/decisions.md#n14`). */
export class ChangeSubscription extends Command<Written> {
  constructor(
    readonly which: Which,
    readonly change: Change,
  ) {
    super();
  }
}

interface Changed {
  readonly subscription: ActiveSubscription;
  readonly position: Position;
  /** Of the events of the command. */
  readonly ids: readonly string[];
}

/** Executes commands on subscriptions, and waits until lists show the outcome. */
@Injectable()
export class Subscriptions {
  constructor(
    private readonly log: EventLog,
    @Inject(VisibleWrites) private readonly visible: Pick<VisibleWrites, 'after'>,
    private readonly clock: Clock,
  ) {}

  now(): string {
    return this.clock.now().toISOString();
  }

  async owned({ kind, id, caller }: Which): Promise<OwnedSubscription> {
    return await ownedSubscription(this.log, kind, id, caller);
  }

  /** Creates a subscription; raises CON_350 if there are too many. */
  async create(command: Extract<SubscriptionCommand, { readonly do: 'create' }>): Promise<Written> {
    const created = await new NewSubscriptions(this.log).create(command);
    if (created?.state.is !== 'active')
      throw fault.content(
        `you have ${MOST_SUBSCRIPTIONS} subscriptions: expected at most that many; delete one first`,
      );
    const position = await this.visible.after([created]);
    return { subscriptionId: created.id, subscription: created.state, position };
  }

  /**
   * Executes a command on a subscription that was loaded; raises CON_210 if it is deleted meanwhile, CON_350 for a rotation too
   * many.
   */
  async change(
    id: string,
    command: Exclude<SubscriptionCommand, { readonly do: 'create' }>,
    known: StateAt<ActiveSubscription>,
  ): Promise<Changed> {
    const executed = await changeSubscription(this.log, id, command, known);
    const isDeleted = command.do === 'delete' && executed.events.length > 0;
    if (executed.state.is !== 'active' && !isDeleted) throw missingSubscription(id);
    const subscription = executed.state.is === 'active' ? executed.state : known.state;
    if (command.do === 'rotateSecret' && executed.events.length === 0)
      throw tooManyRotations(subscription, command.at);
    const position = await this.visible.after([executed]);
    return { subscription, position, ids: executed.ids };
  }
}

/** Checks what is posted to be the content of a subscription. */
@Injectable()
export class PostedContents {
  constructor(
    private readonly follower: FollowedDirectory,
    private readonly parts: SubscriptionParts,
  ) {}

  /** What was posted, checked; of a PUT `before` is what it replaces: the site stays, and what was larger may stay so. */
  checked(
    kind: SubscriptionKind,
    posted: Posted,
    caller: By,
    before?: CheckOptions['before'],
  ): SubscriptionContent {
    const { addressProblem, convertible } = this.parts;
    const siteId = before === undefined ? caller.siteId : before.content.siteId;
    const options: CheckOptions = {
      directory: this.follower.directory,
      caller: siteId === undefined ? caller : { ...caller, siteId },
      addressProblem,
      convertible: convertible(),
      before,
    };
    const checked = new SubscriptionCheck(kind).check(posted, options);
    const content = siteId === undefined ? checked : { ...checked, siteId };
    checkSize(content, before?.content);
    return content;
  }
}

/** Most bytes of a subscription's content as JSON in UTF-8 (`docs/decisions.md#n15`). */
const MOST_BYTES = 128 * 1024;

/**
 * Raises CON_350 if a content is too large, unless it replaces one that is at least as large: logs from before the limit may
 * contain some.
 */
function checkSize(content: SubscriptionContent, before: SubscriptionContent | undefined): void {
  const size = bytesOf(content);
  if (size <= MOST_BYTES || (before !== undefined && size <= bytesOf(before))) return;
  throw fault.content(
    `the settings have ${size} bytes as JSON in UTF-8: expected at most ${MOST_BYTES}; shorten them, or create several subscriptions`,
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
    `the secret was replaced ${MOST_ROTATIONS} times within 24 hours: expected at most that many; the next rotation is possible from ${from}`,
  );
}

@CommandHandler(CreateSubscription)
export class CreateSubscriptionHandler implements ICommandHandler<CreateSubscription> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly contents: PostedContents,
  ) {}

  async execute({ kind, posted, caller }: CreateSubscription): Promise<Written> {
    const subscription = this.contents.checked(kind, posted, caller);
    const { name: topic } = kind;
    const { organisationId } = caller;
    const at = this.subscriptions.now();
    return await this.subscriptions.create({ do: 'create', at, topic, organisationId, subscription });
  }
}

@CommandHandler(ReplaceSubscription)
export class ReplaceSubscriptionHandler implements ICommandHandler<ReplaceSubscription> {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly contents: PostedContents,
  ) {}

  async execute({ which, posted }: ReplaceSubscription): Promise<Written> {
    const { kind, id, caller } = which;
    const known = await this.subscriptions.owned(which);
    const { content } = known.state;
    const subscription = this.contents.checked(kind, posted, caller, { id, content });
    const at = this.subscriptions.now();
    const command = { do: 'replace', at, subscriptionId: id, subscription } as const;
    const replaced = await this.subscriptions.change(id, command, known);
    return { subscriptionId: id, ...replaced };
  }
}

@CommandHandler(ChangeSubscription)
export class ChangeSubscriptionHandler implements ICommandHandler<ChangeSubscription> {
  constructor(private readonly subscriptions: Subscriptions) {}

  async execute({ which, change }: ChangeSubscription): Promise<Written> {
    const { id } = which;
    const known = await this.subscriptions.owned(which);
    const command = { ...change, at: this.subscriptions.now() };
    return { subscriptionId: id, ...(await this.subscriptions.change(id, command, known)) };
  }
}
