import { type Order } from '../../kernel/query';
import { type Layout } from './layout';
import { having, type Query } from './query';

/** A sort key that counts matching words. */
export type Matches = Extract<Order, { readonly matches: readonly string[] }>;

/** Scores are 32-bit floating-point numbers, which are exact for integers up to this. */
const MAX_SCORE = 2 ** 24;

/**
 * Encodes counts of words as the one score that the server computes per document. The counts are the digits of an integer, so
 * a greater score means a greater first count, then a greater second one, and so on.
 */
export class Score {
  private readonly weights: readonly number[];
  /** Queries whose boosts add up to the score. */
  readonly parts: readonly Query[];

  constructor(counts: readonly Matches[], layout: Layout) {
    const words = counts.map(({ matches }) => [...new Set(matches)]);
    const weights: number[] = [];
    let weight = 1;
    for (const list of words.toReversed()) {
      weights.unshift(weight);
      weight *= list.length + 1;
    }
    if (weight > MAX_SCORE) throw new Error(`${words.flat().length} words: too many to order by`);
    this.weights = weights;
    this.parts = counts.flatMap(({ within }, at) => {
      const field = layout.field(within, 'words').name;
      const boost = weights[at] ?? 1;
      return (words[at] ?? []).map((word) => ({
        constant_score: { filter: having(field, word), boost },
      }));
    });
  }

  /** Adds the score to a query. */
  of({ bool }: { readonly bool: { readonly filter: Query[] } }): Query {
    return this.parts.length === 0
      ? { bool }
      : { bool: { ...bool, should: [...this.parts], minimum_should_match: 0 } };
  }

  /** Encodes counts as a score. */
  scoreOf(counts: readonly number[]): number {
    return this.weights.reduce((sum, weight, at) => sum + weight * (counts[at] ?? 0), 0);
  }

  /** Decodes a score. */
  counts(score: number): number[] {
    let rest = score;
    return this.weights.map((weight) => {
      const count = Math.floor(rest / weight);
      rest -= count * weight;
      return count;
    });
  }
}
