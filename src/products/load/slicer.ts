import { type Slice } from './validate';

/** Bytes of a slice: a few milliseconds of work. */
const SLICE = 256 * 1024;
/** Products of a slice: as much work, however small they are. Other loads wait for no longer than that. */
const PRODUCTS = 2_000;

/** Gathers products of a body into slices. */
export class Slicer {
  private bytes = Buffer.alloc(0);
  private used = 0;
  private ends: number[] = [];
  private sequences: number[] = [];

  /** Takes a product; true when the slice has become full. */
  add(product: Buffer, sequence: number): boolean {
    this.reserve(product.length);
    this.bytes.set(product, this.used);
    this.used += product.length;
    this.ends.push(this.used);
    this.sequences.push(sequence);
    return this.used >= SLICE || this.ends.length >= PRODUCTS;
  }

  /** What has been gathered. */
  take(): Pick<Slice, 'bytes' | 'ends' | 'sequences'> {
    const [ends, sequences] = [Uint32Array.from(this.ends), Uint32Array.from(this.sequences)];
    const slice = { bytes: this.bytes.subarray(0, this.used), ends, sequences };
    this.bytes = Buffer.alloc(0);
    this.used = 0;
    this.ends = [];
    this.sequences = [];
    return slice;
  }

  private reserve(length: number): void {
    if (this.used + length <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(4 * this.bytes.length, this.used + length, SMALLEST));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes = larger;
  }
}

/** Bytes of a slice at first: most bodies are small. */
const SMALLEST = 18 * 1024;
