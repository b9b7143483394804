import { ELECTRONICS, HOME, type ProductKind } from './kinds';
import { FASHION_AND_SPORT } from './fashion-and-sport';
import { type Random, seededRandom, type Words } from './random';

export const KINDS: readonly ProductKind[] = [...ELECTRONICS, ...HOME, ...FASHION_AND_SPORT];

/** An article of a manufacturer; several shops may sell it. */
export interface Article {
  /** From 0. */
  readonly number: number;
  readonly kind: ProductKind;
  readonly brand: string;
  readonly model: string;
  readonly colour: Words;
  /** EAN-13; with a leading 0 it is also a UPC of twelve digits. */
  readonly ean: string;
  /** Approximate price in euro cents. */
  readonly price: number;
  readonly grams: number;
  readonly attribute: string;
  readonly features: readonly Words[];
}

const COLOURS: readonly Words[] = [
  ['black', 'schwarz'],
  ['white', 'weiß'],
  ['anthracite', 'anthrazit'],
  ['sage green', 'salbeigrün'],
  ['midnight blue', 'nachtblau'],
  ['brick red', 'ziegelrot'],
  ['sand', 'sandfarben'],
];

const MODELS_PER_KIND = 18;
const COLOURS_PER_MODEL = 3;

let cached: readonly Article[] | undefined;

/** All articles; the same in every run. */
export function catalogue(): readonly Article[] {
  return (cached ??= createAll());
}

function createAll(): readonly Article[] {
  const random = seededRandom(4);
  return KINDS.flatMap((kind) =>
    Array.from({ length: MODELS_PER_KIND }, () => modelOf(kind, random)).flatMap((model) =>
      random.some(COLOURS, COLOURS_PER_MODEL).map((colour) => ({ ...model, colour })),
    ),
  ).map((article, number) => ({ ...article, number, ean: eanOf(article.brand, number) }));
}

function modelOf(kind: ProductKind, random: Random): Omit<Article, 'number' | 'colour' | 'ean'> {
  const [lowest, highest] = kind.price;
  return {
    kind,
    brand: random.pick(kind.brands),
    model: `${random.pick(kind.lines)} ${random.between(2, 98) * 10}`,
    // Uniform on a logarithmic scale: cheap models are more frequent.
    price: Math.round(100 * lowest * (highest / lowest) ** random.next()),
    grams: random.between(...kind.weight),
    attribute: random.pick(kind.attribute.values),
    features: random.some(kind.features, 3),
  };
}

/** EANs from the ranges reserved for use within a company, which are never assigned to manufacturers. */
function eanOf(brand: string, number: number): string {
  // Prefixes without real products: coupons, and the one that GS1 reserves for demonstrations.
  const range = brand.charCodeAt(0) % 5 === 0 ? '050' : '952';
  return ean13(`${range}${String(number * 7919 + 1_000_003).padStart(9, '0')}`);
}

/** An EAN-13: twelve digits and their check digit. */
export function ean13(twelveDigits: string): string {
  let sum = 0;
  for (let at = 0; at < 12; at += 1) sum += Number(twelveDigits.charAt(at)) * (at % 2 === 0 ? 1 : 3);
  return `${twelveDigits}${(10 - (sum % 10)) % 10}`;
}
