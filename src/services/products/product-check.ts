import { type Fault, type FaultDetails } from '../../kernel/fault';
import { forbiddenCharacter } from '../../wire/xml/write';
import { isPosted, isUnset, type Origin, type Posted, type Problem, Refusals } from '../../wire/api/posted';
import { complete, type FoundIn, recordReader } from '../../wire/record/read';
import { type Identifiers, type Product, productFaults as fault } from '../../domain/products/feed';
import { IDENTIFIERS, MAX_ID, postedProduct } from '../../domain/products/product-fields';
import { NotParsable } from '../../wire/bytes';

/** A posted product that may be stored: its content as `ProductListed` has it, its price in minor units. */
interface CheckedProduct {
  readonly sourceProductId: string;
  readonly price: number;
  readonly product: Product;
}

/** A refused product (`docs/decisions.md#p1`) and its faults; others of the same post may be accepted. */
interface RefusedProduct {
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

interface ProductOrigin extends Origin {
  /** Values that are known to be unusable. */
  readonly wrong?:
    | readonly {
        readonly path: string;
        readonly value: string;
        readonly expected: string;
        readonly problem: Problem;
      }[]
    | undefined;
}

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
  origin?: ProductOrigin,
): CheckedProduct | RefusedProduct {
  const id = usableId(posted['sourceProductId']);
  const refusals = new Refusals(
    PROBLEMS,
    id === undefined ? NO_DETAILS : { sourceProductId: id },
    mostFaults,
    origin,
  );
  for (const { path, value, expected, problem } of origin?.wrong ?? [])
    refusals.wrong(path, value, expected, problem);
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

/** A larger product, as JSON, is refused by itself (`docs/decisions.md#p27`). */
export const MAX_PRODUCT = 256 * 1024;

/** Faults that a load lists (`docs/decisions.md#x23`); more are counted. */
const MAX_FAULTS = 10_000;

export interface LoadFault {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly sourceProductId: string | undefined;
}

/** A product that may not be stored: its first faults, and how many more there are. */
export interface ProductRefusal {
  readonly sourceProductId: string | undefined;
  readonly faults: readonly LoadFault[];
  readonly moreFaults: number;
}

/** The faults of a load's products, or of those of a slice. */
export class LoadFaults {
  products = 0;
  readonly listed: LoadFault[] = [];
  more = 0;

  constructor(private readonly max = MAX_FAULTS) {}

  /** How many more faults can be listed. */
  get room(): number {
    return this.max - this.listed.length;
  }

  add({ faults, moreFaults }: ProductRefusal): void {
    this.addAll({ products: 1, listed: faults, more: moreFaults });
  }

  addAll({ products, listed, more }: FaultCounts): void {
    const fitting = listed.slice(0, this.room);
    this.products += products;
    this.listed.push(...fitting);
    this.more += more + listed.length - fitting.length;
  }
}

export interface FaultCounts {
  readonly products: number;
  readonly listed: readonly LoadFault[];
  readonly more: number;
}

/** Refuses a product larger than `MAX_PRODUCT`, at a place of the body; its id may be unknown. */
export function oversized(sourceProductId: string | undefined, place: string): ProductRefusal {
  const message = `expected a product of at most ${MAX_PRODUCT / 1024} KB, as JSON`;
  const details = sourceProductId === undefined ? {} : { sourceProductId };
  const refused = toLoadFault(fault.illegalValue(message, details), place);
  return { sourceProductId, faults: [refused], moreFaults: 0 };
}

/** The fault of the product at a place of the body, which the message names. */
export function toLoadFault({ code, status, message, details }: Fault, place: string): LoadFault {
  const { sourceProductId } = details;
  return { code, status, message: `${place}: ${message}`, sourceProductId };
}

/** Runs a parser; raises `PF_210` for a malformed body, with `problem` if that knows better, and `origin`. */
export function parseOrRefuse<Parsed>(
  parse: () => Parsed,
  origin: () => string,
  problem: () => string | undefined = () => undefined,
): Parsed {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof NotParsable)) throw error;
    throw fault.noParsableContent(`the body cannot be parsed: ${problem() ?? error.message}${origin()}`);
  }
}
