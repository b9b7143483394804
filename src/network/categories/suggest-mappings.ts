import { mapInSlices } from '../../runtime/concurrency';
import { plainWordsOf } from '../../wire/words';
import { type Directory } from '../directory';
import { type CategoryDefinition } from '../events';
import { type CategoryMapping } from './category-counts';
import { defined } from '../../kernel/values';

/** Suggested categories for a name, best first. */
export interface SuggestedMapping extends Pick<CategoryMapping, 'categoryName'> {
  readonly feedId?: number;
  readonly productCount?: number;
  readonly suggestions: readonly Suggestion[];
}

/** Maximum names per answer; those with the most products are used. */
const MAX_NAMES = 1000;

const suggesters = new WeakMap<
  Directory,
  { readonly treeChanged: string; readonly suggester: Promise<CategorySuggester> }
>();

/** Suggests up to `most` categories for each unmapped name. */
export async function suggestMappings(
  directory: Directory,
  names: Iterable<Pick<CategoryMapping, 'categoryName'> & Partial<CategoryMapping>>,
  most: number,
): Promise<readonly SuggestedMapping[]> {
  const suggester = await suggesterOf(directory);
  const selected = [...names]
    .filter(({ state }) => state !== 'mapped')
    .toSorted((a, b) => (b.productCount ?? 0) - (a.productCount ?? 0))
    .slice(0, MAX_NAMES);
  return await mapInSlices(selected, ({ feedId, categoryName, productCount }) =>
    defined({ feedId, categoryName, productCount, suggestions: suggester.suggest(categoryName, most) }),
  );
}

/** Cached until the tree changes. */
async function suggesterOf(directory: Directory): Promise<CategorySuggester> {
  const { treeChanged } = directory;
  const cached = suggesters.get(directory);
  if (cached?.treeChanged === treeChanged) return await cached.suggester;
  const created = CategorySuggester.of(directory.categories.all());
  suggesters.set(directory, { treeChanged, suggester: created });
  return await created;
}

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

const STOP_WORDS = new Set(
  (
    'a all and andere aux de der des die du e el en et for fur im in la le les mit more of og on other others ' +
    'sonstige sonstiges the to und with y zubehorteile'
  ).split(' '),
);

type Vector = ReadonlyMap<string, number>;

/**
 * Finds categories by similar names in any language of the tree. Each category has a vector per language: the stems of
 * its path and their trigrams, weighted by rarity and by closeness to its own name. A query has such a vector too, plus
 * the synonyms of its words. The score is the cosine similarity.
 */
export class CategorySuggester {
  private readonly postings = new Map<string, { readonly entries: number[]; readonly weights: number[] }>();
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
    const words = plainWordsOf(part).filter((word) => !STOP_WORDS.has(word));
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
    for (const other of SYNONYMS.get(feature.slice(1)) ?? [])
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

/** Synonyms, one group per line; similar spellings need no entry. */
const GROUPS = `
  sneaker trainer turnschuh
  laptop notebook ultrabook
  tv television fernseher fernsehgerat
  smartphone handy mobile cellphone mobiltelefon phone
  jumper sweater pullover pulli
  trousers pants hose
  hoodie kapuzenpullover sweatshirt
  handbag purse handtasche
  couch sofa
  cupboard wardrobe closet kleiderschrank schrank
  fridge refrigerator kuhlschrank
  hob cooktop kochfeld
  hoover vacuum staubsauger
  barbecue bbq grill
  bike bicycle cycle fahrrad rad
  stroller pushchair pram buggy kinderwagen
  nappy diaper windel
  cot crib kinderbett babybett
  perfume fragrance parfum duft scent
  makeup cosmetics kosmetik
  headphone earphone headset kopfhorer
  speaker loudspeaker lautsprecher box
  screen monitor display bildschirm
  lamp light leuchte lampe lighting
  rug carpet teppich
  curtain drape vorhang gardine
  cushion pillow kissen
  bedding linen bettwasche
  torch flashlight taschenlampe
  spanner wrench schraubenschlussel
  mower rasenmaher
  tyre tire reifen
  jewellery jewelry schmuck
  necklace chain halskette kette
  earring ohrring
  watch uhr armbanduhr
  spectacles glasses eyewear brille
  swimwear swimsuit bikini bademode badeanzug
  underwear lingerie unterwasche wasche
  boot stiefel
  backpack rucksack
  suitcase luggage koffer gepack
  toy spielzeug
  puzzle jigsaw
  pet haustier tier
  vitamin supplement nahrungserganzung
  women woman ladies lady damen frauen female
  men man gents herren manner male
  kid child children kinder junior
  baby infant saugling
  game gaming videospiel
  book buch
  stationery schreibwaren
  printer drucker
  camera kamera
  coffee kaffee espresso
  pan frying pfanne
  pot topf saucepan
  knife messer
  drill bohrmaschine
  garden gartnerei garten outdoor
  office buro
  sleeping schlaf
  desk schreibtisch
  chair stuhl seat
  table tisch
  shelf regal bookcase
  coat mantel
  jacket jacke
  shirt hemd
  skirt rock
  dress kleid
  sock socke
  glove handschuh
  scarf schal
  hat cap mutze
  belt gurtel
`;

/** Inflectional endings in English, German and related languages, longest first. */
const ENDINGS = ['innen', 'ern', 'ies', 'en', 'er', 'es', 'e', 'n', 's', 'x'] as const;
const MIN_STEM = 3;

/** A word, as returned by `plainWordsOf`, without its inflectional endings. Approximate. */
function stemOf(word: string): string {
  return withoutEnding(withoutEnding(word));
}

function withoutEnding(word: string): string {
  const ending = ENDINGS.find((one) => word.endsWith(one) && word.length - one.length >= MIN_STEM);
  return ending === undefined ? word : word.slice(0, -ending.length);
}

const SYNONYMS: ReadonlyMap<string, readonly string[]> = groupsOf(GROUPS);

function groupsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const line of text.trim().split('\n')) {
    const stems = [...new Set(plainWordsOf(line).map(stemOf))];
    for (const stem of stems)
      found.set(stem, [...(found.get(stem) ?? []), ...stems.filter((other) => other !== stem)]);
  }
  return found;
}
