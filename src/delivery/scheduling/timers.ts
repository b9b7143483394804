/** Items by the time when they are due: a heap. */
export class Timers<Item> {
  private readonly heap: { readonly time: number; readonly item: Item }[] = [];

  /** When the first one is due. */
  get next(): number | undefined {
    return this.heap[0]?.time;
  }

  add(time: number, item: Item): void {
    const { heap } = this;
    const added = { time, item };
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const parent = heap[above];
      if (parent === undefined || parent.time <= time) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = added;
  }

  /** Takes the first one if it is due by now. */
  takeDue(now: number): Item | undefined {
    const { heap } = this;
    const first = heap[0];
    if (first === undefined || first.time > now) return undefined;
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) this.sink(last);
    return first.item;
  }

  /** Puts an entry in place of the first one, below all that are earlier. */
  private sink(entry: { readonly time: number; readonly item: Item }): void {
    const { heap } = this;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      if (left === undefined) break;
      const isRight = right !== undefined && right.time < left.time;
      const child = isRight ? right : left;
      if (child.time >= entry.time) break;
      heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = entry;
  }
}
