import { forbiddenCharacter } from '../wire/characters';
import { isPosted, isUnset, type Place, type Posted, wholeNumber, wrong } from '../wire/posted';
import { isWebUrl } from '../wire/web-url';
import { type FaultDetails, type Fault } from '../kernel/fault';
import { type PostedCategory } from '../categories/mapped-category';
import { type Identifiers, type Product } from './feed';
import { productFaults as fault } from './faults';
import { IDENTIFIERS, TEXTS } from './fields';
import { parsePrice } from './price';

/** A posted product that may be stored: its content is what `ProductListed` holds, its price in minor units. */
export interface CheckedProduct {
  readonly sourceProductId: string;
  readonly price: number;
  readonly product: Product;
}

/** A posted product that is refused by itself (`docs/decisions.md#p1`): everything that is wrong with it. */
export interface RefusedProduct {
  readonly sourceProductId: string | undefined;
  /** The first of them, as many as were wanted. */
  readonly faults: readonly Fault[];
  /** How many there are beyond these. */
  readonly moreFaults: number;
}

/** An id is named in every fault of its product, and in keys: it has at most so many bytes in UTF-8 (`docs/decisions.md#x22`). */
const MAX_ID = 1000;

/**
 * Checks one posted product, JSON or XML alike: an XML product arrives in the shape of the JSON one, numbers as
 * text. Strings are kept to the letter (`docs/decisions.md#a11`); fields that the document does not name are left out.
 *
 * `knowsCategory` tells whether a platform category id exists (`docs/decisions.md#p13`); of what is wrong, `mostFaults` are
 * told.
 */
export function checkProduct(
  posted: Posted,
  knowsCategory: (id: string) => boolean,
  mostFaults = 20,
): CheckedProduct | RefusedProduct {
  const check = new Check(posted, mostFaults);
  const name = check.requiredText('name');
  const description = check.requiredText('description');
  const productUrl = check.requiredUrl('productUrl', posted.productUrl);
  const price = check.price();
  const productImage = check.image();
  const categories = check.categories(knowsCategory);
  const product: { -readonly [Key in keyof Product]: Product[Key] } = {
    name,
    description,
    productUrl,
    productImage,
    categories,
  };
  for (const field of TEXTS) {
    const text = check.text(field, posted[field]);
    if (text !== undefined) product[field] = text;
  }
  const identifiers = check.identifiers();
  if (identifiers !== undefined) product.identifiers = identifiers;
  const inStock = check.integer('inStock', posted.inStock);
  if (inStock !== undefined) product.inStock = inStock;
  const fields = check.customFields();
  if (fields !== undefined) product.fields = fields;
  const { sourceProductId, faults, moreFaults } = check;
  if (faults.length + moreFaults > 0 || sourceProductId === undefined)
    return { sourceProductId, faults, moreFaults };
  return { sourceProductId, price, product };
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

class Check {
  readonly faults: Fault[] = [];
  moreFaults = 0;
  readonly sourceProductId: string | undefined;
  private readonly details: FaultDetails;

  constructor(
    private readonly posted: Posted,
    private readonly mostFaults: number,
  ) {
    const id = posted.sourceProductId;
    this.sourceProductId = usableId(id);
    this.details = this.sourceProductId === undefined ? {} : { sourceProductId: this.sourceProductId };
    if (isUnset(id)) this.refuse(fault.valueNotSet, 'sourceProductId must be set');
    else if (this.sourceProductId === undefined) {
      const accepted = `a string of at most ${MAX_ID} bytes`;
      this.refuse(fault.illegalValue, wrong('sourceProductId', id, accepted));
    }
  }

  requiredText(field: 'name' | 'description'): string {
    const value = this.posted[field];
    if (isUnset(value)) return this.refuse(fault.valueNotSet, `${field} must be set`, '');
    return this.text(field, value) ?? '';
  }

  requiredUrl(field: string, value: unknown): string {
    if (isUnset(value)) return this.refuse(fault.valueNotSet, `${field} must be set`, '');
    if (typeof value === 'string' && isWebUrl(value)) return value;
    return this.refuse(fault.malformedUrl, wrong(field, value, 'an absolute http or https URL'), '');
  }

  text(field: Place, value: unknown): string | undefined {
    if (isUnset(value)) return undefined;
    if (typeof value === 'string') return value;
    return this.refuse<string | undefined>(fault.illegalValue, wrong(field, value, 'a string'), undefined);
  }

  integer(field: string, value: unknown): number | undefined {
    if (isUnset(value)) return undefined;
    const number = wholeNumber(value);
    if (number !== undefined) return number;
    return this.refuse<number | undefined>(fault.notNumeric, wrong(field, value, 'an integer'), undefined);
  }

  price(): number {
    const value = this.posted.price;
    if (isUnset(value)) return this.refuse(fault.valueNotSet, 'price must be set', 0);
    const accepted = 'an amount without a sign, with no decimals or two and a dot, such as 12 or 12.50';
    return parsePrice(value) ?? this.refuse(fault.priceNotParsable, wrong('price', value, accepted), 0);
  }

  image(): Product['productImage'] {
    const value = this.posted.productImage;
    if (isUnset(value)) return this.refuse(fault.valueNotSet, 'productImage must be set', { url: '' });
    if (!isPosted(value)) {
      return this.refuse(fault.illegalValue, wrong('productImage', value, 'an object with a url'), {
        url: '',
      });
    }
    const url = this.requiredUrl('productImage.url', value.url);
    const width = this.pixels('productImage.width', value.width);
    const height = this.pixels('productImage.height', value.height);
    return { url, ...(width === undefined ? {} : { width }), ...(height === undefined ? {} : { height }) };
  }

  categories(knowsCategory: (id: string) => boolean): PostedCategory[] {
    const value = this.posted.categories;
    if (isUnset(value) || (Array.isArray(value) && value.length === 0)) {
      return this.refuse(fault.valueNotSet, 'categories must be set: at least one category', []);
    }
    const elements = this.list('categories', value, 'a list of objects with an id or a name');
    return elements.map((element, at) => this.category(() => `categories[${at}]`, element, knowsCategory));
  }

  private category(
    place: () => string,
    posted: Posted,
    knowsCategory: (id: string) => boolean,
  ): PostedCategory {
    const id = this.identifier(() => `${place()}.id`, posted.id);
    const name = this.text(() => `${place()}.name`, posted.name);
    const tdCategoryName = this.text(() => `${place()}.tdCategoryName`, posted.tdCategoryName);
    if (id === undefined && name === undefined && isUnset(posted.id) && isUnset(posted.name)) {
      this.refuse(fault.valueNotSet, `${place()}.id or ${place()}.name must be set`);
    } else if (id !== undefined && name === undefined && !knowsCategory(id)) {
      this.refuse(
        fault.illegalValue,
        wrong(`${place()}.id`, id, 'the id of a platform category, or a name beside it'),
      );
    }
    return {
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
      ...(tdCategoryName === undefined ? {} : { tdCategoryName }),
    };
  }

  /** Posted on the product, under `identifiers`, or both alike (`docs/decisions.md#p9`). */
  identifiers(): Identifiers | undefined {
    const group = this.posted.identifiers;
    if (!isUnset(group) && !isPosted(group)) {
      this.refuse(fault.illegalValue, wrong('identifiers', group, 'an object'));
    }
    const grouped: Posted = isPosted(group) ? group : {};
    const found: { -readonly [Key in keyof Identifiers]: Identifiers[Key] } = {};
    let any = false;
    for (const name of IDENTIFIERS) {
      const direct = this.identifier(name, this.posted[name]);
      const inGroup = this.identifier(() => `identifiers.${name}`, grouped[name]);
      const value = direct ?? inGroup;
      if (value === undefined) continue;
      if (direct !== undefined && inGroup !== undefined && direct !== inGroup) {
        this.refuse(
          fault.illegalValue,
          wrong(`identifiers.${name}`, inGroup, `the same value as ${name}, or none`),
        );
      }
      if (name === 'ean' && !/^\d+$/.test(value)) {
        this.refuse(fault.notNumeric, wrong('ean', value, 'digits'));
      }
      found[name] = value;
      any = true;
    }
    return any ? found : undefined;
  }

  customFields(): Product['fields'] {
    const value = this.posted.fields;
    if (isUnset(value)) return undefined;
    const elements = this.list('fields', value, 'a list of objects with a name and a value');
    if (elements.length === 0) return undefined;
    return elements.map((element, at) => {
      const name = this.text(() => `fields[${at}].name`, element.name);
      if (isUnset(element.name)) this.refuse(fault.valueNotSet, `fields[${at}].name must be set`);
      return { name: name ?? '', value: this.text(() => `fields[${at}].value`, element.value) ?? '' };
    });
  }

  private pixels(field: string, value: unknown): number | undefined {
    const number = this.integer(field, value);
    if (number === undefined || number >= 0) return number;
    return this.refuse<number | undefined>(
      fault.illegalValue,
      wrong(field, value, 'a number of pixels'),
      undefined,
    );
  }

  /** A string; an integer stands for its digits (`docs/decisions.md#a11`). */
  private identifier(field: Place, value: unknown): string | undefined {
    return this.text(field, Number.isSafeInteger(value) ? String(value) : value);
  }

  private list(field: string, value: unknown, accepted: string): Posted[] {
    if (Array.isArray(value) && value.every(isPosted)) return value;
    return this.refuse(fault.illegalValue, wrong(field, value, accepted), []);
  }

  /** Adds a fault; gives what stands for the refused value in the meantime. */
  private refuse<T = undefined>(
    kind: (message: string, details: FaultDetails) => Fault,
    message: string,
    instead?: T,
  ): T {
    if (this.faults.length < this.mostFaults) this.faults.push(kind(message, this.details));
    else this.moreFaults += 1;
    return instead as T;
  }
}
