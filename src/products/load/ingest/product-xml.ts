import { type XmlAttributes, type XmlReader, readXml } from '../../../wire/xml-read';
import { type Field } from '../../../wire/record';
import { productFaults as fault } from '../../faults';
import { postedProduct } from '../../fields';
import { MAX_PRODUCT, parseOrRefuse } from './load-faults';

const FIELDS = Object.entries(postedProduct.fields);

/** Elements that contain elements; all others contain text. */
const LISTS = namesOf(
  ({ kind }) =>
    kind.is === 'list' ||
    (kind.is === 'record' && Object.values(kind.fields).every((field: Field) => field.in !== 'text')),
);

/** The value of an element with text and elements: no string, so that validation refuses it. */
const MIXED = { text: 'with elements in it' };

/** Characters of JSON that an element takes at least, beside its name and its texts. */
const ELEMENT = 3;

/** Elements that contain numbers, without the white space around them. */
const NUMBERS = namesOf(({ kind }) => kind.is === 'scalar' && kind.posted.isText !== true);

function namesOf(isMeant: (field: Field) => boolean): ReadonlySet<string> {
  return new Set(FIELDS.filter(([, field]) => isMeant(field)).map(([name]) => name));
}

type Growing = Record<string, unknown>;

export interface ProductSink {
  /** A product in the shape of a JSON one. */
  readonly onProduct: (product: Readonly<Record<string, unknown>>) => void;
  /** A product larger than `MAX_PRODUCT`, with its id if that was found. */
  readonly onOversized: (sourceProductId: string | undefined) => void;
}

/**
 * Parses a stream of `products/product` (Document 1, XML body shape), by local names in any namespace
 * (`docs/decisions.md#p24`). Raises `PF_210` for malformed XML and another shape, `PF_430` for another version.
 */
export class ProductXml {
  private readonly reader: XmlReader;
  private depth = 0;
  private product: Growing = {};
  /** Characters of the current product so far, as JSON. */
  private size = 0;
  /** Name of the open child of `product`. */
  private child = '';
  /** The open category or custom field. */
  private part: Growing | undefined;
  private partName = '';
  private text = '';
  /** True if there is an element in the text. */
  private isMixed = false;

  constructor(private readonly sink: ProductSink) {
    this.reader = readXml({
      open: (name, attributes) => this.open(name, attributes),
      text: (piece) => this.addText(piece),
      close: () => this.close(),
    });
  }

  /** `origin` completes messages: where lines and columns are counted from. */
  write(chunk: Buffer, origin = ''): void {
    parseOrRefuse(
      () => this.reader.write(chunk),
      () => origin,
    );
  }

  end(origin = ''): void {
    parseOrRefuse(
      () => this.reader.end(),
      () => origin,
    );
  }

  /** True where a product may begin. */
  get isBetween(): boolean {
    return this.reader.depth() === 1;
  }

  /** Counts lines and columns of messages from here. */
  countFromHere(): void {
    this.reader.countFromHere();
  }

  /** Namespace prefixes declared here. */
  get prefixes(): readonly string[] {
    return this.reader.prefixes();
  }

  private open(name: string, attributes: XmlAttributes): void {
    this.depth += 1;
    if (this.depth > 2) this.size += ELEMENT;
    if (this.isOver()) return;
    switch (this.depth) {
      case 1:
        if (name !== 'products')
          throw fault.noParsableContent(`expected the root element products, not ${name}`);
        requireVersion3(attributes.version);
        return;
      case 2:
        if (name !== 'product')
          throw fault.noParsableContent(`expected product elements in products, not ${name}`);
        this.product = { sourceProductId: this.counted(attributes.sourceProductId) };
        this.size = 0;
        this.addUnknown(this.product, attributes, OF_PRODUCT);
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

  private openChild(name: string, attributes: XmlAttributes): void {
    this.child = name;
    this.size += name.length;
    this.openText();
    if (name === 'productImage') {
      const { width, height } = attributes;
      this.addUnknown((this.product.productImage = { width, height }), attributes, OF_IMAGE);
      return;
    }
    this.addUnknown(this.product, attributes, NONE, `${name}.`);
    if (name === 'categories' || name === 'fields') this.product[name] ??= [];
    else if (name === 'identifiers') this.product.identifiers ??= {};
  }

  private openPart(name: string, attributes: XmlAttributes): void {
    this.partName = name;
    this.part = undefined;
    this.openText();
    if (this.child === 'categories' && name === 'category') {
      const { id, name: own, tdCategoryName } = attributes;
      this.part = {
        id: this.counted(id),
        name: this.counted(own),
        tdCategoryName: this.counted(tdCategoryName),
      };
    } else if (this.child === 'fields' && name === 'field') {
      this.part = { name: this.counted(attributes.name) };
    } else if (this.child !== 'identifiers') this.product[`${this.child}.${this.counted(name) ?? ''}`] = '';
    if (this.part === undefined) return;
    this.addUnknown(this.part, attributes, this.child === 'fields' ? OF_FIELD : OF_CATEGORY);
    (this.product[this.child] as Growing[]).push(this.part);
  }

  /** Adds attributes that the document does not name, as members that no table names: they are reported as ignored. */
  private addUnknown(to: Growing, attributes: XmlAttributes, known: ReadonlySet<string>, path = ''): void {
    for (const name in attributes) if (!known.has(name)) to[`${path}@${this.counted(name) ?? ''}`] = '';
  }

  private openText(): void {
    this.text = '';
    this.isMixed = false;
  }

  private addText(piece: string): void {
    if (this.depth === 3 || this.depth === 4) this.text += this.counted(piece) ?? '';
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
    if (this.isOver()) this.sink.onOversized(this.product.sourceProductId as string | undefined);
    else this.sink.onProduct(this.product);
    this.product = {};
    this.size = 0;
  }

  private value(name: string): string | typeof MIXED {
    if (this.isMixed) return MIXED;
    return NUMBERS.has(name) ? this.text.trim() : this.text;
  }

  /** Counts a text of the product; drops it once the product is too large. */
  private counted(text: string | undefined): string | undefined {
    if (text === undefined) return undefined;
    this.size += text.length;
    return this.isOver() && this.depth > 2 ? '' : text;
  }

  private isOver(): boolean {
    return this.size > MAX_PRODUCT;
  }
}

const NONE: ReadonlySet<string> = new Set();
const OF_PRODUCT: ReadonlySet<string> = new Set(['sourceProductId']);
const OF_IMAGE: ReadonlySet<string> = new Set(['width', 'height']);
const OF_CATEGORY: ReadonlySet<string> = new Set(['id', 'name', 'tdCategoryName']);
const OF_FIELD: ReadonlySet<string> = new Set(['name']);

function requireVersion3(version: string | undefined): void {
  if (version === undefined || /^3(\.\d+)*$/.test(version.trim())) return;
  throw fault.illegalValue(`the attribute version of products: expected 3.0, not '${version}'`);
}
