import { mapInSlices } from '../../runtime/slices';
import { wordsOf } from '../../wire/words';
import { type CategoryDefinition } from '../events';
import { stemOf, synonymsOf } from './word-stems';

/** A platform category that an advertiser's name may mean. */
export interface Suggestion {
  readonly categoryId: string;
  /** The English names from the root. */
  readonly path: string;
  /** From 0, nothing in common, to 1, the same path. */
  readonly score: number;
}

/** Weights of the parts of a path, from the last one. */
const PATH_WEIGHTS = [1, 0.45, 0.3, 0.2] as const;
/** Length of the n-grams that match compounds and inflected words. */
const GRAM = 3;
const GRAM_WEIGHT = 0.35;
const SYNONYM_WEIGHT = 0.8;

/** Stop words. */
const STOP_WORDS = new Set(
  'a all and andere aux de der des die du e el en et for fur im in la le les mit more of og on other others sonstige sonstiges the to und with y zubehorteile'.split(
    ' ',
  ),
);

type Vector = ReadonlyMap<string, number>;

interface Posting {
  readonly entries: number[];
  readonly weights: number[];
}

/**
 * Finds categories by similar names in any language of the tree. Each category has a vector per language: the stems of
 * its path and their trigrams, weighted by rarity and by closeness to its own name. A query has such a vector too, plus
 * the synonyms of its words. The score is the cosine similarity.
 */
export class CategorySuggester {
  private readonly postings = new Map<string, Posting>();
  private readonly ids: string[] = [];
  private readonly byId: ReadonlyMap<string, CategoryDefinition>;

  private constructor(categories: Iterable<CategoryDefinition>) {
    this.byId = new Map([...categories].map((category) => [category.id, category]));
  }

  /** Indexes a tree, yielding to the event loop. */
  static async of(categories: Iterable<CategoryDefinition>): Promise<CategorySuggester> {
    const suggester = new CategorySuggester(categories);
    const named = [...suggester.byId.values()].flatMap((category) =>
      Object.keys(category.names).map((language) => ({ category, language })),
    );
    const vectors = await mapInSlices(named, ({ category, language }) => {
      suggester.ids.push(category.id);
      return vectorOf(suggester.namesOf(category, language));
    });
    await suggester.index(vectors);
    return suggester;
  }

  /** The best matches first, at most `most`; ties by id. */
  suggest(name: string, most: number): readonly Suggestion[] {
    const own = vectorOf(partsOf(name));
    const scores = new Map<number, number>();
    let square = 0;
    for (const [feature, raw] of withSynonyms(own)) {
      const posting = this.postings.get(feature);
      const weight = raw * this.rarity(posting?.entries.length ?? 0);
      // Synonyms add matches, but do not count towards the norm of the query.
      if (own.has(feature)) square += weight * weight;
      posting?.entries.forEach((entry, at) =>
        scores.set(entry, (scores.get(entry) ?? 0) + weight * (posting.weights[at] ?? 0)),
      );
    }
    const best = new Map<string, number>();
    for (const [entry, product] of scores) {
      const id = this.ids[entry] ?? '';
      best.set(id, Math.max(best.get(id) ?? 0, product / Math.sqrt(square)));
    }
    return [...best]
      .sort(([a, x], [b, y]) => y - x || Number(a) - Number(b))
      .slice(0, most)
      .map(([categoryId, score]) => ({ categoryId, path: this.pathOf(categoryId), score: rounded(score) }));
  }

  private async index(vectors: readonly Vector[]): Promise<void> {
    const frequencies = new Map<string, number>();
    for (const vector of vectors)
      for (const feature of vector.keys()) frequencies.set(feature, (frequencies.get(feature) ?? 0) + 1);
    await mapInSlices(vectors.entries(), ([entry, vector]) => {
      const weighted = [...vector].map(
        ([feature, weight]) => [feature, weight * this.rarity(frequencies.get(feature) ?? 0)] as const,
      );
      const length = Math.sqrt(weighted.reduce((sum, [, weight]) => sum + weight * weight, 0));
      for (const [feature, weight] of weighted) {
        const posting = this.postings.get(feature) ?? { entries: [], weights: [] };
        this.postings.set(feature, posting);
        posting.entries.push(entry);
        posting.weights.push(weight / length);
      }
    });
  }

  /** Inverse document frequency: the weight of a feature that this many entries have. */
  private rarity(frequency: number): number {
    return 1 + Math.log((this.ids.length + 1) / (frequency + 1));
  }

  /** The names from a category up to its root in a language, or in English where there is none. */
  private namesOf(category: CategoryDefinition, language: string): readonly string[] {
    const names: string[] = [];
    const seen = new Set<string>();
    let at: CategoryDefinition | undefined = category;
    while (at !== undefined && !seen.has(at.id)) {
      seen.add(at.id);
      names.push(at.names[language] ?? at.names['en'] ?? '');
      at = at.parentId === null ? undefined : this.byId.get(at.parentId);
    }
    return names;
  }

  private pathOf(id: string): string {
    const category = this.byId.get(id);
    return category === undefined ? '' : [...this.namesOf(category, 'en')].reverse().join(' > ');
  }
}

/** The parts of an advertiser's category path, last one first. */
function partsOf(name: string): readonly string[] {
  const parts = name.split(/\s*(?:>|»|›|\||\/|::|\\|→|;)\s*/).filter((part) => part.trim() !== '');
  return parts.reverse();
}

/** Stems of words and their trigrams, with weights. */
function vectorOf(parts: readonly string[]): Vector {
  const vector = new Map<string, number>();
  const add = (feature: string, weight: number): unknown =>
    vector.set(feature, Math.max(vector.get(feature) ?? 0, weight));
  for (const [distance, part] of parts.entries()) {
    const weight = PATH_WEIGHTS[distance] ?? PATH_WEIGHTS[PATH_WEIGHTS.length - 1] ?? 0;
    const words = wordsOf(part).filter((word) => !STOP_WORDS.has(word));
    for (const word of words) {
      const stem = stemOf(word);
      add(`=${stem}`, weight);
      for (const gram of gramsOf(stem)) add(gram, weight * GRAM_WEIGHT);
    }
  }
  return vector;
}

function withSynonyms(vector: Vector): Vector {
  const all = new Map(vector);
  for (const [feature, weight] of vector) {
    if (!feature.startsWith('=')) continue;
    for (const other of synonymsOf(feature.slice(1)))
      all.set(`=${other}`, Math.max(all.get(`=${other}`) ?? 0, weight * SYNONYM_WEIGHT));
  }
  return all;
}

function* gramsOf(stem: string): Generator<string> {
  for (let at = 0; at + GRAM <= stem.length; at += 1) yield stem.slice(at, at + GRAM);
}

function rounded(score: number): number {
  return Math.min(1, Math.round(score * 1000) / 1000);
}
