/**
 * A feed: the products that an advertiser offers in one program. This file decides what a post or a deletion changes,
 * and writes and parses the events as JSON; `services/products/load/` receives bodies and appends what is decided here.
 */

import { type PostedCategory } from '../../network/categories/mapped-category';
import { type Decider, type EventOf, execute } from '../../kernel/decider';
import { type NewEvent, type Position, type RecordedEvent } from '../../kernel/event';
import { type IDENTIFIERS, type TEXTS } from './product-fields';
import { type Digest, digestOf, type Fingerprints } from './fingerprints';
import { type IgnoredField } from './import-report';
import { type EventLog } from '../../kernel/event-log';
import { type Fault, faultsOf } from '../../kernel/fault';
import { type Clock } from '../../runtime/clock';
import { plainJson } from '../../wire/json/write';

// Stream

/** The category of a feed's stream, `feed-22`. */
export const FEED = 'feed';

// Events: their names and shapes are the storage format. Add, never rename.

type Texts<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** A product's content, as events contain it: posted fields by the document's names, in a fixed order of keys. */
export interface Product extends Texts<(typeof TEXTS)[number]> {
  readonly name: string;
  readonly description: string;
  readonly productUrl: string;
  readonly productImage: { readonly url: string; readonly width?: number; readonly height?: number };
  readonly categories: readonly PostedCategory[];
  readonly identifiers?: Identifiers;
  readonly inStock?: number;
  readonly fields?: readonly { readonly name: string; readonly value: string }[];
}

export type Identifiers = Texts<(typeof IDENTIFIERS)[number]>;

export type FeedEvent =
  | EventOf<'ProductListed', ProductContent>
  | EventOf<'ProductRevised', ProductContent>
  | EventOf<'ProductRepriced', Price & { sourceProductId: string }>
  | EventOf<'ProductDelisted', { sourceProductId: string }>
  | FeedClosing;

/** Ends a load or a deletion: what it changed is complete from here on (`docs/decisions.md#x62`). */
export type FeedClosing =
  | EventOf<'FeedImported', FeedImport>
  /** `importId`: absent from early versions. */
  | EventOf<'ProductsDeleted', { removed: number; importId?: string }>;

/** `price` in minor units (cents). */
interface Price {
  readonly price: number;
  /** ISO 4217: that of the program at the time. Absent from early versions (`CurrencyAt`). */
  readonly currency?: string;
  /** The price before, if that was higher, in the same currency (`docs/decisions.md#n19`). */
  readonly fellFrom?: number;
}

/** `product` comes last, so that a reader who needs only the rest can stop before it. */
interface ProductContent extends Price {
  readonly sourceProductId: string;
  /** It is in stock, and was out of stock by the content before. */
  readonly backInStock?: true;
  readonly product: Product;
}

/** The `meta` of events that hold the content; those of early versions may lack it. */
interface ContentMeta {
  /** Digest of the content: state is rebuilt without reading it. */
  readonly content?: string;
}

/** The result of a load; `at`: when it ended. */
export interface FeedImport {
  readonly importId: string;
  readonly mode: 'update' | 'replace';
  readonly at: string;
  readonly durationMs: number;
  readonly new: number;
  readonly revised: number;
  readonly repriced: number;
  readonly unchanged: number;
  readonly removed: number;
  readonly refused: number;
  /** At most 1,000. */
  readonly faults: readonly {
    readonly code: string;
    readonly sourceProductId?: string;
    readonly message: string;
  }[];
  readonly moreFaults?: number;
  /** How many of the new and revised products no category maps; absent from early versions. */
  readonly unmapped?: number;
  readonly ignoredFields?: readonly IgnoredField[];
  /** A replacement has removed most products of a large feed (`docs/decisions.md#x89`). */
  readonly largeRemoval?: true;
  /** The load or deletion whose changes it has undone (`affilog feeds restore`). */
  readonly restores?: string;
  /** The system has fetched it from the source of the feed. */
  readonly fetched?: true;
}

// State

// `Fingerprints`: per product, whether it is listed and out of stock, the digest of its content, its price with its
// currency.

/** The currency that a feed had at a log position, for events that do not record it; undefined if that is unknown. */
export type CurrencyAt = (position: Position) => string | undefined;

interface ChangedPrice {
  readonly sourceProductId: string;
  readonly price: number;
  /** Empty if it is unknown. */
  readonly currency: string;
  readonly fellFrom?: number;
}

/** A product's event without its content, of which the digest and the stock are enough. */
export type ProductChange =
  | (ChangedPrice & {
      readonly type: 'ProductListed' | 'ProductRevised';
      readonly content: Digest;
      readonly isOutOfStock?: boolean;
      readonly backInStock?: true;
    })
  | (ChangedPrice & { readonly type: 'ProductRepriced' })
  | { readonly type: 'ProductDelisted'; readonly sourceProductId: string };

/** Applies an appended change, in place; returns the product's number, or -1 for a product never listed. */
export function evolve(state: Fingerprints, change: ProductChange): number {
  switch (change.type) {
    case 'ProductListed':
    case 'ProductRevised':
      return state.set(
        change.sourceProductId,
        change.content,
        change.price,
        change.currency,
        change.isOutOfStock,
      );
    case 'ProductRepriced':
      return state.reprice(change.sourceProductId, change.price, change.currency);
    case 'ProductDelisted':
      return state.remove(change.sourceProductId);
  }
}

// Decisions

export type ProductCommand =
  | { readonly kind: 'post'; readonly product: ProductFingerprint }
  | { readonly kind: 'delist'; readonly product: Pick<ProductFingerprint, 'sourceProductId'> };

export interface ProductFingerprint {
  readonly sourceProductId: string;
  readonly price: number;
  readonly content: Digest;
}

/** Decides a command (Document 1, Behaviour rules for posting). `currency`: of posted prices, empty if unknown. */
export function decide(
  state: Fingerprints,
  command: ProductCommand,
  currency: string,
): ProductChange | undefined {
  return command.kind === 'post'
    ? decidePost(state, command.product, currency)
    : decideDelist(state, command.product);
}

/** A product without changes writes nothing, a new price or currency alone is an event of its own. */
function decidePost(
  state: Fingerprints,
  { sourceProductId, content, price }: ProductFingerprint,
  currency: string,
): ProductChange | undefined {
  const product = state.find(sourceProductId);
  const before = state.priceOf(product);
  const isFall = price < before && state.isPricedIn(product, currency);
  const priced = { sourceProductId, price, currency, ...(isFall ? { fellFrom: before } : {}) };
  if (!state.isListed(product)) return { type: 'ProductListed', ...priced, content };
  if (!state.hasContent(product, content)) return { type: 'ProductRevised', ...priced, content };
  if (before !== price || !state.isIn(product, currency)) return { type: 'ProductRepriced', ...priced };
  return undefined;
}

/** A change with what its content says of the stock. */
export function withStock(
  state: Fingerprints,
  change: ProductChange,
  stock: Stock | undefined,
): ProductChange {
  if (stock === undefined || !('content' in change)) return change;
  const isBack = stock === 'in' && state.isOutOfStock(state.find(change.sourceProductId));
  return { ...change, isOutOfStock: stock === 'out', ...(isBack ? { backInStock: true } : {}) };
}

/** Whether a product can be bought, as far as its content says so (`docs/decisions.md#n19`). */
export type Stock = 'in' | 'out';

function decideDelist(
  state: Fingerprints,
  { sourceProductId }: Pick<ProductFingerprint, 'sourceProductId'>,
): ProductChange | undefined {
  const isListed = state.isListed(state.find(sourceProductId));
  return isListed ? { type: 'ProductDelisted', sourceProductId } : undefined;
}

/** How many products of a load or deletion changed in which way; `unmapped` as in `FeedImport`. */
export type Tally = {
  -readonly [Key in 'new' | 'revised' | 'repriced' | 'unchanged' | 'removed' | 'unmapped']: number;
};

export function emptyTally(): Tally {
  return { new: 0, revised: 0, repriced: 0, unchanged: 0, removed: 0, unmapped: 0 };
}

/** True for a replacement that has removed more than half of a feed of over 100 products (`docs/decisions.md#x89`). */
export function isLargeRemoval(
  mode: FeedImport['mode'],
  before: number,
  { removed }: Pick<Tally, 'removed'>,
): boolean {
  return mode === 'replace' && before > LARGE_FEED && removed > before / 2;
}

const LARGE_FEED = 100;

const COUNTED_AS = {
  ProductListed: 'new',
  ProductRevised: 'revised',
  ProductRepriced: 'repriced',
  ProductDelisted: 'removed',
} as const;

/** Counts a decision. Delisting a product that is not listed counts as nothing. */
export function count(tally: Tally, command: ProductCommand, change: ProductChange | undefined): void {
  if (change !== undefined) tally[COUNTED_AS[change.type]] += 1;
  else if (command.kind === 'post') tally.unchanged += 1;
}

/**
 * The category of a feed's second stream, `feedrefusals-22`: posts that were refused as a whole. They change no
 * product, and must not wait for a load in progress (`docs/decisions.md#x35`).
 *
 * The name and shape of its event are the storage format: add, never rename.
 */
export const REFUSALS = 'feedrefusals';

export type RefusalEvent = EventOf<'FeedImportRefused', RefusedImport>;

type RefusedImport = Pick<FeedImport, 'importId' | 'mode' | 'at' | 'durationMs' | 'faults' | 'fetched'>;

const refusals: Decider<RefusedImport, null, RefusalEvent> = {
  category: REFUSALS,
  initial: null,
  supersedes: () => true,
  decide: (data) => [{ type: 'FeedImportRefused', data }],
  evolve: () => null,
};

/** Records posts that are refused as a whole. */
export class FeedRefusals {
  constructor(
    private readonly clock: Clock,
    private readonly log: EventLog,
  ) {}

  /** Call when a post begins. The returned function records that it was refused, and returns the log position. */
  begin(
    feedId: number,
    mode: FeedImport['mode'],
    made: Pick<FeedImport, 'fetched'> = {},
  ): (fault: Pick<Fault, 'code' | 'message'>) => Promise<Position | undefined> {
    const started = this.clock.wall();
    return async ({ code, message }) => {
      const now = this.clock.now();
      const { position } = await execute(this.clock, this.log, refusals, feedId, {
        importId: this.clock.uuid(),
        mode,
        at: now.toISOString(),
        durationMs: now.getTime() - started,
        faults: [{ code, message }],
        ...made,
      });
      return position;
    };
  }
}

/** Document 1, Errors: the rows of module Products that are used; `docs/decisions.md#p2` lists when. */
export const productFaultTable = {
  parametersMissing: ['PF_200', 400, 'Parameters missing'],
  noParsableContent: ['PF_210', 400, 'No parsable content received'],
  unexpected: ['PF_230', 400, 'Unexpected and unknown error'],
  valueNotSet: ['PF_240', 400, 'A value is not set'],
  notNumeric: ['PF_260', 400, 'Value expected numeric but was not'],
  notCommaSeparated: ['PF_270', 400, 'Value expected comma separated'],
  priceNotParsable: ['PF_280', 400, 'Price could not be parsed'],
  currencyNotIso: ['PF_290', 400, 'Currency is not a valid ISO currency'],
  tokenRequestNotValid: ['PF_300', 400, 'Token request not valid'],
  malformedUrl: ['PF_391', 400, 'Malformed URL supplied'],
  foreignFeed: ['PF_392', 400, 'The feed does not belong to a program of the caller'],
  illegalValue: ['PF_430', 400, 'Parameter has illegal value'],
} as const;

export const productFaults = faultsOf(productFaultTable);

// The JSON of its events. A load writes or parses millions of them: where JSON has the usual form it is composed and
// matched as text. Any other JSON of the same meaning is parsed as such.

let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * The JSON of a product's content and its digest, which changes whenever the content does. The bytes are valid until
 * the next call. `isPlain`: the product was posted as JSON without a backslash.
 */
export function encodeContent(
  product: Product,
  isPlain = false,
): { readonly json: Buffer; readonly digest: Digest } {
  const text = isPlain ? plainJson(product) : JSON.stringify(product);
  // A UTF-16 unit takes three bytes at most.
  if (text.length * 3 > scratch.length) scratch = Buffer.allocUnsafeSlow(text.length * 6);
  const json = scratch.subarray(0, scratch.write(text));
  return { json, digest: digestOf(json) };
}

/** The event of a change at an ISO 8601 instant; `contentJson` is needed for those that hold the content. */
export function encodeChange(id: string, change: ProductChange, at: string, contentJson: string): NewEvent {
  const { type } = change;
  const price = 'price' in change ? priceJson(change) : '';
  const back = 'backInStock' in change ? ',"backInStock":true' : '';
  const head = `{"sourceProductId":${JSON.stringify(change.sourceProductId)}${price}${back},"at":"${at}"`;
  return 'content' in change
    ? { id, type, data: `${head}${CONTENT}${contentJson}}`, meta: `{"content":"${change.content}"}` }
    : { id, type, data: `${head}}`, meta: '{}' };
}

function priceJson({
  price,
  currency,
  fellFrom,
}: Extract<ProductChange, { readonly price: number }>): string {
  const fall = fellFrom === undefined ? '' : `,"fellFrom":${fellFrom}`;
  return currency === '' ? `,"price":${price}` : `,"price":${price},"currency":"${currency}"${fall}`;
}

/** Precedes the content, which comes last. Inside a JSON string its quotes would be escaped. */
const CONTENT = ',"product":';

/** What precedes the content, or is the entire event, as `encodeChange` writes it when nothing is escaped. */
const HEAD =
  /^\{"sourceProductId":"([^"\\]*)",(?:"price":(\d{1,15}),(?:"currency":"([A-Z]{3})",)?(?:"fellFrom":(\d{1,15}),)?(?:"backInStock":(true),)?)?"at":"[^"\\]*"/;
const META = /^\{"content":"([^"\\]*)"[,}]/;

/** The change of a product that an event records. `currencyAt`: for events that do not record the currency. */
export function parseChange(
  { type, data, meta, position }: RecordedEvent,
  currencyAt?: CurrencyAt,
): ProductChange | undefined {
  switch (type) {
    case 'ProductListed':
    case 'ProductRevised': {
      const end = data.indexOf(CONTENT);
      const head = parseHead(data, end);
      const { sourceProductId, price, currency } = head;
      const stock = stockIn(data);
      const content = META.exec(meta)?.[1] ?? (JSON.parse(meta) as ContentMeta).content;
      return {
        type,
        sourceProductId,
        price,
        currency: currency ?? currencyAt?.(position) ?? '',
        ...toldIn(head),
        ...(stock === undefined ? {} : { isOutOfStock: stock === 'out' }),
        content: content ?? digestOf(contentOf(data)),
      };
    }
    case 'ProductRepriced': {
      const head = parseHead(data, data.length - 1);
      const { sourceProductId, price, currency } = head;
      const told = { sourceProductId, price, currency: currency ?? currencyAt?.(position) ?? '' };
      return { type, ...told, ...toldIn(head) };
    }
    case 'ProductDelisted':
      return { type, sourceProductId: parseHead(data, data.length - 1).sourceProductId };
    default:
      return undefined;
  }
}

/** The JSON of the content that an event holds, as it was encoded. */
export function contentOf(data: string): string {
  return data.slice(data.indexOf(CONTENT) + CONTENT.length, -1);
}

/**
 * What the JSON of a content says of the stock: the number of items, or else Google's values of `availability`, in
 * whatever case and with whatever between the words. No other object in it has these keys, and inside a text a
 * quotation mark is escaped.
 */
export function stockIn(content: string): Stock | undefined {
  const at = content.indexOf('"inStock":');
  if (at >= 0) return Number.parseInt(content.slice(at + 10, at + 30), 10) > 0 ? 'in' : 'out';
  const said = content.indexOf('"availability":"');
  if (said < 0) return undefined;
  const words = content
    .slice(said + 16, content.indexOf('"', said + 16))
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
  return words === 'instock' ? 'in' : words === 'outofstock' ? 'out' : undefined;
}

/** Parses the first `length` characters of an event. */
function parseHead(data: string, length: number): EventHead {
  const [head, id, price, currency, fellFrom, backInStock] = HEAD.exec(data) ?? [];
  if (id === undefined || head?.length !== length)
    return JSON.parse(`${data.slice(0, length)}}`) as EventHead;
  const fall = fellFrom === undefined ? undefined : Number(fellFrom);
  const back = backInStock !== undefined;
  return { sourceProductId: id, price: Number(price), currency, fellFrom: fall, backInStock: back };
}

interface EventHead {
  readonly sourceProductId: string;
  readonly price: number;
  readonly currency?: string | undefined;
  readonly fellFrom?: number | undefined;
  readonly backInStock?: boolean;
}

/** What a head says beside the price, in the terms of a change. */
function toldIn({ fellFrom, backInStock }: EventHead) {
  return {
    ...(fellFrom === undefined ? {} : { fellFrom }),
    ...(backInStock === true ? { backInStock } : {}),
  };
}
