import {
  plainElements,
  readXml,
  type XmlAttributes,
  type XmlHandlers,
  type XmlReader,
} from '../../../../wire/xml/read';
import { note } from '../../../../wire/api/posted';
import { type AnyScalar, valueInText } from '../../../../wire/xml/nodes';
import { type Field, type Fields } from '../../../../wire/record/record';
import { productFaults as fault } from '../../../../domain/products/feed';
import { postedProduct } from '../../../../domain/products/product-fields';
import { MAX_PRODUCT, parseOrRefuse } from '../../product-check';
import { type ReadProduct } from './columns';

const FIELDS = Object.entries(postedProduct.fields as Fields);

/** What is known of an element directly in a product. */
interface ProductElement {
  /** The field. That of its list, for an item that stands where the list should be. */
  readonly field: string;
  readonly holds: 'text' | 'items' | 'elements';
  /** Those that are read, of the element or of the items of the list. */
  readonly attributes: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const OF_PRODUCT: ReadonlySet<string> = new Set(['sourceProductId']);
const ATTRIBUTES: Readonly<Record<string, ReadonlySet<string>>> = {
  productImage: new Set(['width', 'height']),
  categories: new Set(['id', 'name', 'tdCategoryName']),
  fields: new Set(['name']),
};

/** By names of elements. */
const ELEMENTS: ReadonlyMap<string, ProductElement> = new Map(
  FIELDS.flatMap(([field, { kind, in: place }]): (readonly [string, ProductElement])[] => {
    const attributes = ATTRIBUTES[field] ?? NONE;
    if (kind.is === 'list') {
      const list: ProductElement = { field, holds: 'items', attributes };
      return [
        [field, list],
        [kind.each, list],
      ];
    }
    if (place !== undefined) return [];
    const holdsElements =
      kind.is === 'record' && Object.values(kind.fields).every((one: Field) => one.in !== 'text');
    return [[field, { field, holds: holdsElements ? 'elements' : 'text', attributes }]];
  }),
);

const SCALARS: ReadonlyMap<string, AnyScalar> = new Map(
  FIELDS.flatMap(([name, { kind }]) => (kind.is === 'scalar' ? [[name, kind] as const] : [])),
);

const IDENTIFIERS: ReadonlySet<string> = new Set(Object.keys(postedProduct.fields.identifiers.kind.fields));

/** The value of an element with text and elements: no string, so that validation refuses it. */
const MIXED = { text: 'with elements in it' };

/** Characters of JSON that an element takes at least, beside its name and its texts. */
const ELEMENT = 3;

type GrowingProduct = Record<string, unknown>;

export interface ProductSink {
  /** A product in the shape of a JSON one, not checked. */
  readonly onProduct: (product: ReadProduct) => void;
  /** A product larger than `MAX_PRODUCT`, with its id if that was found. */
  readonly onOversized: (sourceProductId: string | undefined) => void;
  /** What is not read around the products, by its path. */
  readonly onUnread?: (path: string) => void;
}

/** Bytes of an element in which its name is looked for. */
const NAME_BYTES = 64;

/** Parses the products of an XML document as a stream. Raises `PF_210` for malformed XML. */
export abstract class XmlProducts {
  private readonly reader: XmlReader;
  private readonly handlers: XmlHandlers;
  private plain: ReturnType<typeof plainElements> | undefined;
  /** Open elements. */
  protected depth = 0;

  /** Products are at `itemDepth`, where the root is at 1: elements that begin like `item`, by default all. */
  constructor(
    protected readonly sink: ProductSink,
    readonly itemDepth: number,
    private readonly item?: RegExp,
  ) {
    this.handlers = {
      open: (name, attributes, prefix) => {
        this.depth += 1;
        this.open(name, attributes, prefix);
      },
      text: (piece) => this.addText(piece),
      close: () => {
        this.close();
        this.depth -= 1;
      },
    };
    this.reader = readXml(this.handlers);
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

  /**
   * Parses a whole product, where one may begin; lines are counted from its start. True if JSON
   * escapes none of its texts.
   */
  writeProduct(element: Buffer, origin: () => string): boolean {
    this.plain ??= plainElements(this.handlers, this.prefixes);
    const usual = this.plain(element);
    if (usual !== undefined) return usual.isPlain;
    this.countFromHere();
    this.write(element, origin());
    return false;
  }

  /** True where a product may begin that can be parsed by itself. */
  get isBetween(): boolean {
    return this.reader.depth() === this.itemDepth - 1;
  }

  /** Whether an element that was cut out of the document here is a product that can be parsed by itself. */
  isProduct(element: Buffer): boolean {
    return this.isBetween && (this.item?.test(element.toString('latin1', 0, NAME_BYTES)) ?? true);
  }

  countFromHere(): void {
    this.reader.countFromHere();
  }

  get prefixes(): readonly string[] {
    return this.reader.prefixes();
  }

  /** Called with the name of an element that has just opened, at `depth`. */
  protected abstract open(name: string, attributes: XmlAttributes, prefix: string): void;
  protected abstract addText(piece: string): void;
  /** Called before `depth` falls. */
  protected abstract close(): void;
}

/**
 * Parses a stream of `products/product` (Document 1, XML body shape), by local names in any namespace
 * (`docs/decisions.md#p24`). Raises `PF_210` for malformed XML and another shape, `PF_430` for another version.
 */
export class ProductXml extends XmlProducts {
  private product: GrowingProduct = {};
  /** Characters of the current product so far, as JSON. */
  private size = 0;
  /** Name of the open child of `product`; that of the list for an item in its place. */
  private child = '';
  /** The same, unless it is not read. */
  private element: ProductElement | undefined;
  /** The open category or custom field, and how deep it is. */
  private part: GrowingProduct | undefined;
  private partDepth = 0;
  /** Name of the open identifier of `identifiers`. */
  private identifier: string | undefined;
  private text = '';
  /** True if there is an element in the text. */
  private isMixed = false;
  private unread = new Set<string>();
  private repeated = new Set<string>();

  constructor(sink: ProductSink) {
    super(sink, 2);
  }

  protected override open(name: string, attributes: XmlAttributes): void {
    if (this.depth > 2) this.size += ELEMENT;
    if (this.isOver()) return;
    switch (this.depth) {
      case 1:
        this.openRoot(name, attributes);
        return;
      case 2:
        if (name !== 'product')
          throw fault.noParsableContent(`expected product elements in products, not ${name}`);
        this.product = { sourceProductId: this.counted(attributes.sourceProductId) };
        this.size = 0;
        this.child = '';
        this.element = undefined;
        this.leaveOthers(attributes, OF_PRODUCT);
        return;
      case 3:
        this.openChild(name, attributes);
        return;
      case 4:
        if (this.part === undefined && !this.mayHoldText) this.openPart(name, attributes);
        else this.openWithin(name);
        return;
      default:
        this.openWithin(name);
    }
  }

  private openRoot(name: string, attributes: XmlAttributes): void {
    if (name !== 'products') throw fault.noParsableContent(`expected the root element products, not ${name}`);
    requireVersion3(attributes.version);
    for (const other in attributes) if (other !== 'version') this.sink.onUnread?.(`products.@${other}`);
  }

  private openChild(name: string, attributes: XmlAttributes): void {
    const element = ELEMENTS.get(name);
    this.element = element;
    this.child = element?.field ?? name;
    this.size += name.length;
    this.openText();
    if (element === undefined) this.leave(name);
    else if (element.holds === 'items') this.openList(name, element, attributes);
    else {
      this.leaveOthers(attributes, element.attributes, name);
      if (Object.hasOwn(this.product, name)) this.repeated.add(name);
      if (name === 'productImage')
        this.product.productImage = { width: attributes.width, height: attributes.height };
      else if (name === 'identifiers') this.product.identifiers ??= {};
    }
  }

  private openList(name: string, list: ProductElement, attributes: XmlAttributes): void {
    this.product[list.field] ??= [];
    const isItem =
      name !== list.field || Object.keys(attributes).some((attribute) => list.attributes.has(attribute));
    if (isItem) this.openItem(list, attributes);
    else this.leaveOthers(attributes, NONE, name);
  }

  private openPart(name: string, attributes: XmlAttributes): void {
    this.identifier = undefined;
    this.openText();
    const { element } = this;
    if (element?.holds === 'items' && ELEMENTS.get(name) === element) this.openItem(element, attributes);
    else if (this.child === 'identifiers' && IDENTIFIERS.has(name)) {
      this.identifier = name;
      if (Object.hasOwn(this.product.identifiers as GrowingProduct, name))
        this.repeated.add(`identifiers.${name}`);
      this.leaveOthers(attributes, NONE, `identifiers.${name}`);
    } else this.leave(`${this.child}.${name}`);
  }

  private openItem(list: ProductElement, attributes: XmlAttributes): void {
    this.part = {};
    this.partDepth = this.depth;
    for (const name of list.attributes) this.part[name] = this.counted(attributes[name]);
    this.leaveOthers(attributes, list.attributes, list.field);
    (this.product[list.field] as GrowingProduct[]).push(this.part);
  }

  /** An element in a text, in a category, or in something that is not read. */
  private openWithin(name: string): void {
    this.isMixed = true;
    if (this.child === 'categories' && this.part !== undefined && this.depth === this.partDepth + 1)
      this.leave(`categories.${name}`);
  }

  /** `path`: of the element in the product. */
  private leaveOthers(attributes: XmlAttributes, known: ReadonlySet<string>, path?: string): void {
    for (const name in attributes)
      if (!known.has(name)) this.leave(path === undefined ? `@${name}` : `${path}.@${name}`);
  }

  private leave(path: string): void {
    this.unread.add(this.counted(path) ?? '');
  }

  private openText(): void {
    this.text = '';
    this.isMixed = false;
  }

  protected override addText(piece: string): void {
    if (this.isInValue()) this.text += this.counted(piece) ?? '';
    else if (this.depth < 4 && piece.trim() !== '') this.leaveText();
  }

  private isInValue(): boolean {
    if (this.part !== undefined) return this.depth === this.partDepth;
    if (this.depth === 4) return this.child === 'identifiers' && this.identifier !== undefined;
    return this.depth === 3 && this.mayHoldText;
  }

  /** The text of one that is not read is counted too. */
  private get mayHoldText(): boolean {
    return this.element === undefined || this.element.holds === 'text';
  }

  private leaveText(): void {
    if (this.depth === 1) this.sink.onUnread?.('products.text()');
    else if (this.depth === 2) this.leave('text()');
    else this.leave(`${this.child}.text()`);
  }

  protected override close(): void {
    if (this.depth === 2) this.closeProduct();
    else if (this.isOver()) this.openText();
    else if (this.part !== undefined && this.depth === this.partDepth) this.closeItem(this.part);
    else if (this.depth === 3) this.closeChild();
    else if (this.depth === 4) this.closeIdentifier();
  }

  private closeItem(part: GrowingProduct): void {
    if (this.child === 'fields') part.value = this.value('value');
    else if (this.text.trim() !== '') this.leave('categories.text()');
    this.part = undefined;
    this.openText();
  }

  private closeIdentifier(): void {
    if (this.child !== 'identifiers' || this.identifier === undefined) return;
    (this.product.identifiers as GrowingProduct)[this.identifier] = this.value(this.identifier);
    this.identifier = undefined;
  }

  private closeChild(): void {
    const name = this.child;
    if (name === 'productImage') (this.product.productImage as GrowingProduct).url = this.value(name);
    else if (this.element?.holds === 'text') this.product[name] = this.value(name);
  }

  private closeProduct(): void {
    if (this.isOver()) this.sink.onOversized(this.product.sourceProductId as string | undefined);
    else {
      const { unread, repeated } = this;
      if (unread.size + repeated.size > 0) note(this.product, { unread, repeated });
      this.sink.onProduct({ product: this.product });
    }
    this.product = {};
    if (this.unread.size + this.repeated.size > 0) {
      this.unread = new Set();
      this.repeated = new Set();
    }
    this.part = undefined;
    this.size = 0;
  }

  private value(name: string): string | typeof MIXED {
    if (this.isMixed) return MIXED;
    const scalar = SCALARS.get(name);
    return scalar === undefined ? this.text : valueInText(scalar, this.text);
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

function requireVersion3(version: string | undefined): void {
  if (version === undefined || /^3(\.\d+)*$/.test(version.trim())) return;
  throw fault.illegalValue(`the attribute version of products: expected 3.0, not '${version}'`);
}
