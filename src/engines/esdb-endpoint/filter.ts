import { type Context, createContext, Script } from 'node:vm';
import { storedPrefixes } from './names';
import { Refusal } from './refusal';
import { type ShownEvent } from './stored-event';

/** Which events of the log a client wants to be shown. */
export interface Filter {
  /** By the name of their stream or by their type. */
  readonly on: 'stream' | 'type';
  /** The name begins with one of these, or something in it matches this. */
  readonly by: readonly string[] | RegExp;
}

/** What an expression may be: longer ones, and those that JavaScript does not know, are refused. */
const LONGEST = 1_000;
/** How long a batch of names may be looked at (ms), which bounds what an expression can do to this process. */
const PATIENCE = 100;
/** How many names are remembered to match or not. */
const REMEMBERED = 10_000;

/** A regular expression as a client gives it. Raises `Refusal`. */
export function expressionOf(source: string): RegExp {
  if (source.length > LONGEST) throw invalid(`is longer than ${LONGEST} characters`);
  try {
    return new RegExp(source);
  } catch {
    throw invalid('is none that is understood here');
  }
}

/**
 * Applies a filter to batch after batch. An expression that takes too long is given up with a `Refusal`: it
 * runs in a context that can be interrupted, over each name once.
 */
export class Sieve {
  readonly #names = new Map<string, boolean>();
  /** Made for the first names that an expression is tried on: most reads have none. */
  #context: Context | undefined;

  constructor(private readonly filter: Filter | undefined) {}

  /** Prefixes of stored names outside of which nothing can pass; undefined if there are none such. */
  get prefixes(): readonly string[] | undefined {
    const { filter } = this;
    return filter?.on === 'stream' && !(filter.by instanceof RegExp) ? storedPrefixes(filter.by) : undefined;
  }

  passing(events: readonly ShownEvent[]): readonly ShownEvent[] {
    const { filter } = this;
    if (filter === undefined) return events;
    const { by } = filter;
    const nameOf = filter.on === 'stream' ? streamOf : typeOf;
    if (!(by instanceof RegExp))
      return events.filter((event) => by.some((prefix) => nameOf(event).startsWith(prefix)));
    this.#match(by, new Set(events.map(nameOf)));
    return events.filter((event) => this.#names.get(nameOf(event)) === true);
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
      throw invalid(`takes too long: more than ${PATIENCE} ms`);
    }
  }
}

const MATCH = new Script('names.map((name) => expression.test(name))');

function streamOf({ stream }: ShownEvent): string {
  return stream;
}

function typeOf({ type }: ShownEvent): string {
  return type;
}

function invalid(why: string): Refusal {
  return new Refusal({ kind: 'invalid', message: `The regular expression ${why}` });
}
