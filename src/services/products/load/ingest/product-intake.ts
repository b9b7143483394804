import { type ElementOrigin, JsonCutter } from '../../../../wire/json/cut';
import {
  LoadFaults,
  MAX_PRODUCT,
  oversized,
  parseOrRefuse,
  type ProductRefusal,
  usableId,
} from '../../product-check';
import { type Fingerprints, IdTable } from '../../../../domain/products/fingerprints';
import { IgnoredFields } from '../../../../domain/products/import-report';
import {
  elementName,
  type ParseProduct,
  placeOf,
  postedDigest,
  productParser,
  type Slice,
  SliceBuilder,
  validateBytes,
  type ValidatedSlice,
  validateParsed,
  validateSlice,
  type ValidationOptions,
  type ValidText,
  type Written,
  type WrittenElements,
  xmlProducts,
} from './validate';
import { numberRecords, type Spool } from './spool';
import { XmlCutter } from '../../../../wire/xml/cut';
import { productFaults as fault } from '../../../../domain/products/feed';
import { type ReadProduct } from './columns';
import { MERCHANT_ROOTS } from './merchant-xml';
import { type XmlProducts } from './product-xml';

const NO_ORIGIN: ElementOrigin = { firstByte: 0, members: 0 };

/** A listed fault in memory. */
const FAULT_BYTES = 512;

/** Slices in progress before the oldest is awaited. */
const SLICES_AHEAD = 4;

/** Runs `validateSlice` in another thread, which knows no categories. */
export type Validate = (slice: Slice) => Promise<ValidatedSlice>;

interface IntakeParts {
  readonly spool: Spool;
  /**
   * The feed's fingerprints if they are in memory, perhaps outdated: products recognised by them are verified when
   * appended. Asked for each product, so that a body that arrives slowly does not keep them there.
   */
  readonly fingerprints?: () => Fingerprints | undefined;
  readonly knowsCategory: (id: string) => boolean;
  /** Without it, this thread validates. */
  readonly validate?: Validate | undefined;
}

/**
 * Takes in the products of a posted body, numbered from 1: has them validated slice by slice, spools the valid ones,
 * collects the faults of the others, and knows the last valid product of each `sourceProductId`
 * (`docs/decisions.md#p1`).
 *
 * It does not depend on the feed's state, so any number of bodies are taken in at a time.
 */
export class ProductIntake {
  readonly faults = new LoadFaults();
  readonly ignored = new IgnoredFields();
  /** How its products are written: set before the first of them is added. */
  written: Written = { format: 'json' };
  private readonly ids = new IdTable();
  /** By number of the id: the place of its last valid product. */
  private last = new Uint32Array(512);
  private readonly slices = new SliceBuilder();
  /** Oldest first; each ends after those before it. */
  private readonly inProgress: Promise<void>[] = [];
  private latest: Promise<void> = Promise.resolve();
  private full: Promise<void> | undefined;
  private parse: ParseProduct | undefined;
  /** Products that were recognised by their bytes, and refused all the same: each once, however often it is decided. */
  private readonly refusedLate = new Set<number>();

  constructor(private readonly parts: IntakeParts) {}

  /** Bytes of memory that grow with the body: everything else is bounded. */
  get memory(): number {
    return (
      this.ids.memory + this.ids.size * this.last.BYTES_PER_ELEMENT + this.faults.listed.length * FAULT_BYTES
    );
  }

  /** How many products the body has, by their ids. */
  get products(): number {
    return this.ids.size;
  }

  /** Backpressure: if this returns a promise, await it before adding more. */
  ready(): Promise<void> | undefined {
    const { full } = this;
    this.full = undefined;
    return full;
  }

  /** Adds a product by its bytes; `origin` is known in a JSON body. */
  addBytes(bytes: Buffer, sequence: number, origin = NO_ORIGIN): void {
    const { spool } = this.parts;
    const fingerprints = this.parts.fingerprints?.();
    if (fingerprints?.knowsPosted === true) {
      const posted = postedDigest(bytes, this.written);
      const product = fingerprints.findPosted(posted);
      if (product >= 0) {
        const sourceProductId = fingerprints.idOf(product);
        const number = this.enterValid(sourceProductId, sequence);
        this.waitFor(spool.put({ kind: 'repeated', sequence, sourceProductId, posted }, bytes, number));
        return;
      }
    }
    if (this.slices.add(bytes, sequence, origin)) this.startSlice();
  }

  /** Adds a product that was parsed with its surroundings, in the shape of JSON. */
  addParsed(product: ReadProduct, sequence: number): void {
    const parsed = { ...product, isPlain: false };
    const valid = this.validOf(validateParsed(parsed, sequence, this.validation()));
    if (valid === undefined) return;
    const { head, text } = valid;
    this.waitFor(this.parts.spool.put(head, text, this.enterValid(head.sourceProductId, sequence)));
  }

  /** Adds a product larger than `MAX_PRODUCT`, which is refused, with its id if that was found. */
  addOversized(sourceProductId: string | undefined, sequence: number): void {
    this.refuse(oversized(usableId(sourceProductId), placeOf(this.written, sequence)));
  }

  /** The body has ended: waits until all products are validated and spooled. */
  async complete(): Promise<void> {
    // The rest is seldom worth the transfer to another thread.
    const rest = validateSlice(this.takeSlice(), this.parts.knowsCategory);
    await this.latest;
    await this.collect(rest);
  }

  /** Validates a product that was recognised by its bytes; undefined if it is refused. */
  revalidate(bytes: Buffer, sequence: number): ValidText | undefined {
    if (this.refusedLate.has(sequence)) return undefined;
    this.parse ??= productParser(this.written);
    const valid = this.validOf(validateBytes(this.parse, bytes, sequence, this.validation()));
    if (valid === undefined) this.refusedLate.add(sequence);
    return valid;
  }

  /** True if the valid product at this place of the body is the last one of its id, given by its number. */
  isLast(number: number, sequence: number): boolean {
    return this.last[number] === sequence;
  }

  /** True if the body has a product of this id, valid or refused. */
  names(sourceProductId: string): boolean {
    return this.ids.find(sourceProductId) >= 0;
  }

  private validation(): ValidationOptions {
    const { faults, ignored, written } = this;
    return { knowsCategory: this.parts.knowsCategory, room: faults.room, written, ignored };
  }

  private validOf(validated: ValidText | ProductRefusal): ValidText | undefined {
    if ('head' in validated) return validated;
    this.refuse(validated);
    return undefined;
  }

  private refuse(refusal: ProductRefusal): void {
    this.faults.add(refusal);
    if (refusal.sourceProductId !== undefined) this.ids.add(refusal.sourceProductId);
  }

  private takeSlice(): Slice {
    return { written: this.written, ...this.slices.take(), room: this.faults.room };
  }

  private startSlice(): void {
    const { knowsCategory, validate } = this.parts;
    const slice = this.takeSlice();
    const validated = validate?.(slice) ?? Promise.resolve(validateSlice(slice, knowsCategory));
    this.latest = Promise.all([validated, this.latest]).then(([done]) =>
      // Unknown category: validate again here, where categories are known.
      this.collect(done.categories.every(knowsCategory) ? done : validateSlice(slice, knowsCategory)),
    );
    this.latest.catch(() => undefined);
    this.inProgress.push(this.latest);
    if (this.inProgress.length > SLICES_AHEAD) this.waitFor(this.inProgress.shift());
  }

  private async collect({ records, faults, refusedIds, ignored }: ValidatedSlice): Promise<void> {
    const valid = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
    numberRecords(valid, (sourceProductId, sequence) => this.enterValid(sourceProductId, sequence));
    for (const id of refusedIds) this.ids.add(id);
    this.faults.addAll(faults);
    this.ignored.addAll(ignored);
    await this.parts.spool.add(valid);
  }

  /** Returns the number of the id. */
  private enterValid(sourceProductId: string, sequence: number): number {
    const number = this.ids.add(sourceProductId);
    if (number >= this.last.length) {
      const larger = new Uint32Array(this.ids.size * 2);
      larger.set(this.last);
      this.last = larger;
    }
    if ((this.last[number] ?? 0) < sequence) this.last[number] = sequence;
    return number;
  }

  private waitFor(added: Promise<void> | undefined): void {
    // A failure is raised by `ready`, or by a later step.
    added?.catch(() => undefined);
    this.full = added ?? this.full;
  }
}

/** Depth of objects and lists within a product, the product itself included. */
const MAX_DEPTH = 32;

/** Cuts the products out of a body `{"products":[…]}` (Document 1, JSON body shape). Raises `PF_210`. */
export class JsonBody {
  private readonly cutter: JsonCutter;

  constructor(intake: ProductIntake) {
    this.cutter = new JsonCutter({
      key: 'products',
      maxElement: MAX_PRODUCT,
      maxDepth: MAX_DEPTH,
      onElement: (bytes, index, origin) => intake.addBytes(bytes, index + 1, origin),
      onOversized: (index, head) => intake.addOversized(sourceProductIdIn(head.toString()), index + 1),
    });
  }

  write(chunk: Buffer): void {
    parseOrRefuse(() => this.cutter.write(chunk), this.origin);
  }

  end(): void {
    parseOrRefuse(
      () => this.cutter.end(),
      this.origin,
      () => this.cutter.problem(),
    );
  }

  private readonly origin = (): string => {
    const { count } = this.cutter;
    if (this.cutter.isWithin) return `, in product ${count + 1}`;
    return count === 0 ? '' : `, after product ${count}`;
  };
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/** The `sourceProductId` in the beginning of a product, if it is there. */
export function sourceProductIdIn(head: string): string | undefined {
  let depth = 0;
  let member = '';
  let before = '';
  for (const [token] of head.matchAll(TOKEN)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && token === ':') member = before;
    else if (depth === 1 && before === ':' && member === '"sourceProductId"') {
      return token.startsWith('"') ? parsedString(token) : /^\d+$/.exec(token)?.[0];
    }
    before = token;
  }
  return undefined;
}

function parsedString(token: string): string | undefined {
  try {
    return JSON.parse(token) as string;
  } catch {
    return undefined;
  }
}

/** Larger elements are parsed here, as a stream. Only odd spelling makes less than 256 KB of JSON this large. */
const MAX_ELEMENT = 1024 * 1024;

/**
 * Cuts products out of XML, `products/product` (Document 1, XML body shape) or the items of a Google Merchant feed;
 * parses what cannot be cut. Raises `PF_210`.
 */
export class XmlBody {
  private readonly cutter: XmlCutter;
  private readonly frame: XmlProducts;
  private count = 0;
  private hasPrefixes = false;

  constructor(
    intake: ProductIntake,
    private readonly written: WrittenElements = { format: 'xml', prefixes: [] },
  ) {
    intake.written = written;
    this.frame = xmlProducts(written, {
      onProduct: (product) => intake.addParsed(product, (this.count += 1)),
      onOversized: (sourceProductId) => {
        intake.addOversized(sourceProductId, (this.count += 1));
      },
      onUnread: (path) => intake.ignored.add(path, 0, undefined),
    });
    this.cutter = new XmlCutter({
      depth: this.frame.itemDepth - 1,
      maxElement: MAX_ELEMENT,
      onFrame: (bytes) => this.surrounding(bytes),
      onElement: (bytes) => {
        if (!this.frame.isProduct(bytes)) {
          this.surrounding(bytes);
          return;
        }
        if (!this.hasPrefixes) intake.written = { ...written, prefixes: this.frame.prefixes };
        this.hasPrefixes = true;
        intake.addBytes(bytes, (this.count += 1));
      },
    });
  }

  write(chunk: Buffer): void {
    this.cutter.write(chunk);
  }

  /** Without items, a Google Merchant feed would empty the feed that it replaces: that is refused. */
  end(): void {
    this.cutter.end();
    this.frame.end(this.origin());
    const { written } = this;
    if (written.format === 'xml' || this.count > 0) return;
    const { path, item } = MERCHANT_ROOTS[written.root];
    throw fault.noParsableContent(`expected at least one ${[...path, item].join('/')}`);
  }

  private surrounding(bytes: Buffer): void {
    if (this.frame.isBetween && isBlank(bytes)) return;
    this.frame.countFromHere();
    this.frame.write(bytes, this.origin());
  }

  private origin(): string {
    return this.count === 0 ? '' : ` after ${elementName(this.written)} ${this.count}`;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}
