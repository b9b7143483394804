import { isAscii, isUtf8 } from 'node:buffer';
import { type Fault } from '../../kernel/fault';
import { productFaults as fault } from '../faults';
import {
  type CheckedProduct,
  checkProduct,
  holdsForbiddenCharacter,
  type RefusedProduct,
  usableId,
} from '../product-check';
import { contentOf } from './changes';
import { type Digest, digestOf, type Fingerprints } from './fingerprints';
import { IdTable } from './id-table';
import { type Spool } from './spool';

/** A product of more than this, as JSON, is refused by itself (`docs/decisions.md#p27`). */
export const MAX_PRODUCT = 256 * 1024;

/** Faults that are told one by one, of all products and of one; more are counted. */
const MAX_FAULTS = 10_000;
const MAX_FAULTS_OF_ONE = 20;

export interface ReceiverOptions {
  readonly spool: Spool;
  /** The feed's fingerprints as they happen to be now: a hint, looked at again when it is decided. */
  readonly prints: Fingerprints | undefined;
  readonly knowsCategory: (id: string) => boolean;
}

/**
 * Takes the products of a posted body one by one: checks each, holds the good ones in a spool, and remembers which is the last usable one of each `sourceProductId` (`docs/decisions.md#p1`).
 * It knows nothing of the feed's state, so any number of bodies can be received at a time.
 */
export class Receiver {
  /** Faults of refused products, at most `MAX_FAULTS`. */
  readonly faults: Fault[] = [];
  /** Faults beyond these. */
  moreFaults = 0;
  refused = 0;
  private readonly ids = new IdTable();
  /** Sequence number of the last usable product of each id. */
  private last = new Uint32Array(512);
  private sequence = 0;

  constructor(private readonly options: ReceiverOptions) {}

  /** Takes the bytes of a product posted as JSON; when a promise comes back, wait for it. */
  json(bytes: Buffer): Promise<void> | undefined {
    const { prints, spool } = this.options;
    const posted = digestOf(bytes);
    const known = prints?.findPosted(posted) ?? -1;
    if (prints !== undefined && known >= 0) {
      const sourceProductId = prints.idOf(known);
      return spool.put(
        { kind: 'known', number: this.usable(sourceProductId), sourceProductId, posted },
        bytes,
      );
    }
    return this.take(parseProduct(bytes), posted, !bytes.includes(BACKSLASH));
  }

  /** Takes a product in the shape of JSON, from wherever; `posted` is the digest of its bytes, `isPlain` as for `contentOf`. */
  take(
    product: Readonly<Record<string, unknown>>,
    posted?: Digest,
    isPlain?: boolean,
  ): Promise<void> | undefined {
    const checked = this.check(product);
    if (checked === undefined) return undefined;
    const { sourceProductId, price } = checked;
    const { json, digest } = contentOf(checked.product, isPlain);
    if (json.length > MAX_PRODUCT) {
      this.oversized(sourceProductId);
      return undefined;
    }
    const number = this.usable(sourceProductId);
    return this.options.spool.put(
      { kind: 'checked', number, sourceProductId, price, content: digest, posted },
      json,
    );
  }

  /** A product that may be stored; one that may not is counted with what is wrong with it. */
  check(product: Readonly<Record<string, unknown>>): CheckedProduct | undefined {
    const room = Math.min(MAX_FAULTS_OF_ONE, MAX_FAULTS - this.faults.length);
    const checked = checkProduct(product, this.options.knowsCategory, room);
    if (!('faults' in checked)) return checked;
    this.refuse(checked);
    return undefined;
  }

  /** Refuses a product of more than `MAX_PRODUCT`; its id is not always known. */
  oversized(posted: string | undefined): void {
    const sourceProductId = usableId(posted);
    const message = `a product may have ${MAX_PRODUCT / 1024} KB at most, as JSON`;
    const isListed = this.faults.length < MAX_FAULTS;
    const faults = [fault.illegalValue(message, sourceProductId === undefined ? {} : { sourceProductId })];
    this.refuse({ sourceProductId, faults: isListed ? faults : [], moreFaults: isListed ? 0 : 1 });
  }

  /** True if the usable product taken as the `sequence`-th (from 1) is the last one of its id, whose number this is. */
  isLast(number: number, sequence: number): boolean {
    return this.last[number] === sequence;
  }

  /** True if the body has a product of this id, usable or refused. */
  names(sourceProductId: string): boolean {
    return this.ids.find(sourceProductId) >= 0;
  }

  /** Gives the number of its id. */
  private usable(sourceProductId: string): number {
    this.sequence += 1;
    const number = this.number(sourceProductId);
    this.last[number] = this.sequence;
    return number;
  }

  private number(sourceProductId: string): number {
    const id = this.ids.add(sourceProductId);
    if (id >= this.last.length) {
      const larger = new Uint32Array(this.last.length * 2);
      larger.set(this.last);
      this.last = larger;
    }
    return id;
  }

  private refuse({ sourceProductId, faults, moreFaults }: RefusedProduct): void {
    this.refused += 1;
    this.faults.push(...faults);
    this.moreFaults += moreFaults;
    if (sourceProductId !== undefined) this.number(sourceProductId);
  }
}

const BACKSLASH = 0x5c;
/** Characters and escapes among which a forbidden one may be. */
const SUSPICIOUS = /[\ufffe\uffff]|\\[ubf]/;

/** Reads a product posted as JSON; raises `noParsableContent` for what stores nothing of the whole body. */
export function parseProduct(bytes: Buffer): Record<string, unknown> {
  const isPlain = isAscii(bytes);
  if (!isPlain && !isUtf8(bytes)) throw fault.noParsableContent('the body must be UTF-8');
  const text = bytes.toString(isPlain ? 'latin1' : 'utf8');
  let product: Record<string, unknown>;
  try {
    product = JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw fault.noParsableContent(`the body is not JSON: ${error instanceof Error ? error.message : ''}`);
  }
  // Others than these two cannot be in what JSON.parse has taken.
  const isSuspicious = !(isPlain && !bytes.includes(BACKSLASH)) && SUSPICIOUS.test(text);
  if (isSuspicious && holdsForbiddenCharacter(product)) {
    throw fault.noParsableContent('the body has a character that XML does not allow');
  }
  return product;
}
