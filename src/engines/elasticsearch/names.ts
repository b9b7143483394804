import { type Target } from '../../kernel/read-store';

/**
 * Names of indices and aliases: `<prefix>.<collection>.…`. Names of collections have no dots.
 *
 * A generation is one index. Its state is recorded only in its aliases, which change together, atomically.
 */
export class Names {
  constructor(private readonly prefix: string) {}

  /** The index for what has no generations. */
  get control(): string {
    return `${this.prefix}.control`;
  }

  index(collection: string, number: number): string {
    return `${this.prefix}.${collection}.${number}`;
  }

  /** The alias of a generation from its creation until it is dropped; writes use it. */
  generation(collection: string, number: number): string {
    return `${this.prefix}.${collection}.g${number}`;
  }

  /** The alias of the live generation. */
  live(collection: string): string {
    return `${this.prefix}.${collection}.live`;
  }

  /** The alias of generations that are or were live. */
  swapped(collection: string): string {
    return `${this.prefix}.${collection}.swapped`;
  }

  /** The only alias of an index that was dropped at this time (epoch ms). */
  dropped(collection: string, at: number): string {
    return `${this.prefix}.${collection}.dropped-${at}`;
  }

  /** The time in a `dropped` alias. */
  droppedAt(alias: string): number | undefined {
    const at = /\.dropped-(\d+)$/.exec(alias)?.[1];
    return at === undefined ? undefined : Number(at);
  }

  of({ collection, generation }: Target): string {
    return generation === undefined ? this.live(collection) : this.generation(collection, generation);
  }

  /** A pattern for all indices of a collection, or of every collection. */
  all(collection = '*'): string {
    return `${this.prefix}.${collection}.*`;
  }
}
