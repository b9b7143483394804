import { type BodyFormat } from '../../wire/format';
import { usableId } from '../product-check';
import { digestOf, type Fingerprints } from './fingerprints';
import { numberRecords } from './held';
import { IdTable } from './id-table';
import {
  type Check,
  judge,
  judgePosted,
  type LoadFault,
  oversized,
  readerOf,
  type ReadPosted,
  type Refused,
  validate,
  type Validated,
  type Slice,
  type Usable,
} from './validate';
import { Slicer } from './slicer';
import { type Spool } from './spool';

/** Faults that are told one by one, of all products (`docs/decisions.md#x23`); more are counted. */
const MAX_FAULTS = 10_000;

/** Slices that may be under way before the oldest is waited for. */
const AHEAD = 4;

/** Validates a slice in another thread, which knows no categories. */
export type Validate = (slice: Slice) => Promise<Validated>;

export interface ReceiverOptions {
  /** Of the body. */
  readonly format: BodyFormat;
  readonly spool: Spool;
  /** The feed's fingerprints as they happen to be now: a hint, looked at again when it is decided. */
  readonly prints: Fingerprints | undefined;
  readonly knowsCategory: (id: string) => boolean;
  /** Without it all is done in this thread. */
  readonly validate?: Validate | undefined;
}

/**
 * Takes the products of a posted body one by one, numbered from 1: has each checked, holds the good ones in a spool,
 * and remembers which is the last usable one of each `sourceProductId` (`docs/decisions.md#p1`). When a promise comes
 * back, wait for it before giving more.
 *
 * It knows nothing of the feed's state, so any number of bodies can be received at a time.
 */
export class Receiver {
  /** Faults of refused products, at most `MAX_FAULTS`. */
  readonly faults: LoadFault[] = [];
  /** Faults beyond these. */
  moreFaults = 0;
  refused = 0;
  /** Namespace prefixes that the body declares around its products: to be known before the first of them. */
  prefixes: readonly string[] = [];
  private readonly ids = new IdTable();
  /** Sequence number of the last usable product of each id. */
  private last = new Uint32Array(512);
  private readonly slicer = new Slicer();
  /** Each ends after those before it. */
  private readonly underWay: Promise<void>[] = [];
  private latest: Promise<void> = Promise.resolve();
  private read: ReadPosted | undefined;

  constructor(private readonly options: ReceiverOptions) {}

  /** Takes the bytes of a product. */
  posted(bytes: Buffer, sequence: number): Promise<void> | undefined {
    const { prints, spool } = this.options;
    if (prints?.knowsPosted === true) {
      const posted = digestOf(bytes);
      const known = prints.findPosted(posted);
      if (known >= 0) {
        const sourceProductId = prints.idOf(known);
        const number = this.usable(sourceProductId, sequence);
        return spool.put({ kind: 'known', sequence, sourceProductId, posted }, bytes, number);
      }
    }
    const isFull = this.slicer.add(bytes, sequence);
    return isFull ? this.sendSlice() : undefined;
  }

  /** Takes a product in the shape of JSON, from wherever. */
  take(product: Readonly<Record<string, unknown>>, sequence: number): Promise<void> | undefined {
    const usable = this.usableOf(judge(product, { sequence }, this.check()));
    if (usable === undefined) return undefined;
    const { head, text } = usable;
    return this.options.spool.put(head, text, this.usable(head.sourceProductId, sequence));
  }

  /** The body has ended: waits until all of its products have been taken. */
  async complete(): Promise<void> {
    // What is left is seldom worth the way to another thread.
    const rest = validate(this.slice(), this.options.knowsCategory);
    await this.latest;
    await this.collect(rest);
  }

  /** Reads a product after all that was known by its bytes: undefined if it is refused. */
  again(bytes: Buffer, sequence: number): Usable | undefined {
    this.read ??= readerOf({ format: this.options.format, prefixes: this.prefixes });
    return this.usableOf(judgePosted(this.read, bytes, sequence, this.check()));
  }

  /** Refuses a product that is larger than `MAX_PRODUCT`; its id is not always known. */
  oversized(posted: string | undefined): void {
    this.refuse(oversized(usableId(posted)));
  }

  /** True if the usable product of this place in the body is the last one of its id, whose number this is. */
  isLast(number: number, sequence: number): boolean {
    return this.last[number] === sequence;
  }

  /** True if the body has a product of this id, usable or refused. */
  names(sourceProductId: string): boolean {
    return this.ids.find(sourceProductId) >= 0;
  }

  /** Counts a product that may not be stored with what is wrong with it. */
  private usableOf(judged: Usable | Refused): Usable | undefined {
    if ('head' in judged) return judged;
    this.refuse(judged);
    return undefined;
  }

  private check(): Check {
    return { knowsCategory: this.options.knowsCategory, room: this.room };
  }

  /** Faults that are still told one by one. */
  private get room(): number {
    return MAX_FAULTS - this.faults.length;
  }

  private slice(): Slice {
    const { prefixes } = this;
    return { format: this.options.format, prefixes, ...this.slicer.take(), room: this.room };
  }

  private sendSlice(): Promise<void> | undefined {
    const { knowsCategory } = this.options;
    const slice = this.slice();
    const validated = this.options.validate?.(slice) ?? Promise.resolve(validate(slice, knowsCategory));
    this.latest = Promise.all([validated, this.latest]).then(([done]) =>
      // A category that nobody knows: validated again by who knows them.
      this.collect(done.categories.every(knowsCategory) ? done : validate(slice, knowsCategory)),
    );
    // A failure is told when its turn to be waited for comes.
    this.latest.catch(() => undefined);
    this.underWay.push(this.latest);
    return this.underWay.length > AHEAD ? this.underWay.shift() : undefined;
  }

  private async collect({ held, refused, unlisted }: Validated): Promise<void> {
    const records = Buffer.from(held.buffer, held.byteOffset, held.byteLength);
    numberRecords(records, (sourceProductId, sequence) => this.usable(sourceProductId, sequence));
    for (const product of refused) this.refuse(product);
    this.refused += unlisted.products;
    this.moreFaults += unlisted.faults;
    await this.options.spool.add(records);
  }

  /** Gives the number of its id. */
  private usable(sourceProductId: string, sequence: number): number {
    const number = this.number(sourceProductId);
    if ((this.last[number] ?? 0) < sequence) this.last[number] = sequence;
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

  private refuse({ sourceProductId, faults, moreFaults }: Refused): void {
    this.refused += 1;
    const told = faults.slice(0, this.room);
    this.faults.push(...told);
    this.moreFaults += moreFaults + faults.length - told.length;
    if (sourceProductId !== undefined) this.number(sourceProductId);
  }
}
