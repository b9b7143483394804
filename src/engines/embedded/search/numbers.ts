import { type BlobReader, type BlobWriter } from './storage';

/**
 * Numbers by ordinal or by position, in blobs of 8,192: as offsets from the least one (0 is missing) of 8, 16 or 32
 * bits, or as floating point numbers (NaN is missing) where these are too large. One number that is that of all of them
 * is written once.
 */
const PIECE = 8_192;

/** A blob of numbers. One of the arrays is empty; both if all numbers are `base`. */
interface Piece {
  /** The number of an offset of 1. */
  readonly base: number;
  readonly offsets: Uint8Array | Uint16Array | Uint32Array;
  readonly floats: Float64Array;
}

/** Writes numbers; NaN is missing. */
export function writeNumbers(blobs: BlobWriter, name: string, numbers: Float64Array | Uint32Array): void {
  for (let from = 0; from < numbers.length; from += PIECE)
    blobs.write(`${name}/${from / PIECE}`, encodePiece(numbers.subarray(from, from + PIECE)));
}

function encodePiece(numbers: Float64Array | Uint32Array): Uint8Array {
  let least = Infinity;
  let greatest = -Infinity;
  let missing = 0;
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at] ?? NaN;
    if (number < least) least = number;
    if (number > greatest) greatest = number;
    if (Number.isNaN(number)) missing += 1;
  }
  const isOne = missing === numbers.length || (missing === 0 && least === greatest);
  const width = isOne ? 0 : widthOf(greatest - least + 1);
  const bytes = new Uint8Array(16 + numbers.length * width);
  new Float64Array(bytes.buffer, 0, 1)[0] = least === Infinity ? NaN : least;
  new Uint32Array(bytes.buffer, 8, 2).set([width, numbers.length]);
  if (width === 8) new Float64Array(bytes.buffer, 16).set(numbers);
  else if (width > 0) {
    const offsets = offsetsOf(bytes.buffer, 16, width, numbers.length);
    // NaN becomes 0.
    for (let at = 0; at < numbers.length; at += 1) offsets[at] = (numbers[at] ?? 0) - least + 1;
  }
  return bytes;
}

/** Bytes per number. */
function widthOf(greatest: number): number {
  if (greatest <= 0xff) return 1;
  if (greatest <= 0xffff) return 2;
  return greatest <= 0xffff_ffff ? 4 : 8;
}

function offsetsOf(buffer: ArrayBufferLike, from: number, width: number, length: number): Piece['offsets'] {
  if (width === 1) return new Uint8Array(buffer, from, length);
  if (width === 2) return new Uint16Array(buffer, from, length);
  return new Uint32Array(buffer, from, width === 4 ? length : 0);
}

function decodePiece(bytes: Uint8Array): Piece {
  const { buffer, byteOffset } = bytes;
  const [base = 0] = new Float64Array(buffer, byteOffset, 1);
  const [width = 0, length = 0] = new Uint32Array(buffer, byteOffset + 8, 2);
  return {
    base,
    offsets: offsetsOf(buffer, byteOffset + 16, width, length),
    floats: new Float64Array(buffer, byteOffset + 16, width === 8 ? length : 0),
  };
}

/** Reads numbers by the piece. Raises `DamagedIndex`. */
export class Numbers {
  private piece: Piece | undefined;
  private at = -1;

  constructor(
    private readonly blobs: BlobReader,
    private readonly name: string,
    readonly length: number,
    private readonly isCached = true,
  ) {}

  /** The number at a position; NaN if it is missing. */
  get(position: number): number {
    const number = position >>> 13;
    if (this.at !== number || this.piece === undefined) {
      const name = `${this.name}/${number}`;
      this.piece = this.isCached
        ? this.blobs.read(name, decodePiece)
        : this.blobs.readOnce(name, decodePiece);
      this.at = number;
    }
    const { base, offsets, floats } = this.piece;
    const within = position & (PIECE - 1);
    if (offsets.length > 0) {
      const offset = offsets[within] ?? 0;
      return offset === 0 ? NaN : base + offset - 1;
    }
    return floats.length > 0 ? (floats[within] ?? NaN) : base;
  }

  /** Forgets the piece that was read last, which may be out of the cache by now. */
  release(): void {
    this.piece = undefined;
  }

  /** All numbers; a missing one is 0, others are increased by `plus`. */
  whole(plus = 0): Uint32Array {
    const all = new Uint32Array(this.length);
    for (let from = 0; from < this.length; from += PIECE) {
      const { base, offsets, floats } = this.blobs.readOnce(`${this.name}/${from / PIECE}`, decodePiece);
      if (offsets.length === 0 && floats.length === 0 && !Number.isNaN(base))
        all.fill(base + plus, from, from + PIECE);
      for (const [at, number] of floats.entries()) all[from + at] = Number.isNaN(number) ? 0 : number + plus;
      for (let at = 0; at < offsets.length; at += 1) {
        const offset = offsets[at] ?? 0;
        all[from + at] = offset === 0 ? 0 : base + offset - 1 + plus;
      }
    }
    return all;
  }
}
