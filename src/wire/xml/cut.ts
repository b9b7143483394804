import { GrowingBytes } from '../growing-bytes';
import { XmlMarkup } from './markup';

export interface XmlCutterOptions {
  /** Bytes that an element may have; a larger one remains in the frame. */
  readonly maxElement: number;
  /**
   * Called for each element directly in the root: the bytes from its first `<` to its last `>`, a view of the chunk
   * if they are in one.
   */
  readonly onElement: (bytes: Buffer) => void;
  /** Called with all other bytes, in order with the elements. */
  readonly onFrame: (bytes: Buffer) => void;
}

/**
 * Cuts the elements directly in the root out of an XML document in UTF-8 that arrives in chunks, by its markup alone.
 * The document is well-formed if and only if the frame (the rest) is, with every cut at a place where an element may
 * be, and each element is one well-formed element where the root's prefixes are declared. So the caller parses both.
 * Memory use is constant.
 */
export class XmlCutter {
  private readonly markup: XmlMarkup;
  private chunk: Buffer = Buffer.alloc(0);
  /** Start of the bytes of the chunk that have not been passed on. */
  private from = 0;
  /** Elements that are open. */
  private depth = 0;
  /** The bytes that have not been passed on may be an element. */
  private isHeld = false;
  /** Buffered from earlier chunks. */
  private readonly held = new GrowingBytes();

  constructor(private readonly options: XmlCutterOptions) {
    this.markup = new XmlMarkup({
      begins: (at) => {
        if (this.depth === 1) this.holdFrom(at);
      },
      isNoStart: () => {
        if (this.depth === 1) this.release();
      },
      tagEnded: (end, change) => {
        this.depth += change;
        if (this.depth === 1 && change < 1) this.elementEnded(end);
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
    this.frame(this.taken());
  }

  private taken(): Buffer {
    this.isHeld = false;
    return this.held.take();
  }

  private elementEnded(end: number): void {
    const last = this.chunk.subarray(this.from, end);
    this.from = end;
    if (!this.isHeld || this.held.length + last.length > this.options.maxElement) {
      this.release();
      this.frame(last);
      return;
    }
    if (this.held.length === 0) {
      this.isHeld = false;
      this.options.onElement(last);
      return;
    }
    this.held.add(last);
    this.options.onElement(this.taken());
  }

  private frame(bytes: Buffer): void {
    if (bytes.length > 0) this.options.onFrame(bytes);
  }
}
