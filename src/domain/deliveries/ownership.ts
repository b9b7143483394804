import { isDeepStrictEqual } from 'node:util';
import { type CommandOf, type Decider, type EventOf, execute, load } from '../../kernel/decider';
import { type EventLog } from '../../kernel/event-log';
import { type Clock } from '../../runtime/clock';

/**
 * Which installation delivers the messages of a log, in the stream `deliveries-owner` (docs/architecture.md,
 * Notifications): a log that was copied names its owner, so that nothing is sent twice.
 */
export type DeliveriesOwned = EventOf<'DeliveriesOwned', Owner>;

export interface Owner {
  /** Identifies the place of the log, such as its file or server. */
  readonly installation: string;
  /** When the file of the log was created, if that is known: files on two volumes may have the same number. */
  readonly created?: string;
  /** `Secrets.fingerprint`. */
  readonly key: string;
}

type OwnershipCommand = CommandOf<'claim' | 'take', { owner: Owner }>;

/** The stream is `deliveries-owner`. */
const [CATEGORY, OWNER] = ['deliveries', 'owner'] as const;
export const OWNER_STREAM = `${CATEGORY}-${OWNER}`;

/** `claim` takes what nobody owns, `take` takes it from whoever owns it. */
const ownership: Decider<OwnershipCommand, Owner | undefined, DeliveriesOwned> = {
  category: CATEGORY,
  initial: undefined,
  decide({ do: action, at, owner }, current) {
    if (action === 'claim' && current !== undefined) return [];
    if (isDeepStrictEqual(owner, current)) return [];
    return [{ type: 'DeliveriesOwned', data: { at, ...owner } }];
  },
  evolve: (current, event) => {
    if (!isOwner(event.data)) return current;
    const { installation, created, key } = event.data;
    return { installation, ...(created === undefined ? {} : { created }), key };
  },
};

/** False for the data of an event that another program has written. */
export function isOwner({ installation, key }: Partial<Record<keyof Owner, unknown>>): boolean {
  return typeof installation === 'string' && typeof key === 'string';
}

/** Claims the deliveries of a log. Returns why this installation may not deliver; undefined if it may. */
export async function claimDeliveries(
  clock: Clock,
  log: EventLog,
  owner: Owner,
): Promise<string | undefined> {
  const command = { do: 'claim', at: clock.now().toISOString(), owner } as const;
  const { state = owner } = await execute(clock, log, ownership, OWNER, command);
  if (!isSamePlace(state, owner))
    return (
      'the event log is a copy: another installation delivers its messages. `affilog notifications own` ' +
      'makes it this one'
    );
  if (state.key !== owner.key)
    return (
      'NOTIFY_KEY is not the one that the secrets of subscriptions were derived from (a process without NOTIFY_KEY ' +
      'uses notify.key in its own data ' +
      'folder). Set the same NOTIFY_KEY in all processes, or have `affilog notifications own` replace all secrets'
    );
  return undefined;
}

function isSamePlace(one: Owner, other: Owner): boolean {
  if (one.installation !== other.installation) return false;
  return one.created === undefined || other.created === undefined || one.created === other.created;
}

/** Makes this installation the one that delivers. True if it was not yet. */
export async function takeDeliveries(clock: Clock, log: EventLog, owner: Owner): Promise<boolean> {
  const command = { do: 'take', at: clock.now().toISOString(), owner } as const;
  const { events } = await execute(clock, log, ownership, OWNER, command);
  return events.length > 0;
}

/** Whose deliveries they are; undefined if nobody has delivered yet. */
export async function ownerOfDeliveries(log: EventLog): Promise<Owner | undefined> {
  return (await load(log, ownership, OWNER)).state;
}
