import { invalid, type Refusal } from './refusal';

/** Maximum length of an expression. */
const MAX_LENGTH = 1_000;

/** .NET's word characters and word boundaries. */
const WORD = '\\p{L}\\p{Mn}\\p{Nd}\\p{Pc}';
const BOUNDARY = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;

const START = '(?<![\\s\\S])';
const END = '(?![\\s\\S])';

/** Escapes of .NET that JavaScript interprets differently or lacks. */
const ESCAPES: Readonly<Record<string, string>> = {
  A: START,
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
 * Translates a .NET regular expression, as clients of EventStoreDB send it, to JavaScript. Raises `Refusal` for anything without
 * an exact equivalent, so that the meaning never changes.
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

export function refused(why: string): Refusal {
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
      '^': lines ? `(?<=\\n|${START})` : START,
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

  /** The next character as a literal. */
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
