import { type Context, createContext, Script } from 'node:vm';
import { type RecordedEvent } from '../../kernel/event';
import { refused } from './expression';
import { storedPrefixes } from './names';

import { shownStream, shownType } from './stored-event';

/** The events of the log that a client wants. */
export interface Filter {
  /** By the name of their stream, or by their type. */
  readonly on: 'stream' | 'type';
  /** The name begins with one of these, or something in it matches this. */
  readonly by: readonly string[] | RegExp;
}

/** How long an expression may take for a batch of names (ms): a bad one must not block the process. */
const PATIENCE = 1_000;
/** For how many names the result is cached. */
const REMEMBERED = 10_000;

/**
 * Applies a filter to batch after batch. A regular expression runs in a context that can be interrupted, once per
 * name; it is refused when it takes too long.
 */
export class Sieve {
  readonly #names = new Map<string, boolean>();
  /** Created for the first names that an expression is tried on: most reads need none. */
  #context: Context | undefined;

  constructor(private readonly filter: Filter | undefined) {}

  /** Prefixes of stored names outside of which nothing can pass; undefined for no such limit. */
  get prefixes(): readonly string[] | undefined {
    const { filter } = this;
    return filter?.on === 'stream' && !(filter.by instanceof RegExp) ? storedPrefixes(filter.by) : undefined;
  }

  /** Those of the events that pass. */
  passing(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    const passes = this.marks(events);
    return passes === undefined ? events : events.filter((_, index) => passes[index]);
  }

  /** Whether each of the events passes; undefined if all do. */
  marks(events: readonly RecordedEvent[]): readonly boolean[] | undefined {
    const { filter } = this;
    if (filter === undefined) return undefined;
    const { by } = filter;
    const names = events.map(filter.on === 'stream' ? shownStream : shownType);
    if (!(by instanceof RegExp)) return names.map((name) => by.some((prefix) => name.startsWith(prefix)));
    this.#match(by, new Set(names));
    return names.map((name) => this.#names.get(name) === true);
  }

  #match(expression: RegExp, names: ReadonlySet<string>): void {
    const fresh = [...names].filter((name) => !this.#names.has(name));
    if (fresh.length === 0) return;
    if (this.#names.size + fresh.length > REMEMBERED) {
      this.#names.clear();
      fresh.splice(0, fresh.length, ...names);
    }
    this.#context ??= createContext({ expression });
    this.#context['names'] = fresh;
    try {
      const matches = MATCH.runInContext(this.#context, { timeout: PATIENCE }) as readonly boolean[];
      for (const [index, name] of fresh.entries()) this.#names.set(name, matches[index] === true);
    } catch {
      throw refused(`takes too long: more than ${PATIENCE} ms`);
    }
  }
}

const MATCH = new Script('names.map((name) => expression.test(name))');
