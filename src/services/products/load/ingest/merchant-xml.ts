import { productFaults as fault } from '../../../../domain/products/feed';
import { defined } from '../../../../kernel/values';
import { note } from '../../../../wire/api/posted';
import { type XmlAttributes } from '../../../../wire/xml/read';
import { MAX_PRODUCT } from '../../product-check';
import { type FeedTerms, ID, isListed, meaningOf, productOf } from './columns';
import { type ProductSink, XmlProducts } from './product-xml';

/** Where RSS 2.0 and Atom have their items. */
export const MERCHANT_ROOTS = {
  rss: { path: ['rss', 'channel'], item: 'item', start: /^<(?:[^\s:>/]+:)?item[\s>/]/ },
  feed: { path: ['feed'], item: 'entry', start: /^<(?:[^\s:>/]+:)?entry[\s>/]/ },
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

/** What is known of elements by their name. */
interface ElementKind {
  readonly name: string;
  readonly meaning: string | undefined;
  /** An attribute of Google comes before an element of RSS or Atom of that name. */
  readonly rank: number;
  /** Shared by the kinds of one meaning. */
  readonly best: BestRank;
}

/** Of the elements of one meaning in an item. */
interface BestRank {
  item: number;
  rank: number;
  isTaken: boolean;
}

/** By names of the elements in an element. */
type InnerTexts = Record<string, string>;

/** Names that are cached, and their prefixes: they recur. */
const MOST_NAMES = 1000;
const MOST_PREFIXES = 10;

/**
 * Parses the items of a Google Merchant feed in RSS or Atom (`docs/decisions.md#p36`). Raises `PF_210` for
 * malformed XML and another root.
 */
export class MerchantXml extends XmlProducts {
  /** By prefix, and by name. */
  private readonly kinds = new Map<string, Map<string, ElementKind>>();
  private readonly bests = new Map<string, BestRank>();
  /** The elements of the item: their kinds, their texts, and what is in them. */
  private elements: ElementKind[] = [];
  private texts: string[] = [];
  private parts: (InnerTexts | undefined)[] = [];
  /** Whether the open element is one of them. */
  private isRead = false;
  private part = '';
  private items = 0;
  private size = 0;
  private isItem = false;
  private parents = 0;

  constructor(
    private readonly root: MerchantRoot,
    private readonly terms: FeedTerms,
    sink: ProductSink,
  ) {
    const { path, start } = MERCHANT_ROOTS[root];
    super(sink, path.length + 1, start);
  }

  /** Items of a second channel are not cut out: it may declare other prefixes. */
  override get isBetween(): boolean {
    return super.isBetween && this.parents === 1;
  }

  protected override open(name: string, attributes: XmlAttributes, prefix: string): void {
    const { depth, itemDepth } = this;
    if (depth === 1 && name !== this.root)
      throw fault.noParsableContent(`expected the root element ${this.root}, not ${name}`);
    if (depth === itemDepth - 1) this.parents += 1;
    if (depth === itemDepth) {
      this.isItem = name === MERCHANT_ROOTS[this.root].item;
      this.items += 1;
      this.elements = [];
      this.texts = [];
      this.parts = [];
      this.size = 0;
    }
    if (!this.isItem) return;
    if (depth === itemDepth + 1) this.openElement(name, attributes, prefix);
    else if (depth > itemDepth + 1) this.part = name;
  }

  private openElement(name: string, attributes: XmlAttributes, prefix: string): void {
    this.part = '';
    this.size += name.length + ELEMENT;
    this.isRead = this.size <= MAX_PRODUCT;
    if (!this.isRead) return;
    const isLink = name === 'link' && attributes.href !== undefined;
    const text = isLink && (attributes.rel ?? 'alternate') === 'alternate' ? (attributes.href ?? '') : '';
    this.elements.push(this.kindOf(name, prefix));
    this.texts.push(text);
    this.parts.push(undefined);
  }

  private kindOf(name: string, prefix: string): ElementKind {
    const known = this.kinds.get(prefix)?.get(name);
    if (known !== undefined) return known;
    const meaning = meaningOf(name) ?? (prefix === '' ? OF_FEEDS.get(name) : undefined);
    const kind = {
      name: prefix === '' ? name : `${prefix}:${name}`,
      meaning,
      rank: prefix !== '' ? 2 : OF_FEEDS.has(name) ? 0 : 1,
      best: this.bestOf(meaning),
    };
    const kinds = this.kinds.get(prefix) ?? new Map<string, ElementKind>();
    if (this.kinds.size < MOST_PREFIXES) this.kinds.set(prefix, kinds);
    if (kinds.size < MOST_NAMES) kinds.set(name, kind);
    return kind;
  }

  private bestOf(meaning = ''): BestRank {
    const known = this.bests.get(meaning);
    if (known !== undefined) return known;
    const best = { item: 0, rank: 0, isTaken: false };
    if (this.bests.size < MOST_NAMES) this.bests.set(meaning, best);
    return best;
  }

  protected override addText(piece: string): void {
    const { depth, itemDepth, part, texts, parts } = this;
    if (!this.isItem || !this.isRead || depth <= itemDepth) return;
    this.size += piece.length;
    if (this.size > MAX_PRODUCT) return;
    const last = texts.length - 1;
    if (depth === itemDepth + 1) texts[last] = (texts[last] ?? '') + piece;
    else {
      const within = (parts[last] ??= {});
      within[part] = (within[part] ?? '') + piece;
    }
  }

  protected override close(): void {
    if (this.depth === this.itemDepth && this.isItem) {
      this.closeItem();
      this.isItem = false;
    }
    if (this.depth === this.itemDepth + 1) this.isRead = false;
  }

  private closeItem(): void {
    const { elements, texts } = this;
    let hasId = false;
    let isOnce = true;
    for (const { meaning, best } of elements) {
      if (meaning === 'sourceProductId') hasId = true;
      if (best.item === this.items) isOnce = false;
      best.item = this.items;
      best.rank = 0;
      best.isTaken = false;
    }
    // Of several elements of one meaning those with the best rank are read that have a text.
    if (!isOnce)
      for (const [at, { best, rank }] of elements.entries())
        if (rank > best.rank && (texts[at] ?? '').trim() !== '') best.rank = rank;
    const named = { meanings: [] as string[], texts: [] as string[], names: [] as string[] };
    let unread: Set<string> | undefined;
    let repeated: Set<string> | undefined;
    for (const [at, { meaning, name, best, rank }] of elements.entries()) {
      const own = meaning === ID ? (hasId ? undefined : 'sourceProductId') : meaning;
      if (own === undefined) {
        if (DETAILS.has(name)) addDetail(name, this.parts[at], named);
        else (unread ??= new Set()).add(name);
        continue;
      }
      if (rank < best.rank) continue;
      const text = textOf(own, texts[at] ?? '', this.parts[at]);
      if (best.isTaken && text !== '' && !isListed(own)) (repeated ??= new Set()).add(name);
      best.isTaken = true;
      named.meanings.push(own);
      named.texts.push(text);
      named.names.push(name);
    }
    if (this.size > MAX_PRODUCT) {
      this.sink.onOversized(named.texts[named.meanings.indexOf('sourceProductId')]);
      return;
    }
    const product = productOf(named, WITHIN, this.terms);
    if (unread !== undefined || repeated !== undefined) note(product.product, defined({ unread, repeated }));
    this.sink.onProduct(product);
  }
}

/** The text of an element; of a cost of delivery, as in TSV. Documents are indented (`docs/decisions.md#x3`). */
function textOf(meaning: string, text: string, parts: InnerTexts | undefined): string {
  if (meaning !== 'shipping' || parts?.price === undefined) return text.trim();
  return SHIPPING.map((part) => (parts[part] ?? '').trim()).join(':');
}

const DETAILS: ReadonlySet<string> = new Set(['g:product_detail', 'product_detail']);

/** A detail is a custom field of its name. */
function addDetail(
  name: string,
  parts: InnerTexts = {},
  named: { readonly meanings: string[]; readonly texts: string[]; readonly names: string[] },
): void {
  const { attribute_name: field = '', attribute_value: value = '' } = parts;
  if (field.trim() === '') return;
  named.meanings.push(`(field)${field.trim()}`);
  named.texts.push(value.trim());
  named.names.push(name);
}
