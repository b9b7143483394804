import { type Digest } from './fingerprints';

/** A product that has been checked: its text is its content as JSON. */
export interface Checked {
  readonly kind: 'checked';
  /** Its place in the body, from 1. */
  readonly sequence: number;
  readonly sourceProductId: string;
  readonly price: number;
  readonly content: Digest;
  /** The digest of its bytes, if it was read by itself. */
  readonly posted: Digest | undefined;
}

/** A product known by its very bytes, which are its text: read again only if the feed has changed meanwhile. */
export interface Known {
  readonly kind: 'known';
  readonly sequence: number;
  readonly sourceProductId: string;
  readonly posted: Digest;
}

/** A product held until the whole body has proved well-formed. */
export interface Held {
  readonly head: Checked | Known;
  /** Whoever holds it knows its id by this number. */
  readonly number: number;
  readonly textBytes: number;
  /** A view of what was read: it holds as long as anybody has it. */
  readonly text: () => Buffer;
}

const KNOWN = 0;
const CHECKED = 1;
const CHECKED_POSTED = 2;

/** Where the parts of a record begin; the id and the text follow. */
const SEQUENCE = 1;
const NUMBER = 5;
const PRICE = 9;
const ID_BYTES = 17;
const TEXT_BYTES = 21;
const POSTED = 25;
const CONTENT = 57;
const HEAD = 89;

/** Some products as records, one after the other, in bytes that can be sent to another thread or to a file. */
export class HeldBlock {
  private block: Buffer = Buffer.allocUnsafeSlow(4 * 1024);
  private used = 0;

  get length(): number {
    return this.used;
  }

  put(head: Checked | Known, text: Buffer, number = 0): void {
    // A UTF-16 unit has three bytes at most.
    this.reserve(HEAD + 3 * head.sourceProductId.length + text.length);
    const { block, used } = this;
    const idStart = used + HEAD;
    const textStart = idStart + block.write(head.sourceProductId, idStart);
    block.set(text, textStart);
    block.writeUInt32LE(head.sequence, used + SEQUENCE);
    block.writeUInt32LE(number, used + NUMBER);
    block.writeUInt32LE(textStart - idStart, used + ID_BYTES);
    block.writeUInt32LE(text.length, used + TEXT_BYTES);
    block.write(head.posted ?? '', used + POSTED);
    if (head.kind === 'known') {
      block[used] = KNOWN;
    } else {
      block[used] = head.posted === undefined ? CHECKED : CHECKED_POSTED;
      block.writeDoubleLE(head.price, used + PRICE);
      block.write(head.content, used + CONTENT);
    }
    this.used = textStart + text.length;
  }

  /** Takes records as another block gave them. */
  add(records: Buffer): void {
    this.reserve(records.length);
    this.block.set(records, this.used);
    this.used += records.length;
  }

  /** A view of the records, which holds until the next is put. */
  records(): Buffer {
    return this.block.subarray(0, this.used);
  }

  clear(): void {
    this.used = 0;
  }

  private reserve(room: number): void {
    if (this.used + room <= this.block.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.block.length * 2, this.used + room));
    this.block.copy(larger, 0, 0, this.used);
    this.block = larger;
  }
}

/** Writes into each of some whole records the number that its id has. */
export function numberRecords(
  records: Buffer,
  numberOf: (sourceProductId: string, sequence: number) => number,
): void {
  for (let at = 0; at < records.length;) {
    const textStart = at + HEAD + records.readUInt32LE(at + ID_BYTES);
    const sourceProductId = records.toString('utf8', at + HEAD, textStart);
    records.writeUInt32LE(numberOf(sourceProductId, records.readUInt32LE(at + SEQUENCE)), at + NUMBER);
    at = textStart + records.readUInt32LE(at + TEXT_BYTES);
  }
}

/** The whole records at the start of some bytes, and how many bytes they take. */
export function readRecords(bytes: Buffer): { readonly held: readonly Held[]; readonly used: number } {
  const held: Held[] = [];
  let used = 0;
  while (used + HEAD <= bytes.length) {
    const textStart = used + HEAD + bytes.readUInt32LE(used + ID_BYTES);
    const textBytes = bytes.readUInt32LE(used + TEXT_BYTES);
    const end = textStart + textBytes;
    if (end > bytes.length) break;
    held.push({
      head: headAt(bytes, used, textStart),
      number: bytes.readUInt32LE(used + NUMBER),
      textBytes,
      text: () => bytes.subarray(textStart, end),
    });
    used = end;
  }
  return { held, used };
}

function headAt(bytes: Buffer, start: number, textStart: number): Checked | Known {
  const sequence = bytes.readUInt32LE(start + SEQUENCE);
  const sourceProductId = bytes.toString('utf8', start + HEAD, textStart);
  const isPosted = bytes[start] !== CHECKED;
  const posted = isPosted ? bytes.toString('latin1', start + POSTED, start + CONTENT) : undefined;
  if (bytes[start] === KNOWN) return { kind: 'known', sequence, sourceProductId, posted: posted ?? '' };
  const price = bytes.readDoubleLE(start + PRICE);
  const content = bytes.toString('latin1', start + CONTENT, start + HEAD);
  return { kind: 'checked', sequence, sourceProductId, price, content, posted };
}
