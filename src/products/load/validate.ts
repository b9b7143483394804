import { isAscii, isUtf8 } from 'node:buffer';
import { type Fault } from '../../kernel/fault';
import { type BodyFormat } from '../../wire/format';
import { productFaults as fault } from '../faults';
import { checkProduct, holdsForbiddenCharacter, usableId } from '../product-check';
import { contentOf } from './changes';
import { type Digest, digestOf } from './fingerprints';
import { type Checked, HeldBlock } from './held';
import { asFault } from './body';
import { MAX_PRODUCT, ProductXml } from './product-xml';

/** Faults of one product that are told one by one; more are counted (`docs/decisions.md#x23`). */
const MAX_FAULTS = 20;

/** Some products of a body, cut out of it but not read. */
export interface Slice {
  readonly format: BodyFormat;
  /** Namespace prefixes that the body declares around its products. */
  readonly prefixes: readonly string[];
  /** One product after the other. */
  readonly bytes: Uint8Array;
  /** Where each ends. */
  readonly ends: Uint32Array;
  /** The place of each in the body, from 1. */
  readonly sequences: Uint32Array;
  /** Faults that are still told one by one. */
  readonly room: number;
}

/** What is wrong with a product, or with a body. */
export interface LoadFault {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly sourceProductId: string | undefined;
}

/** A product that may not be stored: the first of its faults, and how many there are beyond. */
export interface Refused {
  readonly sourceProductId: string | undefined;
  readonly faults: readonly LoadFault[];
  readonly moreFaults: number;
}

/** What has become of a slice. */
export interface Validated {
  /** The products that may be stored, as records. */
  readonly held: Uint8Array;
  /** Those of which something is known or reported: an id, a fault. */
  readonly refused: readonly Refused[];
  /** How many others are refused, and the faults of these. */
  readonly unlisted: { readonly products: number; readonly faults: number };
  /** The platform categories without which some of them would have been refused. */
  readonly categories: readonly string[];
}

/** What a product is checked by. */
export interface Check {
  readonly knowsCategory: (id: string) => boolean;
  /** Faults that are still told one by one. */
  readonly room: number;
}

/** Where a product comes from: `posted` gives the digest of its bytes, `isPlain` as for `contentOf`. */
interface Origin {
  readonly sequence: number;
  readonly posted?: () => Digest;
  readonly isPlain?: boolean;
}

/** A product that may be stored; its text is valid until the next is judged. */
export interface Usable {
  readonly head: Checked;
  readonly text: Buffer;
}

/**
 * Reads and checks the products of a slice, in whatever thread. Without `knowsCategory` every category is taken
 * to exist and told in `categories`, for whoever knows them. Raises `PF_210` for what stores nothing of the whole body.
 */
export function validate(slice: Slice, given?: Check['knowsCategory']): Validated {
  const bytes = Buffer.from(slice.bytes.buffer, slice.bytes.byteOffset, slice.bytes.byteLength);
  const block = new HeldBlock();
  const refused: Refused[] = [];
  const unlisted = { products: 0, faults: 0 };
  const categories = new Set<string>();
  const assume = (id: string): true => {
    categories.add(id);
    return true;
  };
  const knowsCategory = given ?? assume;
  const read = readerOf(slice);
  let { room } = slice;
  let start = 0;
  for (const [at, end] of slice.ends.entries()) {
    const sequence = slice.sequences[at] ?? 0;
    const judged = judgePosted(read, bytes.subarray(start, end), sequence, { knowsCategory, room });
    start = end;
    if ('head' in judged) {
      block.put(judged.head, judged.text);
    } else if (judged.faults.length > 0 || judged.sourceProductId !== undefined) {
      refused.push(judged);
      room -= judged.faults.length;
    } else {
      unlisted.products += 1;
      unlisted.faults += judged.moreFaults;
    }
  }
  return { held: block.records(), refused, unlisted, categories: [...categories] };
}

/** A product as read, and whether `contentOf` may take it for plain. */
interface Read {
  readonly product: Readonly<Record<string, unknown>>;
  readonly isPlain: boolean;
}

/** Reads the bytes of one product after the other. Raises `PF_210`. */
export type ReadPosted = (bytes: Buffer, sequence: number) => Read | Refused;

export function readerOf({ format, prefixes }: Pick<Slice, 'format' | 'prefixes'>): ReadPosted {
  return format === 'json' ? readJson : xmlReader(prefixes);
}

/** Judges a product by its bytes; raises `PF_210` for what stores nothing of the whole body. */
export function judgePosted(
  read: ReadPosted,
  bytes: Buffer,
  sequence: number,
  check: Check,
): Usable | Refused {
  const found = read(bytes, sequence);
  if ('faults' in found) return found;
  return judge(found.product, { sequence, posted: () => digestOf(bytes), isPlain: found.isPlain }, check);
}

/** Judges a product in the shape of JSON, from wherever. */
export function judge(
  product: Readonly<Record<string, unknown>>,
  { sequence, posted, isPlain }: Origin,
  { knowsCategory, room }: Check,
): Usable | Refused {
  const checked = checkProduct(product, knowsCategory, Math.min(MAX_FAULTS, room));
  if ('faults' in checked) return { ...checked, faults: checked.faults.map(toLoadFault) };
  const { sourceProductId, price } = checked;
  const { json, digest: content } = contentOf(checked.product, isPlain);
  if (json.length > MAX_PRODUCT) return oversized(sourceProductId);
  return {
    head: { kind: 'checked', sequence, sourceProductId, price, content, posted: posted?.() },
    text: json,
  };
}

/** Why a product of more than `MAX_PRODUCT` is refused; its id is not always known. */
export function oversized(sourceProductId: string | undefined): Refused {
  const message = `a product may have ${MAX_PRODUCT / 1024} KB at most, as JSON`;
  const details = sourceProductId === undefined ? {} : { sourceProductId };
  return { sourceProductId, faults: [toLoadFault(fault.illegalValue(message, details))], moreFaults: 0 };
}

function toLoadFault({ code, status, message, details }: Fault): LoadFault {
  return { code, status, message, sourceProductId: details.sourceProductId };
}

/** Reads elements one after the other as if each were the only one of a body. */
function xmlReader(prefixes: readonly string[]): ReadPosted {
  const found: (Read | Refused)[] = [];
  const reader = new ProductXml({
    take: (product) => found.push({ product, isPlain: false }),
    oversized: (sourceProductId) => found.push(oversized(usableId(sourceProductId))),
  });
  const declarations = prefixes.map((prefix) => ` xmlns:${prefix}="${prefix}"`);
  reader.write(Buffer.from(`<products${declarations.join('')}>`));
  return (bytes, sequence) => {
    found.length = 0;
    reader.countFromHere();
    asFault(() => reader.write(bytes), ` of product ${sequence}`);
    const [only] = found;
    if (only === undefined || found.length > 1 || !reader.isBetween)
      throw fault.noParsableContent(`the body cannot be read: product ${sequence} is not one element`);
    return only;
  };
}

const BACKSLASH = 0x5c;
/** Characters and escapes among which a forbidden one may be. */
const SUSPICIOUS = /[\ufffe\uffff]|\\[ubf]/;

function readJson(bytes: Buffer): Read {
  const isAsciiOnly = isAscii(bytes);
  const hasEscapes = bytes.includes(BACKSLASH);
  if (!isAsciiOnly && !isUtf8(bytes)) throw fault.noParsableContent('the body must be UTF-8');
  const text = bytes.toString(isAsciiOnly ? 'latin1' : 'utf8');
  let product: Record<string, unknown>;
  try {
    product = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw fault.noParsableContent(`the body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
  // Others than these two cannot be in what JSON.parse has taken.
  const isSuspicious = (!isAsciiOnly || hasEscapes) && SUSPICIOUS.test(text);
  if (isSuspicious && holdsForbiddenCharacter(product)) {
    throw fault.noParsableContent('the body has a character that XML does not allow');
  }
  return { product, isPlain: !hasEscapes };
}
