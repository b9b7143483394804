const UTF8 = new TextEncoder();

/** The bytes of a text in UTF-8. Texts are ordered by these bytes. */
export function bytesOf(text: string): Uint8Array {
  return UTF8.encode(text);
}

/** Writes the bytes of a text to the start of `into`, which has room for them, and returns their number. */
export function writeBytes(text: string, into: Uint8Array): number {
  // Much faster than `Buffer.write`.
  return UTF8.encodeInto(text, into).written;
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Compares texts by their bytes in UTF-8, without making these. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/** Surrogates, which stand for characters beyond U+FFFF, come after all other units. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** Reads numbers of one to five bytes: seven bits per byte, the lowest first. */
export class ByteReader {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  number(): number {
    const { bytes } = this;
    let byte = bytes[this.at++] ?? 0;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = bytes[this.at++] ?? 0;
      value |= (byte & 0x7f) << shift;
    }
    return value >>> 0;
  }
}

/** So few bytes are copied faster one by one. */
const SHORT = 64;

/**
 * Room at first: most segments are those of a single document, and large arrays are expensive to make and to collect.
 */
const FIRST = 1_024;

/** Bytes that grow. */
export class ByteWriter {
  length = 0;
  private bytes = new Uint8Array(FIRST);

  number(value: number): void {
    this.reserve(5);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  /** Ascending numbers, from `from` to before `to`: each as its difference from the one before. */
  ascending(numbers: Uint32Array, from: number, to: number): void {
    this.reserve((to - from) * 5);
    const { bytes } = this;
    let { length } = this;
    let before = 0;
    for (let at = from; at < to; at += 1) {
      const number = numbers[at] ?? 0;
      let rest = number - before;
      before = number;
      while (rest >= 0x80) {
        bytes[length++] = (rest & 0x7f) | 0x80;
        rest >>>= 7;
      }
      bytes[length++] = rest;
    }
    this.length = length;
  }

  append(part: Uint8Array, from = 0, to = part.length): void {
    this.reserve(to - from);
    if (to - from > SHORT) this.bytes.set(part.subarray(from, to), this.length);
    else for (let at = from, end = this.length; at < to; at += 1, end += 1) this.bytes[end] = part[at] ?? 0;
    this.length += to - from;
  }

  /** A copy of all bytes; the writer is empty then. */
  take(): Uint8Array {
    const taken = this.bytes.slice(0, this.length);
    this.length = 0;
    return taken;
  }

  private reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.length + more));
    larger.set(this.bytes);
    this.bytes = larger;
  }
}

/** Numbers in memory that threads may share. */
export function sharedArray(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * Uint32Array.BYTES_PER_ELEMENT));
}

export function sharedBitmap(bits: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Math.ceil(bits / 32) * Int32Array.BYTES_PER_ELEMENT));
}
