import { ean13 } from './ean';
import { ELECTRONICS } from './electronics';
import { FASHION_AND_SPORT } from './fashion-and-sport';
import { HOME } from './home';
import { type Kind } from './kind';
import { type Random, seededRandom } from './random';
import { type Words } from './words';

export const KINDS: readonly Kind[] = [...ELECTRONICS, ...HOME, ...FASHION_AND_SPORT];

/** A thing that is made, whoever sells it. */
export interface Article {
  /** From 0. */
  readonly number: number;
  readonly kind: Kind;
  readonly brand: string;
  readonly model: string;
  readonly colour: Words;
  /** EAN-13; one that begins with 0 is a UPC of twelve digits as well. */
  readonly ean: string;
  /** What it costs about, in cents of euros. */
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

let made: readonly Article[] | undefined;

/** Everything there is to sell; the same in every run. */
export function catalogue(): readonly Article[] {
  return (made ??= makeAll());
}

function makeAll(): readonly Article[] {
  const random = seededRandom(4);
  return KINDS.flatMap((kind) =>
    Array.from({ length: MODELS_PER_KIND }, () => modelOf(kind, random)).flatMap((model) =>
      random.some(COLOURS, COLOURS_PER_MODEL).map((colour) => ({ ...model, colour })),
    ),
  ).map((article, number) => ({ ...article, number, ean: eanOf(article.brand, number) }));
}

function modelOf(kind: Kind, random: Random): Omit<Article, 'number' | 'colour' | 'ean'> {
  const [cheapest, dearest] = kind.price;
  return {
    kind,
    brand: random.pick(kind.brands),
    model: `${random.pick(kind.lines)} ${random.between(2, 98) * 10}`,
    // Even on a logarithmic scale: cheap models are more frequent than dear ones.
    price: Math.round(100 * cheapest * (dearest / cheapest) ** random.next()),
    grams: random.between(...kind.weight),
    attribute: random.pick(kind.attribute.values),
    features: random.some(kind.features, 3),
  };
}

/** Numbers that no maker is ever given: of the ranges for use within a company. */
function eanOf(brand: string, number: number): string {
  const range = brand.charCodeAt(0) % 5 === 0 ? '04' : '20';
  return ean13(`${range}${String(number * 7919 + 1_000_003).padStart(10, '0')}`);
}
