import { productFaults as fault } from '../../../../domain/products/feed';
import { note } from '../../../../wire/api/posted';
import { readXml, type XmlAttributes, type XmlReader } from '../../../../wire/xml/read';
import { MAX_PRODUCT, parseOrRefuse } from '../../product-check';
import { type FeedTerms, isListed, meaningOf, type NamedProduct, productOf } from './columns';

/** Where RSS 2.0 and Atom have their items. */
const MERCHANT_ROOTS = {
  rss: { path: ['rss', 'channel'], item: 'item' },
  feed: { path: ['feed'], item: 'entry' },
} as const;

export type MerchantRoot = keyof typeof MERCHANT_ROOTS;

/** Elements of RSS and Atom that mean what an attribute of Google does, unless that is there. */
const OF_FEEDS: ReadonlyMap<string, string> = new Map([
  ['summary', 'description'],
  ['content', 'description'],
]);

const WITHIN = { value: ';', part: ':' };
const SHIPPING = ['country', 'region', 'service', 'price'] as const;
/** Characters of JSON that an element takes at least, beside its name and its texts. */
const ELEMENT = 3;

interface Element {
  readonly name: string;
  readonly meaning: string | undefined;
  /** An attribute of Google comes before an element of RSS or Atom of that name. */
  readonly rank: number;
  text: string;
  readonly parts: Record<string, string>;
}

interface MerchantSink {
  readonly onProduct: (product: NamedProduct) => void;
  readonly onOversized: (sourceProductId: string | undefined) => void;
}

/**
 * Parses the items of a Google Merchant feed in RSS or Atom (`docs/decisions.md#p36`). Raises `PF_210` for malformed XML,
 * another shape, and a feed without items, which would empty the feed that it replaces.
 */
export class MerchantXml {
  private readonly reader: XmlReader;
  private readonly itemDepth: number;
  private depth = 0;
  private elements: Element[] = [];
  private element: Element | undefined;
  private part = '';
  private size = 0;
  private isItem = false;
  private hasItems = false;

  constructor(
    private readonly root: MerchantRoot,
    private readonly terms: FeedTerms,
    private readonly sink: MerchantSink,
  ) {
    this.itemDepth = MERCHANT_ROOTS[root].path.length + 1;
    this.reader = readXml({
      open: (name, attributes, prefix) => this.open(name, attributes, prefix),
      text: (piece) => this.addText(piece),
      close: () => this.close(),
    });
  }

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
    if (this.hasItems) return;
    const { path, item } = MERCHANT_ROOTS[this.root];
    throw fault.noParsableContent(`expected at least one ${[...path, item].join('/')}`);
  }

  private open(name: string, attributes: XmlAttributes, prefix: string): void {
    this.depth += 1;
    const { path, item } = MERCHANT_ROOTS[this.root];
    const expected = path[this.depth - 1];
    if (this.depth === 1 && name !== expected)
      throw fault.noParsableContent(`expected the root element ${path[0]}, not ${name}`);
    if (this.depth === this.itemDepth) {
      this.isItem = name === item;
      this.hasItems ||= this.isItem;
      this.elements = [];
      this.size = 0;
    }
    if (!this.isItem) return;
    if (this.depth === this.itemDepth + 1) this.openElement(name, attributes, prefix);
    else if (this.depth > this.itemDepth + 1) this.part = name;
  }

  private openElement(name: string, attributes: XmlAttributes, prefix: string): void {
    this.part = '';
    this.size += name.length + ELEMENT;
    this.element = undefined;
    if (this.size > MAX_PRODUCT) return;
    const meaning = meaningOf(name) ?? (prefix === '' ? OF_FEEDS.get(name) : undefined);
    const rank = prefix !== '' ? 2 : OF_FEEDS.has(name) ? 0 : 1;
    const isLink = name === 'link' && attributes.href !== undefined;
    const text = isLink && (attributes.rel ?? 'alternate') === 'alternate' ? (attributes.href ?? '') : '';
    this.element = { name: prefix === '' ? name : `${prefix}:${name}`, meaning, rank, text, parts: {} };
    this.elements.push(this.element);
  }

  private addText(piece: string): void {
    const { element } = this;
    if (!this.isItem || element === undefined || this.depth <= this.itemDepth) return;
    this.size += piece.length;
    if (this.size > MAX_PRODUCT) return;
    if (this.depth === this.itemDepth + 1) element.text += piece;
    else element.parts[this.part] = (element.parts[this.part] ?? '') + piece;
  }

  private close(): void {
    if (this.depth === this.itemDepth && this.isItem) {
      this.closeItem();
      this.isItem = false;
    }
    if (this.depth === this.itemDepth + 1) this.element = undefined;
    this.depth -= 1;
  }

  private closeItem(): void {
    const { elements } = this;
    this.elements = [];
    const hasId = elements.some(({ meaning }) => meaning === 'sourceProductId');
    const own = (meaning: string | undefined): string | undefined =>
      meaning === 'id' ? (hasId ? undefined : 'sourceProductId') : meaning;
    const best = new Map<string, number>();
    for (const { meaning, rank, text } of elements) {
      const name = own(meaning);
      if (name !== undefined && text.trim() !== '') best.set(name, Math.max(rank, best.get(name) ?? 0));
    }
    const named = { meanings: [] as string[], texts: [] as string[], names: [] as string[] };
    const unread = new Set<string>();
    const repeated = new Set<string>();
    for (const element of elements) {
      const name = own(element.meaning);
      const text = textOf(element);
      if (name === undefined) {
        if (element.name === 'g:product_detail' || element.name === 'product_detail')
          addDetail(element, named);
        else unread.add(element.name);
        continue;
      }
      if (element.rank < (best.get(name) ?? 0)) continue;
      if (!isListed(name) && named.meanings.includes(name) && text !== '') repeated.add(element.name);
      named.meanings.push(name);
      named.texts.push(text);
      named.names.push(element.name);
    }
    const id = named.texts[named.meanings.indexOf('sourceProductId')];
    if (this.size > MAX_PRODUCT) {
      this.sink.onOversized(id);
      return;
    }
    const product = productOf(named, WITHIN, this.terms);
    if (unread.size + repeated.size > 0) note(product.product, { unread, repeated });
    this.sink.onProduct(product);
  }
}

/** The text of an element; of a cost of delivery, as in TSV. Documents are indented (`docs/decisions.md#x3`). */
function textOf({ meaning, text, parts }: Element): string {
  if (meaning !== 'shipping' || parts.price === undefined) return text.trim();
  return SHIPPING.map((part) => (parts[part] ?? '').trim()).join(':');
}

/** A detail is a custom field of its name. */
function addDetail(
  { name, parts }: Element,
  named: { readonly meanings: string[]; readonly texts: string[]; readonly names: string[] },
): void {
  const { attribute_name: field = '', attribute_value: value = '' } = parts;
  if (field.trim() === '') return;
  named.meanings.push(`(field)${field.trim()}`);
  named.texts.push(value.trim());
  named.names.push(name);
}
