import { type XmlAttributes, type XmlReader, readXml } from '../../wire/xml-read';
import { productFaults as fault } from '../faults';

/** A product of more than this, as JSON, is refused by itself (`docs/decisions.md#p27`). */
export const MAX_PRODUCT = 256 * 1024;

/** Elements that hold others; all the rest hold text. */
const LISTS: ReadonlySet<string> = new Set(['categories', 'fields', 'identifiers']);

/** What stands in the place of a text that has elements in it: no text, so that the check refuses it. */
const MIXED = { text: 'with elements in it' };

/** What an element takes beside its name and its texts, as JSON: at least so many characters. */
const ELEMENT = 3;

/** Elements whose white space around is no part of their value: numbers. */
const NUMBERS: ReadonlySet<string> = new Set(['price', 'inStock', 'ean']);

type Growing = Record<string, unknown>;

/** Who is given products, in the shape of the JSON ones. */
export interface ProductSink {
  /** The product is the taker's. */
  readonly take: (product: Readonly<Record<string, unknown>>) => void;
  /** Of a product that is larger than `MAX_PRODUCT`; its id is not always known. */
  readonly oversized: (sourceProductId: string | undefined) => void;
}

/**
 * Reads `products/product` (Document 1, XML body shape), by local names in any namespace (`docs/decisions.md#p24`),
 * as it comes in. Raises `NotParsable`, `PF_210` where it is of another shape, and `PF_430` for another version.
 */
export class ProductXml {
  private readonly reader: XmlReader;
  private depth = 0;
  private product: Growing = {};
  /** Characters that the present product has taken, as JSON. */
  private taken = 0;
  /** Name of the child of `product` that is open. */
  private child = '';
  /** The category or custom field that is open. */
  private part: Growing | undefined;
  private partName = '';
  private text = '';
  /** Whether there is an element in the text. */
  private isMixed = false;

  constructor(private readonly sink: ProductSink) {
    this.reader = readXml({
      open: (name, attributes) => this.open(name, attributes),
      text: (piece) => this.take(piece),
      close: () => this.close(),
    });
  }

  write(chunk: Buffer): void {
    this.reader.write(chunk);
  }

  end(): void {
    this.reader.end();
  }

  /** Whether a product may stand where it has come to. */
  get isBetween(): boolean {
    return this.reader.depth() === 1;
  }

  /** Has lines and columns of what is wrong counted from here. */
  countFromHere(): void {
    this.reader.countFromHere();
  }

  /** Namespace prefixes that are declared where it has come to. */
  get prefixes(): readonly string[] {
    return this.reader.prefixes();
  }

  private open(name: string, attributes: XmlAttributes): void {
    this.depth += 1;
    if (this.depth > 2) this.taken += ELEMENT;
    if (this.isOver()) return;
    switch (this.depth) {
      case 1:
        if (name !== 'products')
          throw fault.noParsableContent(`the root element must be products, not ${name}`);
        requireVersion3(attributes.version);
        return;
      case 2:
        if (name !== 'product')
          throw fault.noParsableContent(`products must hold product elements, not ${name}`);
        this.product = { sourceProductId: this.kept(attributes.sourceProductId) };
        this.taken = 0;
        return;
      case 3:
        this.openChild(name, attributes);
        return;
      case 4:
        if (LISTS.has(this.child)) this.openPart(name, attributes);
        else this.isMixed = true;
        return;
      default:
        this.isMixed = true;
    }
  }

  private openChild(name: string, { width, height }: XmlAttributes): void {
    this.child = name;
    this.taken += name.length;
    this.openText();
    if (name === 'productImage') this.product.productImage = { width, height };
    else if (name === 'categories' || name === 'fields') this.product[name] ??= [];
    else if (name === 'identifiers') this.product.identifiers ??= {};
  }

  private openPart(name: string, attributes: XmlAttributes): void {
    this.partName = name;
    this.part = undefined;
    this.openText();
    if (this.child === 'categories' && name === 'category') {
      const { id, name: own, tdCategoryName } = attributes;
      this.part = { id: this.kept(id), name: this.kept(own), tdCategoryName: this.kept(tdCategoryName) };
    } else if (this.child === 'fields' && name === 'field') {
      this.part = { name: this.kept(attributes.name) };
    }
    if (this.part !== undefined) (this.product[this.child] as Growing[]).push(this.part);
  }

  private openText(): void {
    this.text = '';
    this.isMixed = false;
  }

  private take(piece: string): void {
    if (this.depth === 3 || this.depth === 4) this.text += this.kept(piece) ?? '';
  }

  private close(): void {
    if (this.depth === 2) this.closeProduct();
    else if (this.isOver()) this.text = '';
    else if (this.depth === 3) this.closeChild();
    else if (this.depth === 4 && LISTS.has(this.child)) this.closePart();
    this.depth -= 1;
  }

  private closePart(): void {
    if (this.child === 'fields' && this.part !== undefined) this.part.value = this.value('value');
    if (this.child === 'identifiers')
      (this.product.identifiers as Growing)[this.partName] = this.value(this.partName);
    this.openText();
  }

  private closeChild(): void {
    const name = this.child;
    if (name === 'productImage') (this.product.productImage as Growing).url = this.value(name);
    else if (!LISTS.has(name) && name !== 'sourceProductId') this.product[name] = this.value(name);
  }

  private closeProduct(): void {
    if (this.isOver()) this.sink.oversized(this.product.sourceProductId as string | undefined);
    else this.sink.take(this.product);
    this.product = {};
    this.taken = 0;
  }

  private value(name: string): string | typeof MIXED {
    if (this.isMixed) return MIXED;
    return NUMBERS.has(name) ? this.text.trim() : this.text;
  }

  /** Counts a text of the product; of one that is too large no more is kept. */
  private kept(text: string | undefined): string | undefined {
    if (text === undefined) return undefined;
    this.taken += text.length;
    return this.isOver() && this.depth > 2 ? '' : text;
  }

  private isOver(): boolean {
    return this.taken > MAX_PRODUCT;
  }
}

function requireVersion3(version: string | undefined): void {
  if (version === undefined || /^3(\.\d+)*$/.test(version.trim())) return;
  throw fault.illegalValue(`the attribute version of products must be 3.0, not '${version}'`);
}
