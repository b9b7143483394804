import { type Words } from './words';

/** What a sort of products has in common: enough to make plausible ones by rule. */
export interface Kind {
  /** Platform category. */
  readonly category: string;
  /** What one of them is called. */
  readonly noun: Words;
  /** The advertisers' own name of the category. */
  readonly shelf: Words;
  readonly brands: readonly string[];
  /** Names of model lines. */
  readonly lines: readonly string[];
  /** Lowest and highest price in whole units. */
  readonly price: readonly [number, number];
  /** Lowest and highest weight in grams. */
  readonly weight: readonly [number, number];
  /** A custom field and its values. */
  readonly attribute: { readonly name: Words; readonly values: readonly string[] };
  /** Follows "with" (German: dative). */
  readonly features: readonly Words[];
}
