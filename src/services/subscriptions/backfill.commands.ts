import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import { Clock } from '../../http/clock';
import { appendIdempotently, toDomainEvent, toNewEvent } from '../../kernel/decider';
import { type Position, START, streamOf } from '../../kernel/event';
import { KeyedMutex } from '../../runtime/keyed-mutex';
import { EventLog, RevisionConflict } from '../../kernel/event-log';
import { missedMessages, type MissedMessage } from '../../delivery/matching/missed-messages';
import { receiversOf } from '../../domain/subscriptions/receiver-id';
import { SUBSCRIPTION, type SubscriptionEvent } from '../../domain/subscriptions/subscription';
import { type Refusals } from '../../wire/api/posted';
import { complete } from '../../wire/record/read';
import { type OutputBackfill, type PostedBackfill } from './backfill.fields';
import { Subscriptions, type Which } from './commands';
import { type OwnedSubscription, receiverProblem } from './owned-subscription';
import { SubscriptionParts } from './subscription-parts';

/** What was posted, as far as it could be read, and what is wrong with it so far. */
interface UncheckedBackfill {
  readonly period: Partial<PostedBackfill>;
  readonly refusals: Refusals;
}

/** Makes the messages of a period that were not made then. Raises everything that is wrong with it. */
export class BackfillMessages extends Command<OutputBackfill & { readonly position: Position }> {
  constructor(
    readonly which: Which,
    readonly posted: UncheckedBackfill,
  ) {
    super();
  }
}

/** Most messages of one command, and of one append. */
const MOST = 10_000;
const APPEND = 500;

@CommandHandler(BackfillMessages)
export class BackfillMessagesHandler implements ICommandHandler<BackfillMessages> {
  /** One at a time, since each reads many events in the thread that serves all requests. */
  private readonly turns = new KeyedMutex<'backfill'>();

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly log: EventLog,
    private readonly clock: Clock,
    private readonly parts: SubscriptionParts,
  ) {}

  async execute(command: BackfillMessages) {
    return await this.turns.runExclusive('backfill', () => this.backfill(command));
  }

  private async backfill({ which, posted }: BackfillMessages) {
    const known = await this.subscriptions.owned(which);
    const period = this.checked(which, known, posted);
    const { found, next } = await this.find(which, known, period);
    const more = next === undefined ? {} : { cursor: next };
    let [requested, position]: [number, Position | undefined] = [0, undefined];
    let [current, ids] = [known, await this.requested(which.id, period.minTime)];
    for (let from = 0; from < found.length;) {
      const wanted = found.slice(from, from + APPEND).filter(({ message }) => !ids.has(message));
      const events = wanted.map((message) => this.event(message));
      try {
        if (events.length > 0 && !period.dryRun) {
          const stream = streamOf(SUBSCRIPTION, which.id);
          const appended = await appendIdempotently(this.log, stream, current.revision, events);
          current = { ...current, revision: appended.revision };
          ({ position } = appended);
        }
        requested += wanted.length;
        from += APPEND;
      } catch (error) {
        if (!(error instanceof RevisionConflict)) throw error;
        // Another request may have asked for some of them.
        [current, ids] = [
          await this.subscriptions.owned(which),
          await this.requested(which.id, period.minTime),
        ];
      }
    }
    return { requested, ...more, position: position ?? (await this.log.head()) };
  }

  private checked(
    { id }: Which,
    { state }: OwnedSubscription,
    { period, refusals }: UncheckedBackfill,
  ): PostedBackfill {
    const { minTime, maxTime, receiverId, cursor } = period;
    const earliest = new Date(this.clock.now().getTime() - this.parts.keepMs).toISOString();
    if (minTime !== undefined && minTime < earliest)
      refusals.add(
        fault.content,
        `minTime is ${minTime}: expected ${earliest} or later, since messages are kept no longer (NOTIFY_KEEP)`,
      );
    if (minTime !== undefined && maxTime !== undefined && Date.parse(minTime) > Date.parse(maxTime))
      refusals.add(fault.content, `minTime is ${minTime}: expected a time up to maxTime, ${maxTime}`);
    if (cursor !== undefined && !CURSOR.test(cursor))
      refusals.wrong('cursor', cursor, 'the cursor of the last answer');
    const problem = receiverId === undefined ? undefined : receiverProblem(id, state, receiverId);
    if (problem !== undefined) refusals.add(fault.unknownReceiver, problem);
    return complete<PostedBackfill>(period, refusals);
  }

  private async find(
    { kind, id }: Which,
    { state }: OwnedSubscription,
    { minTime, maxTime, receiverId, cursor }: PostedBackfill,
  ) {
    const receivers = new Set(
      receiverId === undefined ? receiversOf(id, state.content).keys() : [receiverId],
    );
    const [min, max] = [Date.parse(minTime), Date.parse(maxTime)];
    const missed = { topic: kind, id, subscription: state, receivers, min, max, after: cursor };
    return await missedMessages(this.log, missed, MOST);
  }

  /** Ids of all messages that were requested about transitions from a time on. */
  private async requested(id: string, from: string): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for await (const batch of this.log.readStream(streamOf(SUBSCRIPTION, id)))
      for (const event of batch) {
        if (event.type !== 'MessageRequested') continue;
        const { data } = toDomainEvent(event) as Extract<SubscriptionEvent, { type: 'MessageRequested' }>;
        if (data.time >= from) ids.add(data.message);
      }
    return ids;
  }

  private event(message: MissedMessage) {
    const data = { at: this.subscriptions.now(), ...message };
    return toNewEvent({ type: 'MessageRequested', data } satisfies SubscriptionEvent);
  }
}

const CURSOR = new RegExp(`^\\d{${START.length}}$`);
