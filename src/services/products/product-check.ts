import { type FaultDetails, type Fault } from '../../kernel/fault';
import { forbiddenCharacter } from '../../wire/xml/write';
import { isPosted, isUnset, type Origin, type Posted, Refusals } from '../../wire/api/posted';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { productFaults as fault } from '../../domain/products/faults';
import { type Identifiers, type Product } from '../../domain/products/feed';
import { IDENTIFIERS, MAX_ID, postedProduct } from '../../domain/products/product-fields';

/** A posted product that may be stored: its content as `ProductListed` has it, its price in minor units. */
export interface CheckedProduct {
  readonly sourceProductId: string;
  readonly price: number;
  readonly product: Product;
}

/** A refused product (`docs/decisions.md#p1`) and its faults; others of the same post may be accepted. */
export interface RefusedProduct {
  readonly sourceProductId: string | undefined;
  /** The first ones, up to the limit. */
  readonly faults: readonly Fault[];
  readonly moreFaults: number;
}

type FoundProduct = FoundIn<typeof postedProduct>;

/**
 * Read separately from the content: identifiers may be on the product, under `identifiers`, or both
 * (`docs/decisions.md#p9`), and fingerprints depend on the order of keys, in which other fields follow them.
 */
const APART = ['sourceProductId', 'price', 'identifiers', ...IDENTIFIERS, 'inStock', 'fields'] as const;
type Apart = Pick<FoundProduct, (typeof APART)[number]>;
type WholeApart = Apart & Required<Pick<Apart, 'sourceProductId' | 'price'>>;

const read = recordReader(postedProduct, APART);

const PROBLEMS = {
  missing: fault.valueNotSet,
  notNumeric: fault.notNumeric,
  malformedUrl: fault.malformedUrl,
  malformedPrice: fault.priceNotParsable,
  unusable: fault.illegalValue,
} as const;

const NO_DETAILS: FaultDetails = {};

/**
 * Checks one posted product, JSON or XML alike: an XML product arrives in the shape of the JSON one, numbers as
 * text. Strings are stored unchanged (`docs/decisions.md#a11`); fields that the document does not name are left out and
 * reported to `origin`.
 *
 * `knowsCategory` returns whether a platform category id exists (`docs/decisions.md#p13`); at most `mostFaults` faults
 * are returned.
 */
export function checkProduct(
  posted: Posted,
  knowsCategory: (id: string) => boolean,
  mostFaults = 20,
  origin?: Origin,
): CheckedProduct | RefusedProduct {
  const id = usableId(posted['sourceProductId']);
  const refusals = new Refusals(
    PROBLEMS,
    id === undefined ? NO_DETAILS : { sourceProductId: id },
    mostFaults,
    origin,
  );
  const apart: Apart = {};
  const content = read(posted, refusals, apart);
  checkCategories(content, posted, knowsCategory, refusals);
  const identifiers = identifiersOf(apart, refusals);
  if (!refusals.areNone)
    return { sourceProductId: id, faults: refusals.faults, moreFaults: refusals.moreFaults };
  const { sourceProductId, price, inStock, fields } = complete<WholeApart>(apart, refusals);
  const product: { -readonly [Key in keyof Product]: Product[Key] } = complete<Product>(content, refusals);
  // Added in place: copying every product takes longer than reading it.
  if (identifiers !== undefined) product.identifiers = identifiers;
  if (inStock !== undefined) product.inStock = inStock;
  if (fields !== undefined) product.fields = fields;
  return { sourceProductId, price, product };
}

/** A category has an id or a name; a name makes up for an unknown id. */
function checkCategories(
  { categories }: FoundProduct,
  posted: Posted,
  knowsCategory: (id: string) => boolean,
  refusals: Refusals,
): void {
  categories?.forEach(({ id, name }, at) => {
    if (name !== undefined) return;
    const place = `categories[${at}]`;
    if (id !== undefined && !knowsCategory(id))
      refusals.wrong(`${place}.id`, id, 'the id of a platform category, or a name beside it');
    else if (id === undefined && isNameless(posted, at)) refusals.missing(`${place}.id or ${place}.name`);
  });
}

/** Neither was posted; an unusable one has already been refused. */
function isNameless({ categories }: Posted, at: number): boolean {
  const category: unknown = Array.isArray(categories) ? categories[at] : undefined;
  return isPosted(category) && isUnset(category['id']) && isUnset(category['name']);
}

/** The identifiers of both places, which must not contradict each other. */
function identifiersOf(direct: Apart, refusals: Refusals): Identifiers | undefined {
  const grouped = direct.identifiers;
  if (IDENTIFIERS.every((name) => direct[name] === undefined)) return grouped;
  const all: { -readonly [Key in keyof Identifiers]: Identifiers[Key] } = {};
  for (const name of IDENTIFIERS) {
    const [one, other] = [direct[name], grouped?.[name]];
    if (one !== undefined && other !== undefined && one !== other)
      refusals.wrong(`identifiers.${name}`, other, `the same value as ${name}, or none`);
    const value = one ?? other;
    if (value !== undefined) all[name] = value;
  }
  return all;
}

/** True if a text somewhere in a parsed JSON value has a character that XML forbids (Document 1, Conventions 9). */
export function holdsForbiddenCharacter(value: unknown): boolean {
  if (typeof value === 'string') return forbiddenCharacter(value) !== undefined;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, member]) => forbiddenCharacter(key) !== undefined || holdsForbiddenCharacter(member),
  );
}

/** A posted `sourceProductId`, if it is one that a product may have. */
export function usableId(id: unknown): string | undefined {
  if (Number.isSafeInteger(id)) return String(id);
  if (typeof id !== 'string' || id === '') return undefined;
  return 3 * id.length <= MAX_ID || Buffer.byteLength(id) <= MAX_ID ? id : undefined;
}
