import { GrowingBytes, indexIn } from '../bytes';

interface XmlCutterOptions {
  /** How many elements are around those that are cut out; by default only the root. */
  readonly depth?: number;
  /** Bytes that an element may have; a larger one remains in the frame. */
  readonly maxElement: number;
  /**
   * Called for each element at this depth: the bytes from its first `<` to its last `>`, a view of the chunk
   * if they are in one.
   */
  readonly onElement: (bytes: Buffer) => void;
  /** Called with all other bytes, in order with the elements. */
  readonly onFrame: (bytes: Buffer) => void;
}

/**
 * Cuts the elements at one depth out of an XML document in UTF-8 that arrives in chunks, by its markup alone. The
 * document is well-formed if and only if the frame (the rest) is, with every cut at a place where an element may
 * be, and each element is one well-formed element where the prefixes around it are declared. So the caller parses
 * both. Memory use is constant.
 */
export class XmlCutter {
  private readonly markup: XmlMarkup;
  private chunk: Buffer = Buffer.alloc(0);
  /** Start of the bytes of the chunk that have not been passed on. */
  private from = 0;
  private depth = 0;
  private readonly cutDepth: number;
  /** The bytes that have not been passed on may be an element. */
  private isHeld = false;
  /** Buffered from earlier chunks. */
  private readonly held = new GrowingBytes();

  constructor(private readonly options: XmlCutterOptions) {
    this.cutDepth = options.depth ?? 1;
    this.markup = new XmlMarkup({
      begins: (at) => {
        if (this.depth === this.cutDepth) this.holdFrom(at);
      },
      isNoStart: () => {
        if (this.depth === this.cutDepth) this.release();
      },
      tagEnded: (end, change) => {
        this.depth += change;
        if (this.depth === this.cutDepth && change < 1) this.elementEnded(end);
      },
      isLost: () => this.release(),
    });
  }

  /** Consumes the next bytes; they must not be overwritten. */
  write(chunk: Buffer): void {
    this.chunk = chunk;
    this.from = 0;
    this.markup.scan(chunk);
    const rest = chunk.subarray(this.from);
    if (this.isHeld) this.hold(rest);
    else this.frame(rest);
  }

  end(): void {
    this.from = this.chunk.length;
    this.release();
  }

  private holdFrom(at: number): void {
    this.frame(this.chunk.subarray(this.from, at));
    this.from = at;
    this.isHeld = true;
  }

  private hold(rest: Buffer): void {
    this.held.add(rest);
    if (this.held.length > this.options.maxElement) this.release();
  }

  /** The buffered bytes are part of the frame, and so are the next ones. */
  private release(): void {
    this.isHeld = false;
    if (this.held.length > 0) this.frame(this.held.take());
  }

  private elementEnded(end: number): void {
    const last = this.chunk.subarray(this.from, end);
    this.from = end;
    if (!this.isHeld || this.held.length + last.length > this.options.maxElement) {
      this.release();
      this.frame(last);
      return;
    }
    this.isHeld = false;
    if (this.held.length === 0) {
      this.options.onElement(last);
      return;
    }
    this.held.add(last);
    this.options.onElement(this.held.take());
  }

  private frame(bytes: Buffer): void {
    if (bytes.length > 0) this.options.onFrame(bytes);
  }
}

interface MarkupHandlers {
  /** A `<` at this index of the chunk. */
  readonly begins: (at: number) => void;
  /** The `<` did not begin a start tag. */
  readonly isNoStart?: () => void;
  /** The value of an attribute begins with this quote. */
  readonly quoted?: (quote: number) => void;
  /** A tag ends before this index of the chunk: it opens an element (1), closes one (-1) or is empty (0). */
  readonly tagEnded?: (end: number, change: -1 | 0 | 1) => void;
  /** The markup is not allowed; no handler is called any more. */
  readonly isLost?: () => void;
}

/** The context of the next byte; `start` is within a start tag, `end` within an end tag. */
type ByteContext = 'text' | 'less' | 'start' | 'value' | 'end' | 'declaration' | MarkupSection | 'lost';

type MarkupSection = 'comment' | 'cdata' | 'instruction';

/** The text before the `>` that ends a section. */
const ENDS: Readonly<Record<MarkupSection, string>> = { comment: '--', cdata: ']]', instruction: '?' };

/** What follows `<!` where a section begins. */
const BEGINNINGS: ReadonlyMap<string, MarkupSection> = new Map([
  ['--', 'comment'],
  ['[CDATA[', 'cdata'],
]);
const BEGUN: ReadonlySet<string> = new Set(
  [...BEGINNINGS.keys()].flatMap((beginning) => Array.from(beginning, (_, at) => beginning.slice(0, at))),
);

export const LESS = 0x3c;
const GREATER = 0x3e;
const SLASH = 0x2f;
const BANG = 0x21;
const QUESTION = 0x3f;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;

/**
 * Finds the tags of a well-formed XML document in UTF-8 (or another encoding that has ASCII in it) as its bytes come
 * in. It does not check that the document is well-formed: a parser must.
 */
export class XmlMarkup {
  private place: ByteContext = 'text';
  /** The quote that ends the value of an attribute. */
  private quote = 0;
  /** The relevant last characters of `place` from earlier chunks. */
  private before = '';

  constructor(private readonly handlers: MarkupHandlers) {}

  /** Consumes the next bytes; they may be cut anywhere. */
  scan(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at = this.step(chunk, at);
  }

  /** Consumes some bytes and returns the index of the next. */
  private step(chunk: Buffer, at: number): number {
    switch (this.place) {
      case 'text':
        return this.text(chunk, at);
      case 'less':
        return this.less(chunk, at);
      case 'start':
        return this.start(chunk, at);
      case 'value':
        return this.value(chunk, at);
      case 'end':
        return this.end(chunk, at);
      case 'declaration':
        return this.declaration(chunk, at);
      case 'lost':
        return chunk.length;
      default:
        return this.section(chunk, at, ENDS[this.place]);
    }
  }

  private enter(place: ByteContext, at: number): number {
    this.place = place;
    this.before = '';
    return at;
  }

  private text(chunk: Buffer, from: number): number {
    const at = indexIn(chunk, LESS, from);
    if (at === chunk.length) return at;
    this.handlers.begins(at);
    this.enter('less', at + 1);
    return at + 1 < chunk.length ? this.less(chunk, at + 1) : at + 1;
  }

  private less(chunk: Buffer, at: number): number {
    const byte = chunk[at];
    if (byte !== SLASH && byte !== BANG && byte !== QUESTION) return this.enter('start', at);
    this.handlers.isNoStart?.();
    return this.enter(byte === SLASH ? 'end' : byte === BANG ? 'declaration' : 'instruction', at + 1);
  }

  private start(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === GREATER) {
        const isEmpty = at > from ? chunk[at - 1] === SLASH : this.before === '/';
        this.handlers.tagEnded?.(at + 1, isEmpty ? 0 : 1);
        return this.enter('text', at + 1);
      }
      if (byte === QUOTE || byte === APOSTROPHE) {
        this.quote = byte;
        this.handlers.quoted?.(byte);
        return this.enter('value', at + 1);
      }
    }
    this.before = chunk.toString('latin1', chunk.length - 1);
    return chunk.length;
  }

  private value(chunk: Buffer, from: number): number {
    const at = indexIn(chunk, this.quote, from);
    return at === chunk.length ? at : this.enter('start', at + 1);
  }

  private end(chunk: Buffer, from: number): number {
    const at = indexIn(chunk, GREATER, from);
    if (at === chunk.length) return at;
    this.handlers.tagEnded?.(at + 1, -1);
    return this.enter('text', at + 1);
  }

  /** After `<!`: a comment or a CDATA section begins; anything else is a DOCTYPE or wrong. */
  private declaration(chunk: Buffer, at: number): number {
    this.before += String.fromCharCode(chunk[at] ?? 0);
    const section = BEGINNINGS.get(this.before);
    if (section !== undefined) return this.enter(section, at + 1);
    if (BEGUN.has(this.before)) return at + 1;
    this.handlers.isLost?.();
    return this.enter('lost', at + 1);
  }

  /** A `>` ends it only after its `end`, which shares nothing with the beginning. */
  private section(chunk: Buffer, from: number, end: string): number {
    const last = end.charCodeAt(end.length - 1);
    for (let at = from; at < chunk.length; at += 1) {
      // There may be millions of them: most are not worth a text.
      if (chunk[at] !== GREATER || (at > from && chunk[at - 1] !== last)) continue;
      if (at - from >= end.length && chunk[at - end.length] !== last) continue;
      const before = this.before + chunk.toString('latin1', Math.max(from, at - end.length), at);
      if (before.endsWith(end)) return this.enter('text', at + 1);
    }
    const rest = chunk.toString('latin1', Math.max(from, chunk.length - end.length));
    this.before = (this.before + rest).slice(-end.length);
    return chunk.length;
  }
}
