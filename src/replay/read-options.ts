import { isUtf8 } from 'node:buffer';
import { type Context, createContext, Script } from 'node:vm';
import { type StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { type Position, type RecordedEvent, START } from '../kernel/event';
import {
  failing,
  type IdEncoding,
  invalid,
  type ServerRefusal,
  toPosition,
  toRevision,
} from './client-values';

/** A client's filter of events. */
interface FilterCriteria {
  /** Whether it applies to the names of streams or to types. */
  readonly on: 'stream' | 'type';
  /** Prefixes, or an expression that matches somewhere in the name. */
  readonly by: readonly string[] | RegExp;
}

/** Time-out (ms) of an expression for one batch of names: a bad one must not block the process. */
const TIMEOUT_MS = 3_000;
/** Maximum names whose results are cached. */
const CACHE_SIZE = 10_000;

/**
 * Applies a filter to batches of events. A regular expression runs in an interruptible context, once per name, and is
 * refused if it takes too long.
 */
export class EventFilter {
  readonly #cache = new Map<string, boolean>();
  /** Created lazily, since most reads need none. */
  #context: Context | undefined;

  constructor(private readonly filter: FilterCriteria | undefined) {}

  /** Prefixes of the streams that all matching events are in; undefined for no limit. */
  get prefixes(): readonly string[] | undefined {
    const { on, by } = this.filter ?? {};
    return on === 'stream' && Array.isArray(by) && !by.includes('') ? by : undefined;
  }

  selected(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    const matches = this.matches(events);
    return matches === undefined ? events : events.filter((_, index) => matches[index]);
  }

  /** Whether each of the events matches; undefined if all do. */
  matches(events: readonly RecordedEvent[]): readonly boolean[] | undefined {
    const { filter } = this;
    if (filter === undefined) return undefined;
    const { by } = filter;
    const names = events.map(filter.on === 'stream' ? ({ stream }) => stream : ({ type }) => type);
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

/** Maximum length of an expression. */
const MAX_LENGTH = 1_000;

/** .NET's word characters and word boundaries. */
const WORD = '\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}';
const BOUNDARY = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;

const TEXT_START = '(?<![\\s\\S])';
const END = '(?![\\s\\S])';

/** Escapes of .NET that JavaScript interprets differently or lacks. */
const ESCAPES: Readonly<Record<string, string>> = {
  A: TEXT_START,
  z: END,
  Z: `(?=\\n?${END})`,
  d: '\\p{Nd}',
  D: '\\P{Nd}',
  w: `[${WORD}]`,
  W: `[^${WORD}]`,
  s: '[\\s\\x85]',
  S: '[^\\s\\x85]',
  b: BOUNDARY,
  B: `(?!${BOUNDARY})`,
  a: '\\x07',
  e: '\\x1B',
};

/** The same within brackets. */
const ESCAPES_IN_CLASS: Readonly<Record<string, string>> = {
  d: '\\p{Nd}',
  D: '\\P{Nd}',
  w: WORD,
  s: '\\s\\x85',
  S: '\\S',
  b: '\\b',
  a: '\\x07',
  e: '\\x1B',
};

/** Escapes with the same meaning in both. */
const SHARED = /\\(?:[tnrfv]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|c[A-Za-z]|0(?!\d)|[pP]\{[A-Z][a-z]?\})/y;
/** The same, outside brackets only. */
const REFERENCE = /\\(?:[1-9]\d?|k<[A-Za-z_]\w*>)/y;
const GROUP = /\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_]\w*>)|(?!\?))/y;
const QUANTIFIER = /\{\d+(?:,\d*)?\}/y;
/** Options for the whole expression. */
const OPTIONS = /^\(\?([ims]+)\)/;

/**
 * Translates a .NET regular expression, as clients of EventStoreDB send it, to JavaScript. Raises `Refusal` for
 * anything without an exact equivalent, so that the meaning never changes.
 */
export function expressionOf(source: string): RegExp {
  if (source.length > MAX_LENGTH) throw refused(`is longer than ${MAX_LENGTH} characters`);
  const [whole = '', options = ''] = OPTIONS.exec(source) ?? [];
  const translation = new Translation(source.slice(whole.length), options);
  try {
    return new RegExp(translation.text(), options.includes('i') ? 'iu' : 'u');
  } catch (error) {
    if (error instanceof SyntaxError) throw refused(`is not valid: ${error.message}`);
    throw error;
  }
}

function refused(why: string): ServerRefusal {
  return invalid(`The regular expression ${why}`);
}

class Translation {
  #at = 0;
  readonly #anchors: Readonly<Record<string, string>>;

  constructor(
    private readonly source: string,
    options: string,
  ) {
    const lines = options.includes('m');
    this.#anchors = {
      '^': lines ? `(?<=\\n|${TEXT_START})` : TEXT_START,
      $: lines ? `(?=\\n|${END})` : `(?=\\n?${END})`,
      '.': options.includes('s') ? '[\\s\\S]' : '[^\\n]',
    };
  }

  text(): string {
    let text = '';
    while (this.#at < this.source.length) text += this.#next();
    return text;
  }

  #next(): string {
    const character = this.source.charAt(this.#at);
    if (character === '\\') return this.#escape(ESCAPES, REFERENCE);
    if (character === '[') return this.#class();
    if (character === '(') return this.#match(GROUP) ?? this.#unsupported(4);
    if (character === '{') return this.#match(QUANTIFIER) ?? this.#literal();
    if (character === ']' || character === '}') return this.#literal();
    this.#at += 1;
    return this.#anchors[character] ?? character;
  }

  #class(): string {
    let text = this.source.startsWith('[^', this.#at) ? '[^' : '[';
    this.#at += text.length;
    // A leading `]` is a literal.
    if (this.source.charAt(this.#at) === ']') text += this.#literal();
    while (this.#at < this.source.length) {
      const character = this.source.charAt(this.#at);
      if (this.source.startsWith('-[', this.#at)) return this.#unsupported(2);
      if (character === '\\') text += this.#escape(ESCAPES_IN_CLASS);
      else {
        text += character;
        this.#at += 1;
      }
      if (character === ']') return text;
    }
    throw refused('is not valid: a bracket is not closed');
  }

  #escape(escapes: Readonly<Record<string, string>>, other?: RegExp): string {
    const shared = this.#match(SHARED) ?? (other && this.#match(other));
    if (shared !== undefined) return shared;
    const character = this.source.charAt(this.#at + 1);
    const translated = Object.hasOwn(escapes, character) ? escapes[character] : undefined;
    if (translated !== undefined) {
      this.#at += 2;
      return translated;
    }
    if (character === '' || /[\p{L}\p{N}_]/u.test(character)) return this.#unsupported(2);
    this.#at += 1;
    return this.#literal();
  }

  #literal(): string {
    const character = this.source.charAt(this.#at++);
    return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character === '-' ? '\\x2D' : character;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [text] = pattern.exec(this.source) ?? [];
    if (text !== undefined) this.#at += text.length;
    return text;
  }

  #unsupported(length: number): never {
    throw refused(`contains "${this.source.slice(this.#at, this.#at + length)}", which is not supported`);
  }
}

/** Where in the log to start. */
export interface Start {
  /** Position of an event; `START` for before all events, undefined for the log's end. */
  readonly position: Position | undefined;
  /** Whether a subscription includes the event at the position. */
  readonly inclusive: boolean;
}

type From =
  | {
      readonly stream: string;
      /** First revision to read; undefined for the end of the stream. */
      readonly revision: number | undefined;
    }
  | ({ readonly stream: undefined } & Start);

export interface ClientReadOptions {
  readonly from: From;
  readonly backwards: boolean;
  /** Maximum events to read; undefined for a subscription. */
  readonly count: number | undefined;
  readonly filter: FilterCriteria | undefined;
  readonly pace: ReadPace;
  readonly resolveLinks: boolean;
  readonly ids: IdEncoding;
  /** Compatibility level of the client: from 1 on it receives the first and the last revision of a stream. */
  readonly compatibility: number;
}

/** How often a filtered subscription sends checkpoints. */
export interface ReadPace {
  /** Maximum events considered per page. */
  readonly window: number;
  /** Events considered between two checkpoints. */
  readonly interval: number;
}

/** Parses a request. Raises `Refusal` if it is invalid. */
export function readOptions(request: ReadReq): ClientReadOptions {
  const options = request.getOptions();
  if (options === undefined) throw invalid('options are missing');
  const uuids = options.getUuidOption();
  if (uuids === undefined) throw invalid('uuid_option is missing');
  const backwards = options.getReadDirection() === ReadReq.Options.ReadDirection.BACKWARDS;
  const filter = filterOf(options.getFilter());
  const subscription = options.hasSubscription();
  const from = fromOf(options, subscription);
  if (from.stream !== undefined && filter !== undefined)
    throw invalid('a filter requires a read of all streams');
  if (subscription && backwards) throw invalid('a subscription must read forwards');
  if (subscription && options.getFilter()?.getCheckpointintervalmultiplier() === 0)
    throw failing('checkpointIntervalMultiplier 0: expected at least 1');
  const count = subscription ? undefined : Number(options.getCount());
  if (from.stream !== undefined && count === 0) throw failing('count 0: expected at least 1 for a stream');
  return {
    from,
    backwards,
    count,
    filter,
    pace: paceOf(options.getFilter()),
    resolveLinks: options.getResolveLinks(),
    ids: uuids.hasString() ? 'text' : 'numbers',
    compatibility: options.getControlOption()?.getCompatibility() ?? 0,
  };
}

/** The name of a stream; empty if there is none. Raises `Refusal`. */
export function streamName(identifier: StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []);
  // Lenient decoding could map different names to the same one.
  if (!isUtf8(name)) throw invalid('the name of the stream is not in UTF-8');
  return name.toString('utf8');
}

function fromOf(options: ReadReq.Options, subscription: boolean): From {
  const of = options.getStream();
  if (of !== undefined) {
    const stream = streamName(of.getStreamIdentifier());
    if (stream === '') throw failing('The name of the stream is missing');
    if (of.hasEnd()) return { stream, revision: undefined };
    const revision = of.hasRevision() ? toRevision(of.getRevision()) : 0;
    // A subscription starts after the given revision.
    const first = revision !== undefined && subscription && of.hasRevision() ? revision + 1 : revision;
    return { stream, revision: first };
  }
  const all = options.getAll();
  if (all === undefined) throw invalid('expected a stream or all streams');
  const at = all.getPosition();
  if (at === undefined)
    return { stream: undefined, position: all.hasEnd() ? undefined : START, inclusive: true };
  const [commit, prepare] = [at.getCommitPosition(), at.getPreparePosition()];
  return { stream: undefined, position: toPosition(commit, prepare), inclusive: prepare !== commit };
}

function filterOf(filter: ReadReq.Options.FilterOptions | undefined): FilterCriteria | undefined {
  if (filter === undefined) return undefined;
  const ofStream = filter.getStreamIdentifier();
  const expression = ofStream ?? filter.getEventType();
  if (expression === undefined) throw invalid('expected a filter by stream or by type');
  const source = expression.getRegex();
  return {
    on: ofStream === undefined ? 'type' : 'stream',
    by: source === '' ? expression.getPrefixList() : expressionOf(source),
  };
}

/** Clients may leave the window to the server. */
function paceOf(filter: ReadReq.Options.FilterOptions | undefined): ReadPace {
  const window = Math.max(1, filter?.hasMax() === true ? filter.getMax() : PAGE);
  return { window, interval: window * (filter?.getCheckpointintervalmultiplier() ?? 1) };
}

/** Maximum matching events per page. */
export const PAGE = 32;
