/** Initial size: most texts are small. */
const SMALLEST = 4 * 1024;

/** Collects bytes that arrive in chunks: a client may send each of them in one of its own, which takes a hundred times more. */
export class GrowingBytes {
  private bytes = Buffer.alloc(0);
  private used = 0;

  get length(): number {
    return this.used;
  }

  add(chunk: Buffer): void {
    const length = this.used + chunk.length;
    if (length > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, length, SMALLEST));
      this.bytes.copy(larger, 0, 0, this.used);
      this.bytes = larger;
    }
    chunk.copy(this.bytes, this.used);
    this.used = length;
  }

  /** All of them; the next ones begin anew. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.used);
    this.bytes = Buffer.alloc(0);
    this.used = 0;
    return taken;
  }
}
