/** Characters and escapes of a string. */
const CHARACTERS = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`;
const STRING = new RegExp(`"${CHARACTERS}"`, 'y');
/** The beginning of a string, up to what is wrong with it. */
const GOOD_STRING = new RegExp(`"${CHARACTERS}`, 'y');
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const BLANKS = /[ \n\r\t]*/y;

class NotJson extends Error {
  constructor(readonly unexpected: { readonly at: number; readonly expected: string }) {
    super('not JSON');
  }
}

/** What a scan finds; a path is `categories[0].id`, that of the document is empty. */
interface Findings {
  readonly number?: (path: string, spelt: string) => void;
  /** Each member that its object has already. */
  readonly repeated?: (path: string) => void;
}

/** Scans JSON for messages: slower than `JSON.parse`, but with the path of each value. Nesting must be bounded. */
class JsonScan {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly found: Findings = {},
  ) {}

  /** Raises `NotJson`. */
  document(): void {
    this.blanks();
    this.value('');
    this.blanks();
    if (this.at < this.text.length) this.fail('nothing more');
  }

  private value(path: string): void {
    const first = this.text[this.at];
    if (first === '{') this.object(path);
    else if (first === '[') this.list(path);
    else if (first === '"') this.string();
    else if (this.token(WORD) === undefined) {
      const number = this.token(NUMBER);
      if (number === undefined) this.fail('a value');
      else this.found.number?.(path, number);
    }
  }

  private object(path: string): void {
    const names = new Set<string>();
    this.items('}', () => {
      if (this.text[this.at] !== '"') this.fail('a name in double quotes');
      const name = JSON.parse(this.string()) as string;
      const member = path === '' ? name : `${path}.${name}`;
      if (names.has(name)) this.found.repeated?.(member);
      names.add(name);
      this.blanks();
      if (this.text[this.at] !== ':') this.fail(':');
      this.at += 1;
      this.blanks();
      this.value(member);
    });
  }

  private list(path: string): void {
    let index = 0;
    this.items(']', () => {
      this.value(`${path}[${index}]`);
      index += 1;
    });
  }

  private items(end: '}' | ']', item: () => void): void {
    this.at += 1;
    this.blanks();
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      item();
      this.blanks();
      const next = this.text[this.at];
      if (next !== ',' && next !== end) this.fail(`, or ${end}`);
      this.at += 1;
      if (next === end) return;
      this.blanks();
    }
  }

  private string(): string {
    const found = this.token(STRING);
    if (found !== undefined) return found;
    this.token(GOOD_STRING);
    const wrong = this.text[this.at];
    if (wrong === undefined) this.fail('the end of the string');
    return this.fail(wrong === '\\' ? 'an escape of JSON' : 'a control character as an escape');
  }

  private blanks(): void {
    this.token(BLANKS);
  }

  private token(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  private fail(expected: string): never {
    throw new NotJson({ at: this.at, expected });
  }
}

/** Where some bytes stop being JSON. */
export interface JsonProblem {
  /** Counted from the first byte of the body. */
  readonly byte: number;
  /** `expected , or }, found x, at byte 7` */
  readonly message: string;
}

/** Where the bytes that begin at `firstByte` of a body stop being JSON in UTF-8; undefined for JSON. */
export function jsonProblem(bytes: Buffer, firstByte = 0): JsonProblem | undefined {
  const text = bytes.toString();
  try {
    new JsonScan(text).document();
    return undefined;
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const { at, expected } = error.unexpected;
    const byte = firstByte + Buffer.byteLength(text.slice(0, at));
    return { byte, message: `expected ${expected}, found ${shown(text, at)}, at byte ${byte}` };
  }
}

/**
 * The numbers of a JSON text that parsing may have changed, as they are spelt, by their paths. The text is scanned
 * once, when the first is asked for.
 */
export function spellingsIn(text: string): (path: string) => string | undefined {
  let found: Map<string, string> | undefined;
  return (path) => {
    if (found === undefined) {
      const spelt = new Map<string, string>();
      const number = (at: string, digits: string): void => {
        if (!(Math.abs(Number(digits)) <= Number.MAX_SAFE_INTEGER)) spelt.set(at, digits);
      };
      new JsonScan(unmarked(text), { number }).document();
      found = spelt;
    }
    return found.get(path);
  };
}

/** How many repeated members are named. */
const MOST_REPEATED = 20;

/** The paths of the first members that their object has already: parsing keeps the last of each. */
export function repeatedMembers(text: string): readonly string[] {
  const found = new Set<string>();
  const repeated = (path: string): void => {
    if (found.size < MOST_REPEATED) found.add(path);
  };
  new JsonScan(unmarked(text), { repeated }).document();
  return [...found];
}

/** Without a byte order mark. */
function unmarked(text: string): string {
  return text.replace(/^\ufeff/, '');
}

function shown(text: string, at: number): string {
  if (at >= text.length) return 'the end';
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  return /[\p{C}\p{Z}]/u.test(character) ? JSON.stringify(character) : character;
}
