import { type Order } from '../../kernel/query';
import { type Layout } from './layout';
import { having, type Query } from './query';

/** An order by how many of the distinct words a field has. */
export type Matches = Extract<Order, { readonly matches: readonly string[] }>;

/** The server adds scores up as 32-bit floating point numbers, which hold integers up to here. */
const MOST = 2 ** 24;

/**
 * Counts of words as the one score that the server gives each document: an integer, the counts its digits, so that
 * a greater score is a greater first count, then a greater second one, and so on.
 */
export class Score {
  private readonly weights: readonly number[];
  /** What adds up to the score. */
  readonly parts: readonly Query[];

  constructor(counts: readonly Matches[], layout: Layout) {
    const words = counts.map(({ matches }) => [...new Set(matches)]);
    const weights: number[] = [];
    let weight = 1;
    for (const list of words.toReversed()) {
      weights.unshift(weight);
      weight *= list.length + 1;
    }
    if (weight > MOST) throw new Error(`${words.flat().length} words are too many to be ordered by`);
    this.weights = weights;
    this.parts = counts.flatMap(({ within }, at) => {
      const field = layout.field(within, 'words').name;
      const boost = weights[at] ?? 1;
      return (words[at] ?? []).map((word) => ({
        constant_score: { filter: having(field, word), boost },
      }));
    });
  }

  /** Documents that match the query, scored. */
  of({ bool }: { readonly bool: { readonly filter: Query[] } }): Query {
    return this.parts.length === 0
      ? { bool }
      : { bool: { ...bool, should: [...this.parts], minimum_should_match: 0 } };
  }

  /** The score that counts make. */
  scoreOf(counts: readonly number[]): number {
    return this.weights.reduce((sum, weight, at) => sum + weight * (counts[at] ?? 0), 0);
  }

  /** The counts that a score is made of. */
  counts(score: number): number[] {
    let rest = score;
    return this.weights.map((weight) => {
      const count = Math.floor(rest / weight);
      rest -= count * weight;
      return count;
    });
  }
}
