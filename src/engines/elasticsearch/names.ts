import { type Target } from '../../kernel/read-store';

/**
 * What indices and aliases are called: `<prefix>.<collection>.…`. The names of collections have no dots.
 *
 * A generation is one index, and the aliases that it bears are all that is recorded of its state: they change
 * together and at once.
 */
export class Names {
  constructor(private readonly prefix: string) {}

  /** The index of what has no generations. */
  get control(): string {
    return `${this.prefix}.control`;
  }

  index(collection: string, number: number): string {
    return `${this.prefix}.${collection}.${number}`;
  }

  /** Borne from the beginning until it is dropped: all that is written goes by it. */
  generation(collection: string, number: number): string {
    return `${this.prefix}.${collection}.g${number}`;
  }

  /** Borne by the live one. */
  live(collection: string): string {
    return `${this.prefix}.${collection}.live`;
  }

  /** Borne by those that are, or have been, live. */
  swapped(collection: string): string {
    return `${this.prefix}.${collection}.swapped`;
  }

  /** The only one borne by an index that was dropped then (epoch ms), until it is removed. */
  dropped(collection: string, at: number): string {
    return `${this.prefix}.${collection}.dropped-${at}`;
  }

  /** When an index was dropped that bears this alias. */
  droppedAt(alias: string): number | undefined {
    const at = /\.dropped-(\d+)$/.exec(alias)?.[1];
    return at === undefined ? undefined : Number(at);
  }

  of({ collection, generation }: Target): string {
    return generation === undefined ? this.live(collection) : this.generation(collection, generation);
  }

  /** Matches all of a collection, or of all collections. */
  all(collection = '*'): string {
    return `${this.prefix}.${collection}.*`;
  }
}
