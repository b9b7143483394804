import { isAscii, isUtf8 } from 'node:buffer';
import { encodeContent, productFaults as fault } from '../../../../domain/products/feed';
import { type Digest, digestOf } from '../../../../domain/products/fingerprints';
import { type IgnoredField, IgnoredFields } from '../../../../domain/products/import-report';
import { foreignByte, GrowingBytes } from '../../../../wire/bytes';
import { csvCells, type CsvDialect } from '../../../../wire/csv/cut';
import { type ElementOrigin } from '../../../../wire/json/cut';
import { noteRepeated } from '../../../../wire/json/read';
import { jsonProblem, spellingsIn } from '../../../../wire/json/scan';
import { forbiddenCharacter } from '../../../../wire/xml/write';
import {
  checkProduct,
  type FaultCounts,
  holdsForbiddenCharacter,
  LoadFaults,
  MAX_PRODUCT,
  oversized,
  type ProductRefusal,
  toLoadFault,
  usableId,
} from '../../product-check';
import { type CellSeparators, type FeedTerms, type NamedTexts, productOf, type ReadProduct } from './columns';
import { MERCHANT_ROOTS, type MerchantRoot, MerchantXml } from './merchant-xml';
import { type ProductSink, ProductXml, type XmlProducts } from './product-xml';
import { RecordBlock, type ValidProduct } from './spool';

/** How the products of a body are written: all that is needed to parse one of them by itself. */
export type Written = { readonly format: 'json' } | WrittenElements | WrittenRows;

/** Elements of XML, ours or of a Google Merchant feed, and the namespace prefixes that are declared around them. */
export type WrittenElements =
  | { readonly format: 'xml'; readonly prefixes: readonly string[] }
  | {
      readonly format: 'merchant';
      readonly root: MerchantRoot;
      readonly prefixes: readonly string[];
      readonly terms: FeedTerms;
    };

/** Rows of CSV, of which the header is known. */
interface WrittenRows extends CsvDialect, Omit<NamedTexts, 'texts'> {
  readonly format: 'csv';
  readonly within: CellSeparators;
  readonly terms: FeedTerms;
  /** Of what rows mean beside their bytes. */
  readonly salt: Digest;
}

/** The digest of a product's bytes, which mean the same wherever it is the same. */
export function postedDigest(bytes: Buffer, written: Written): Digest {
  const digest = digestOf(bytes);
  return 'salt' in written ? digestOf(written.salt + digest) : digest;
}

/** What messages call the product at a place of the body, from 1: in CSV the line that its row begins in. */
export function placeOf({ format }: Written, sequence: number): string {
  if (format === 'merchant') return `item ${sequence}`;
  return format === 'csv' ? `line ${sequence}` : `products[${sequence - 1}]`;
}

/** Products of a body, cut out but not parsed: the unit of work of a validation thread. */
export interface Slice {
  readonly written: Written;
  /** One product after the other. */
  readonly bytes: Uint8Array;
  /** Where each ends. */
  readonly ends: Uint32Array;
  /** The place of each in the body, from 1. */
  readonly sequences: Uint32Array;
  /** Where each begins in a JSON body. */
  readonly firstBytes: Float64Array;
  /** How many members its objects have, in a JSON body. */
  readonly members: Uint32Array;
  /** How many more faults can be listed. */
  readonly room: number;
}

/** Bytes of a slice: a few milliseconds of work. */
const SLICE_BYTES = 256 * 1024;
/** Products of a slice: as much work, however small they are. Other loads wait no longer than that. */
const SLICE_PRODUCTS = 2_000;
/** Into which slices usually fit. */
const SLICE_SPACE = 288 * 1024;

export class SliceBuilder {
  private bytes = new GrowingBytes();
  private ends: number[] = [];
  private sequences: number[] = [];
  private firstBytes: number[] = [];
  private members: number[] = [];

  /** Returns true when the slice is full. */
  add(product: Buffer, sequence: number, { firstByte, members }: ElementOrigin): boolean {
    this.bytes.add(product);
    this.ends.push(this.bytes.length);
    this.sequences.push(sequence);
    this.firstBytes.push(firstByte);
    this.members.push(members);
    return this.bytes.length >= SLICE_BYTES || this.ends.length >= SLICE_PRODUCTS;
  }

  /** Returns what has been collected, and starts the next slice. */
  take(): Pick<Slice, 'bytes' | 'ends' | 'sequences' | 'firstBytes' | 'members'> {
    const slice = {
      bytes: this.bytes.take(),
      ends: Uint32Array.from(this.ends),
      sequences: Uint32Array.from(this.sequences),
      firstBytes: Float64Array.from(this.firstBytes),
      members: Uint32Array.from(this.members),
    };
    // Most bodies are small, but one that has filled a slice needs several.
    this.bytes = new GrowingBytes(SLICE_SPACE);
    this.ends = [];
    this.sequences = [];
    this.firstBytes = [];
    this.members = [];
    return slice;
  }
}

/** Faults that are listed of one product; more are counted (`docs/decisions.md#x23`). */
const MAX_FAULTS = 20;

export interface ValidatedSlice {
  /** The valid products, as records. */
  readonly records: Uint8Array;
  readonly faults: FaultCounts;
  /** The ids of refused products, as far as known. */
  readonly refusedIds: readonly string[];
  /** Platform categories that some products need and that were assumed to exist. */
  readonly categories: readonly string[];
  readonly ignored: readonly IgnoredField[];
}

/** A valid product; its text is overwritten by the next validation. */
export interface ValidText {
  readonly head: ValidProduct;
  readonly text: Buffer;
}

export interface ValidationOptions {
  readonly knowsCategory: (id: string) => boolean;
  readonly room: number;
  readonly written: Written;
  /** Counts the fields that the document does not name. */
  readonly ignored: IgnoredFields;
  /** What is known about the product in a JSON body. */
  readonly origin?: ElementOrigin;
}

/**
 * Parses and validates the products of a slice, in any thread. Without `knowsCategory` every category is assumed to
 * exist and returned in `categories`, for a caller that knows them. Raises `PF_210`, which refuses the entire body.
 */
export function validateSlice(
  slice: Slice,
  knowsCategory?: ValidationOptions['knowsCategory'],
): ValidatedSlice {
  const bytes = Buffer.from(slice.bytes.buffer, slice.bytes.byteOffset, slice.bytes.byteLength);
  const block = new RecordBlock();
  const faults = new LoadFaults(slice.room);
  const refusedIds: string[] = [];
  const categories = new Set<string>();
  const ignored = new IgnoredFields();
  const assumeCategory = (id: string): true => {
    categories.add(id);
    return true;
  };
  const parse = productParser(slice.written);
  let start = 0;
  for (const [at, end] of slice.ends.entries()) {
    const sequence = slice.sequences[at] ?? 0;
    const validated = validateBytes(parse, bytes.subarray(start, end), sequence, {
      knowsCategory: knowsCategory ?? assumeCategory,
      room: faults.room,
      written: slice.written,
      ignored,
      origin: { firstByte: slice.firstBytes[at] ?? 0, members: slice.members[at] ?? 0 },
    });
    start = end;
    if ('head' in validated) {
      block.put(validated.head, validated.text);
      continue;
    }
    faults.add(validated);
    if (validated.sourceProductId !== undefined) refusedIds.push(validated.sourceProductId);
  }
  return {
    records: block.records(),
    faults,
    refusedIds,
    categories: [...categories],
    ignored: ignored.listed(),
  };
}

/** A parsed product. `isPlain` as for `encodeContent`; `text` is the JSON, if it was JSON. */
interface Parsed extends ReadProduct {
  readonly isPlain: boolean;
  readonly text?: string;
}

/** Parses the bytes of one product after the other. Raises `PF_210`. */
export type ParseProduct = (
  bytes: Buffer,
  sequence: number,
  origin?: ElementOrigin,
) => Parsed | ProductRefusal;

export function productParser(written: Written): ParseProduct {
  switch (written.format) {
    case 'json':
      return parseJson;
    case 'xml':
    case 'merchant':
      return elementParser(written);
    case 'csv':
      return (bytes, sequence) => parseRow(written, bytes, sequence);
  }
}

/** Parses and validates a product. Raises `PF_210`, which refuses the entire body. */
export function validateBytes(
  parse: ParseProduct,
  bytes: Buffer,
  sequence: number,
  options: ValidationOptions,
): ValidText | ProductRefusal {
  const parsed = parse(bytes, sequence, options.origin);
  if ('faults' in parsed) return parsed;
  return validateParsed(parsed, sequence, options, () => postedDigest(bytes, options.written));
}

/** Validates a parsed product; `posted` computes the digest of its bytes, if it was parsed by itself. */
export function validateParsed(
  { product, isPlain, text, named, wrong, isTimed }: Parsed,
  sequence: number,
  { knowsCategory, room, written, ignored }: ValidationOptions,
  posted?: () => Digest,
): ValidText | ProductRefusal {
  const checked = checkProduct(product, knowsCategory, Math.min(MAX_FAULTS, room), {
    onUnknown: (path) => ignored.add(path, sequence, usableId(product['sourceProductId'])),
    spelling: text === undefined ? undefined : spellingsIn(text),
    named,
    wrong,
  });
  const place = placeOf(written, sequence);
  if ('faults' in checked)
    return { ...checked, faults: checked.faults.map((one) => toLoadFault(one, place)) };
  const { sourceProductId, price } = checked;
  const { json, digest: content } = encodeContent(checked.product, isPlain);
  if (json.length > MAX_PRODUCT) return oversized(sourceProductId, place);
  return {
    head: {
      ...{ kind: 'valid', sequence, sourceProductId, price, content },
      posted: isTimed === true ? undefined : posted?.(),
    },
    text: json,
  };
}

/** Parses the document whose products are written so. */
export function xmlProducts(written: WrittenElements, sink: ProductSink): XmlProducts {
  return written.format === 'xml' ? new ProductXml(sink) : new MerchantXml(written.root, written.terms, sink);
}

/** Parses elements as if each were the only one of a body. */
function elementParser(written: WrittenElements): ParseProduct {
  const found: (ReadProduct | ProductRefusal)[] = [];
  let place = 0;
  const reader = xmlProducts(written, {
    onProduct: (product) => found.push(product),
    onOversized: (sourceProductId) =>
      found.push(oversized(usableId(sourceProductId), placeOf(written, place))),
  });
  const path = written.format === 'xml' ? ['products'] : MERCHANT_ROOTS[written.root].path;
  const declarations = written.prefixes.map((prefix) => ` xmlns:${prefix}="${prefix}"`);
  reader.write(Buffer.from(`<${path.join('><')}${declarations.join('')}>`));
  const name = elementName(written);
  return (bytes, sequence) => {
    found.length = 0;
    place = sequence;
    const isPlain = reader.writeProduct(bytes, () => ` of ${name} ${sequence}`);
    const [only] = found;
    if (only === undefined || found.length > 1 || !reader.isBetween)
      throw fault.noParsableContent(`the body cannot be parsed: ${name} ${sequence} is not one element`);
    if ('faults' in only) return only;
    const { product, named, wrong, isTimed } = only;
    return { product, named, wrong, isTimed, isPlain };
  };
}

/** What messages call an element. */
export function elementName({ format }: WrittenElements): string {
  return format === 'xml' ? 'product' : 'item';
}

/** Parses a row of CSV. Raises `PF_210` for one that is not UTF-8. */
function parseRow(written: WrittenRows, bytes: Buffer, line: number): Parsed | ProductRefusal {
  const { names, meanings, within, terms, embrace } = written;
  const foreign = isAscii(bytes) ? undefined : foreignByte(bytes);
  if (foreign !== undefined)
    throw fault.noParsableContent(`the body cannot be parsed: ${foreignText(line, foreign)}`);
  const row = bytes.toString();
  const { cells: texts, malformed } = csvCells(row, written);
  const refused = (message: string): ProductRefusal => {
    const sourceProductId = usableId(texts[meanings.indexOf('sourceProductId')]);
    const details = sourceProductId === undefined ? {} : { sourceProductId };
    const one = toLoadFault(fault.illegalValue(message, details), placeOf(written, line));
    return { sourceProductId, faults: [one], moreFaults: 0 };
  };
  const columnOf = (at: number): string => `column ${names[at] ?? at + 1}`;
  if (malformed !== undefined)
    return refused(
      `${columnOf(malformed - 1)}: text behind the closing ${embrace}; expected each ${embrace} within a cell doubled`,
    );
  if (texts.length < names.length || texts.slice(names.length).some((text) => text !== ''))
    return refused(`expected ${names.length} cells, as in the header, got ${texts.length}`);
  const code = forbiddenCharacter(row)?.codePoint;
  if (code !== undefined) {
    const forbidden = texts.findIndex((text) => forbiddenCharacter(text) !== undefined);
    const character = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
    return refused(`${columnOf(forbidden)} has the character ${character}, which XML does not allow`);
  }
  return { ...productOf({ meanings, names, texts }, within, terms), isPlain: false };
}

/** For messages: a byte of a row that is not UTF-8, and what helps. */
export function foreignText(line: number, foreign: string): string {
  return (
    `it is not UTF-8: in line ${line}, ${foreign}; convert it, or say what it is where files are read: ` +
    '`affilog products import --charset windows-1252`, or "charset" of a source'
  );
}

const BACKSLASH = 0x5c;
/** Forbidden characters, and escapes that may stand for one. */
const SUSPICIOUS = /[\ufffe\uffff]|\\[ubf]/;

function parseJson(bytes: Buffer, sequence: number, origin?: ElementOrigin): Parsed {
  const isAsciiOnly = isAscii(bytes);
  const hasEscapes = bytes.includes(BACKSLASH);
  if (!isAsciiOnly && !isUtf8(bytes)) throw fault.noParsableContent('the body must be UTF-8');
  const text = bytes.toString(isAsciiOnly ? 'latin1' : 'utf8');
  let product: Record<string, unknown>;
  try {
    product = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    const problem = jsonProblem(bytes, origin?.firstByte)?.message ?? String(error);
    throw fault.noParsableContent(`the body is not JSON: ${problem}, in product ${sequence}`);
  }
  // JSON.parse has accepted the text: no other forbidden characters are possible.
  const isSuspicious = (!isAsciiOnly || hasEscapes) && SUSPICIOUS.test(text);
  if (isSuspicious && holdsForbiddenCharacter(product)) {
    throw fault.noParsableContent('the body has a character that XML does not allow');
  }
  noteRepeated(product, () => text, origin?.members);
  return { product, isPlain: !hasEscapes, text };
}
