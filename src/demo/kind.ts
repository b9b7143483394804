import { type Words } from './words';

/** A kind of product, with enough data to generate plausible articles. */
export interface Kind {
  /** Platform category. */
  readonly category: string;
  readonly noun: Words;
  /** The advertisers' own category name. */
  readonly shelf: Words;
  readonly brands: readonly string[];
  /** Names of model lines. */
  readonly lines: readonly string[];
  /** Lowest and highest price in euros. */
  readonly price: readonly [number, number];
  /** Lowest and highest weight in grams. */
  readonly weight: readonly [number, number];
  /** A custom field and its values. */
  readonly attribute: { readonly name: Words; readonly values: readonly string[] };
  /** Phrases that follow "with" (in German: dative). */
  readonly features: readonly Words[];
}
