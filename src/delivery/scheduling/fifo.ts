/** A queue: adding at its end and taking from its front take constant time. */
export class Fifo<Item> {
  private items: Item[] = [];
  private start = 0;

  get size(): number {
    return this.items.length - this.start;
  }

  get first(): Item | undefined {
    return this.items[this.start];
  }

  add(item: Item): void {
    this.items.push(item);
  }

  take(): Item | undefined {
    const item = this.items[this.start];
    if (this.start < this.items.length) this.start += 1;
    if (this.start > 32 && this.start * 2 > this.items.length) {
      this.items = this.items.slice(this.start);
      this.start = 0;
    }
    return item;
  }
}
