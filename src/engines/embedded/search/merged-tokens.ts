import { type DictionaryReader, type DictionaryWriter } from './dictionary';
import { Heap } from './heap';

interface SourceReader {
  readonly source: number;
  readonly reader: DictionaryReader;
}

/** The tokens of several dictionaries in order. */
export class MergedTokens {
  /** The readers that are at the current token, in the order of the sources. */
  readonly equal: SourceReader[] = [];
  /** The others. */
  private readonly heap = new Heap<SourceReader>(compareSources);

  /** `readers`: of each source, at the first of its tokens, which is not read yet; undefined if it has none. */
  constructor(readers: readonly (DictionaryReader | undefined)[]) {
    for (const [source, reader] of readers.entries())
      if (reader !== undefined) this.heap.add({ source, reader });
  }

  /** Goes to the next token; false after the last one. */
  next(): boolean {
    const { equal, heap } = this;
    const first = this.first();
    // Setting its length takes longer.
    while (equal.length > 0) equal.pop();
    if (first === undefined) return false;
    equal.push(first);
    for (let least = heap.least; least?.reader.compare(first.reader) === 0; least = heap.least) {
      equal.push(least);
      heap.removeLeast();
    }
    return true;
  }

  addTo(writer: DictionaryWriter): void {
    this.equal[0]?.reader.addTo(writer);
  }

  /** Takes the reader with the next token out of the heap, after the current ones have moved on. */
  private first(): SourceReader | undefined {
    const { equal, heap } = this;
    const [only] = equal;
    if (equal.length !== 1 || only === undefined) {
      for (const one of equal) if (one.reader.next()) heap.add(one);
      return heap.removeLeast();
    }
    if (!only.reader.next()) return heap.removeLeast();
    // Most tokens are in one source only.
    const { least } = heap;
    if (least === undefined || compareSources(only, least) < 0) return only;
    heap.replaceLeast(only);
    return least;
  }
}

function compareSources(a: SourceReader, b: SourceReader): number {
  return a.reader.compare(b.reader) || a.source - b.source;
}
