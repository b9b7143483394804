import { type BodyFormat } from '../../../../wire/api/format';
import { type ElementOrigin } from '../../../../wire/json/cut';

/** Products of a body, cut out but not parsed: the unit of work of a validation thread. */
export interface Slice {
  readonly format: BodyFormat;
  /** Namespace prefixes that the body declares around its products. */
  readonly prefixes: readonly string[];
  /** One product after the other. */
  readonly bytes: Uint8Array;
  /** Where each ends. */
  readonly ends: Uint32Array;
  /** The place of each in the body, from 1. */
  readonly sequences: Uint32Array;
  /** Where each begins in a JSON body. */
  readonly firstBytes: Float64Array;
  /** How many members its objects have, in a JSON body. */
  readonly members: Uint32Array;
  /** How many more faults can be listed. */
  readonly room: number;
}

/** Bytes of a slice: a few milliseconds of work. */
const SLICE_BYTES = 256 * 1024;
/** Products of a slice: as much work, however small they are. Other loads wait no longer than that. */
const SLICE_PRODUCTS = 2_000;
/** Initial size of the buffer: most bodies are small. */
const SMALLEST = 18 * 1024;

/** Collects the products of a slice. */
export class SliceBuilder {
  private bytes = Buffer.alloc(0);
  private used = 0;
  private ends: number[] = [];
  private sequences: number[] = [];
  private firstBytes: number[] = [];
  private members: number[] = [];

  /** Returns true when the slice is full. */
  add(product: Buffer, sequence: number, { firstByte, members }: ElementOrigin): boolean {
    this.reserve(product.length);
    this.bytes.set(product, this.used);
    this.used += product.length;
    this.ends.push(this.used);
    this.sequences.push(sequence);
    this.firstBytes.push(firstByte);
    this.members.push(members);
    return this.used >= SLICE_BYTES || this.ends.length >= SLICE_PRODUCTS;
  }

  /** Returns what has been collected, and starts the next slice. */
  take(): Pick<Slice, 'bytes' | 'ends' | 'sequences' | 'firstBytes' | 'members'> {
    const slice = {
      bytes: this.bytes.subarray(0, this.used),
      ends: Uint32Array.from(this.ends),
      sequences: Uint32Array.from(this.sequences),
      firstBytes: Float64Array.from(this.firstBytes),
      members: Uint32Array.from(this.members),
    };
    this.bytes = Buffer.alloc(0);
    this.used = 0;
    this.ends = [];
    this.sequences = [];
    this.firstBytes = [];
    this.members = [];
    return slice;
  }

  private reserve(length: number): void {
    if (this.used + length <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(4 * this.bytes.length, this.used + length, SMALLEST));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes = larger;
  }
}
