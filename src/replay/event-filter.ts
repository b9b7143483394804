import { type Context, createContext, Script } from 'node:vm';
import { type RecordedEvent } from '../kernel/event';
import { refused } from './expression';
import { storedPrefixes } from './client-values';
import { clientStream, clientType } from './stored-event';

/** A client's filter of events. */
export interface Filter {
  /** Whether it applies to the names of streams or to types. */
  readonly on: 'stream' | 'type';
  /** Prefixes, or an expression that matches somewhere in the name. */
  readonly by: readonly string[] | RegExp;
}

/** Time-out (ms) of an expression for one batch of names: a bad one must not block the process. */
const TIMEOUT_MS = 1_000;
/** Maximum names whose results are cached. */
const CACHE_SIZE = 10_000;

/**
 * Applies a filter to batches of events. A regular expression runs in an interruptible context, once per name, and is refused if
 * it takes too long.
 */
export class EventFilter {
  readonly #cache = new Map<string, boolean>();
  /** Created lazily, since most reads need none. */
  #context: Context | undefined;

  constructor(private readonly filter: Filter | undefined) {}

  /** Prefixes of stored names that cover all matching events; undefined for no limit. */
  get prefixes(): readonly string[] | undefined {
    const { filter } = this;
    return filter?.on === 'stream' && !(filter.by instanceof RegExp) ? storedPrefixes(filter.by) : undefined;
  }

  /** The matching events. */
  selected(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    const matches = this.matches(events);
    return matches === undefined ? events : events.filter((_, index) => matches[index]);
  }

  /** Whether each of the events matches; undefined if all do. */
  matches(events: readonly RecordedEvent[]): readonly boolean[] | undefined {
    const { filter } = this;
    if (filter === undefined) return undefined;
    const { by } = filter;
    const names = events.map(filter.on === 'stream' ? clientStream : clientType);
    if (!(by instanceof RegExp)) return names.map((name) => by.some((prefix) => name.startsWith(prefix)));
    this.#match(by, new Set(names));
    return names.map((name) => this.#cache.get(name) === true);
  }

  #match(expression: RegExp, names: ReadonlySet<string>): void {
    const fresh = [...names].filter((name) => !this.#cache.has(name));
    if (fresh.length === 0) return;
    if (this.#cache.size + fresh.length > CACHE_SIZE) {
      this.#cache.clear();
      fresh.splice(0, fresh.length, ...names);
    }
    this.#context ??= createContext({ expression });
    this.#context['names'] = fresh;
    try {
      const matches = MATCH.runInContext(this.#context, { timeout: TIMEOUT_MS }) as readonly boolean[];
      for (const [index, name] of fresh.entries()) this.#cache.set(name, matches[index] === true);
    } catch {
      throw refused(`takes too long: more than ${TIMEOUT_MS} ms`);
    }
  }
}

const MATCH = new Script('names.map((name) => expression.test(name))');
