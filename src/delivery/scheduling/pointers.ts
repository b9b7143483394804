/** Revisions in ascending order. Adding at the end takes constant time, finding and removing any logarithmic time, on average. */
export class Pointers implements Iterable<number> {
  /** Removed ones are negative, until they are cleared away. */
  private items: number[] = [];
  private start = 0;
  private removed = 0;

  get size(): number {
    return this.items.length - this.start - this.removed;
  }

  /** Adds one at the end; does nothing unless it is greater than all. */
  add(revision: number): void {
    const last = this.items.at(-1);
    if (last === undefined || revision > revisionOf(last)) this.items.push(revision);
  }

  has(revision: number): boolean {
    return this.items[this.indexOf(revision)] === revision;
  }

  /** False if it was not there. */
  delete(revision: number): boolean {
    const at = this.indexOf(revision);
    if (this.items[at] !== revision) return false;
    this.items[at] = -1 - revision;
    this.removed += 1;
    this.clear();
    return true;
  }

  /** The first one after a revision. */
  after(revision: number): number | undefined {
    for (let at = this.indexOf(revision + 1); at < this.items.length; at += 1) {
      const item = this.items[at];
      if (item !== undefined && item >= 0) return item;
    }
    return undefined;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let at = this.start; at < this.items.length; at += 1) {
      const item = this.items[at];
      if (item !== undefined && item >= 0) yield item;
    }
  }

  /** The index of the first one, removed or not, that is not below a revision. */
  private indexOf(revision: number): number {
    let low = this.start;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (revisionOf(this.items[middle] ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private clear(): void {
    while (this.start < this.items.length && (this.items[this.start] ?? 0) < 0) {
      this.start += 1;
      this.removed -= 1;
    }
    if (this.start + this.removed <= 32 + this.size) return;
    this.items = [...this];
    this.start = 0;
    this.removed = 0;
  }
}

function revisionOf(item: number): number {
  return item < 0 ? -1 - item : item;
}
