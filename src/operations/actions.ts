import { type Clock } from '../runtime/clock';
import { beginningOf, shortened } from '../kernel/text';
import { execute, type EventOf, eventsOf, toDomainEvent } from '../kernel/decider';
import { EngineUnavailable, type EventLog } from '../kernel/event-log';
import { Fault, Faults, Refusal } from '../kernel/fault';
import { type ReadStore } from '../kernel/read-store';
import { codeOf, defined } from '../kernel/values';
import { UsageError } from './command-error';

/**
 * What operators do: the commands that change something, each with the operations below `/ops/1.0` that do the same.
 * Each run is recorded in the log before it changes anything (`docs/decisions.md#x117`). The log of any other command
 * refuses to append.
 *
 * Names of commands are in the log: add, never rename.
 */
export const ACTIONS = {
  'network import': [],
  'categories import': [],
  'mappings map': [],
  'mappings unmap': ['unmapName'],
  'mappings import': ['changeMappings'],
  'tokens issue': [],
  'tokens revoke': [],
  'feeds restore': ['restoreFeed'],
  'feeds source set': ['setAnySource'],
  'feeds source remove': ['removeAnySource'],
  'feeds source fetch': ['fetchAnySource'],
  'feeds source accept': ['acceptAnySource'],
  'transactions import': [],
  'claims release': ['releaseClaim'],
  'claims reject': ['rejectClaim'],
  'notifications test': ['testAnyReceiver'],
  'notifications enable': ['enableAnyReceiver'],
  'notifications redeliver': ['redeliverAnyMessage'],
  'notifications redeliver-all': ['redeliverAnyMessages'],
  'notifications own': [],
  rebuild: ['buildAsOf', 'rebuildProjections'],
  'projections verify': ['verifyProjections'],
  'projections pause': ['pauseProjections'],
  'projections resume': ['resumeProjections'],
  'projections swap': ['swapProjections'],
  'projections rollback': ['rollbackProjections'],
  'projections discard': ['discardGenerations'],
  'as-of drop': ['dropAsOf'],
  'parked retry': ['retryParked'],
  'parked skip': ['skipParked'],
  backup: ['makeBackup'],
  restore: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ActionName = keyof typeof ACTIONS;

/** Actions that take effect for others at once, and are not undone by doing them again: they need a reason. */
export const GRAVE: ReadonlySet<ActionName> = new Set([
  'feeds restore',
  'feeds source accept',
  'projections swap',
  'projections rollback',
  'projections discard',
  'parked skip',
]);

export function isAction(name: string): name is ActionName {
  return Object.hasOwn(ACTIONS, name);
}

/** Who: the user of the shell, or the holder of a token, by its fingerprint. */
export type ActionAuthor =
  { readonly user: string } | { readonly token: string; readonly organisationId: number };

export interface Action {
  readonly name: ActionName;
  readonly by: ActionAuthor;
  readonly reason?: string | undefined;
  /** What it was asked for: arguments and options by their names. */
  readonly asked: Readonly<Record<string, string>>;
}

/** Their names and shapes are the storage format: add, never rename. */
type ActionEvent =
  | EventOf<
      'OperatorActed',
      {
        readonly action: string;
        readonly by: ActionAuthor;
        readonly reason?: string;
        readonly asked: Readonly<Record<string, string>>;
      }
    >
  | EventOf<
      'OperatorActionEnded',
      {
        /** Id of the event that began it. */
        readonly began: string;
        readonly failure?: string;
      }
    >;

/**
 * Accepts every event. Each supersedes those before it, so an append reads the last one only, however long the stream.
 */
const actionDecider = {
  category: 'operator',
  initial: undefined,
  supersedes: () => true,
  decide: (event: ActionEvent) => [event],
  evolve: () => undefined,
} as const;

const STREAM = 'operator-actions';
const ID = 'actions';

/** In characters. */
export const MAX_REASON = 1000;
const MAX_VALUE = 200;

/** Raises `UsageError`. */
function requireReason({ name, reason }: Action): void {
  const text = reason ?? (GRAVE.has(name) ? '' : 'none');
  if (text.trim() !== '' && text.length <= MAX_REASON) return;
  const why = reason === undefined ? `: \`${name}\` takes effect for others at once, so say why` : '';
  throw new UsageError(`--reason: expected a text of 1 to ${MAX_REASON} characters${why}`);
}

interface Acting {
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly deliveries?: () => Promise<EventLog>;
}

/**
 * Runs an operator's action with engines that record it before the first change, so an action that is refused or
 * has nothing to do is not recorded. Work that changes neither log nor store calls `begin` itself. The end is
 * recorded, too. Raises what `work` raises, `UsageError`, and `EngineUnavailable` if the action cannot be
 * recorded: then nothing was changed.
 */
export async function acting<Engines extends Acting, Result>(
  clock: Clock,
  engines: Engines,
  action: Action,
  work: (engines: Engines, begin: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  requireReason(action);
  const { name, by, reason, asked } = action;
  const { log } = engines;
  const append = async (event: ActionEvent): Promise<string> =>
    (await execute(clock, log, actionDecider, ID, event)).ids[0] ?? '';
  let recording: Promise<string> | undefined;
  const record = async (): Promise<void> => {
    const data = defined({
      at: clock.now().toISOString(),
      action: name,
      by,
      reason,
      asked: Object.fromEntries(
        Object.entries(asked).map(([key, value]) => [key, shortened(value, MAX_VALUE)]),
      ),
    });
    recording ??= append({ type: 'OperatorActed', data }).catch((error: unknown) => {
      recording = undefined;
      throw error;
    });
    await recording;
  };
  const end = async (failure?: string): Promise<void> => {
    const began = await recording;
    if (began === undefined) return;
    const data = defined({ at: clock.now().toISOString(), began, failure });
    await append({ type: 'OperatorActionEnded', data }).catch((error: unknown) => {
      // The work is done nevertheless; the list shows it as unfinished.
      if (!(error instanceof EngineUnavailable)) throw error;
    });
  };
  try {
    const result = await work(watchedEngines(engines, record), record);
    await end();
    return result;
  } catch (error) {
    await end(failureText(error)).catch(() => undefined);
    throw error;
  }
}

/** Only messages without paths: the log is read over HTTP, too. */
function failureText(error: unknown): string {
  const isPublic =
    error instanceof Fault ||
    error instanceof Faults ||
    error instanceof Refusal ||
    error instanceof UsageError ||
    error instanceof EngineUnavailable;
  if (isPublic) return beginningOf(error.message, MAX_REASON);
  const code = codeOf(error) ?? '';
  const failed = /^E[A-Z]+$/.test(code) ? `it failed (${code})` : 'it failed';
  return `${failed}: the output of the command, or the log of the server, says why`;
}

/** For commands that are no actions. */
export function readOnly<Engines extends Acting>(engines: Engines): Engines {
  const refuse = (): Promise<void> =>
    Promise.reject(new Error('a command that appends events has to be listed in ACTIONS'));
  return { ...watchedEngines(engines, refuse), store: engines.store };
}

const LOG_CHANGES = ['append'];
const STORE_CHANGES = ['create', 'finish', 'swap', 'retire', 'drop', 'write'];

/** Engines that await `before` ahead of each change of the log, the delivery log and the store. */
function watchedEngines<Engines extends Acting>(engines: Engines, before: () => Promise<void>): Engines {
  const { log, store, deliveries } = engines;
  return {
    ...engines,
    log: watched(log, LOG_CHANGES, before),
    store: watched(store, STORE_CHANGES, before),
    ...(deliveries && { deliveries: async () => watched(await deliveries(), LOG_CHANGES, before) }),
  };
}

function watched<T extends object>(target: T, changes: readonly string[], before: () => Promise<void>): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...args: unknown[]) => unknown;
      if (!changes.includes(String(name))) return method;
      return async (...args: unknown[]): Promise<unknown> => {
        await before();
        return await method(...args);
      };
    },
  });
}

/** An action as it is listed. */
export interface ListedAction {
  /** By which the list is continued. */
  readonly number: number;
  readonly time: string;
  readonly action: string;
  readonly by: ActionAuthor;
  readonly reason?: string;
  readonly asked: Readonly<Record<string, string>>;
  /** `unfinished`: it is in progress, or its process was killed. */
  readonly state: 'done' | 'failed' | 'unfinished';
  readonly ended?: string;
  readonly failure?: string;
}

export interface ActionCriteria {
  /** Names of actions; by default all. */
  readonly actions: readonly string[];
  readonly most: number;
  /** Only those with lower numbers. */
  readonly before?: number | undefined;
}

/** Actions of operators, newest first. */
export async function listActions(
  log: EventLog,
  { actions, most, before = Infinity }: ActionCriteria,
): Promise<readonly ListedAction[]> {
  const ends = new Map<string, Pick<ListedAction, 'ended' | 'failure' | 'state'>>();
  const listed: ListedAction[] = [];
  for await (const recorded of eventsOf(log, STREAM, { backwards: true })) {
    if (listed.length >= most) break;
    const { type, data } = toDomainEvent(recorded) as ActionEvent;
    if (type === 'OperatorActionEnded') {
      const { began, at, failure } = data;
      const state = failure === undefined ? ('done' as const) : ('failed' as const);
      ends.set(began, defined({ state, ended: at, failure }));
      continue;
    }
    const end = ends.get(recorded.id) ?? { state: 'unfinished' };
    ends.delete(recorded.id);
    const { at, action, by, reason, asked } = data;
    if (recorded.revision >= before || (actions.length > 0 && !actions.includes(action))) continue;
    listed.push(defined({ number: recorded.revision, time: at, action, by, reason, asked, ...end }));
  }
  return listed;
}

/**
 * When the last run of an action that has succeeded ended (epoch ms); undefined: never. Each call reads what is new.
 */
export function lastDone(log: EventLog, name: ActionName): () => Promise<number | undefined> {
  const begun = new Set<string>();
  let [next, last]: [number, number | undefined] = [0, undefined];
  return async () => {
    for await (const recorded of eventsOf(log, STREAM, { from: next })) {
      const { type, data } = toDomainEvent(recorded) as ActionEvent;
      if (type === 'OperatorActed' && data.action === name) begun.add(recorded.id);
      if (type === 'OperatorActionEnded' && begun.delete(data.began) && data.failure === undefined)
        last = Date.parse(data.at);
      next = recorded.revision + 1;
    }
    return last;
  };
}

/** Who, as it is listed: `user alice`, `token 0123456789ab of organisation 9`. */
export function operatorText(by: ActionAuthor): string {
  return 'user' in by ? `user ${by.user}` : `token ${by.token} of organisation ${by.organisationId}`;
}
