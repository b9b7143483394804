import { type BlobReader, type BlobWriter } from './storage';

/**
 * Numbers by ordinal or by position, in blobs of 8,192: as 32-bit offsets from the least one (0 is missing), or as
 * floating point numbers (NaN is missing) where these are too large.
 */
const PIECE = 8_192;

/** A blob of numbers. One of the arrays is empty. */
interface Piece {
  /** The number of an offset of 1. */
  readonly base: number;
  readonly offsets: Uint32Array;
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
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at] ?? NaN;
    if (number < least) least = number;
    if (number > greatest) greatest = number;
  }
  const isWide = greatest - least >= 0xffff_ffff;
  const bytes = new Uint8Array(16 + numbers.length * (isWide ? 8 : 4));
  new Float64Array(bytes.buffer, 0, 1)[0] = least === Infinity ? 0 : least;
  new Uint32Array(bytes.buffer, 8, 2).set([isWide ? 1 : 0, numbers.length]);
  if (isWide) new Float64Array(bytes.buffer, 16).set(numbers);
  else {
    const offsets = new Uint32Array(bytes.buffer, 16);
    // NaN becomes 0.
    for (let at = 0; at < numbers.length; at += 1) offsets[at] = (numbers[at] ?? 0) - least + 1;
  }
  return bytes;
}

function decodePiece(bytes: Uint8Array): Piece {
  const { buffer, byteOffset } = bytes;
  const [base = 0] = new Float64Array(buffer, byteOffset, 1);
  const [isWide = 0, length = 0] = new Uint32Array(buffer, byteOffset + 8, 2);
  return {
    base,
    offsets: new Uint32Array(buffer, byteOffset + 16, isWide === 1 ? 0 : length),
    floats: new Float64Array(buffer, byteOffset + 16, isWide === 1 ? length : 0),
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
    if (floats.length > 0) return floats[within] ?? NaN;
    const offset = offsets[within] ?? 0;
    return offset === 0 ? NaN : base + offset - 1;
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
      for (const [at, number] of floats.entries()) all[from + at] = Number.isNaN(number) ? 0 : number + plus;
      for (let at = 0; at < offsets.length; at += 1) {
        const offset = offsets[at] ?? 0;
        all[from + at] = offset === 0 ? 0 : base + offset - 1 + plus;
      }
    }
    return all;
  }
}
