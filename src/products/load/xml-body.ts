import { XmlCutter } from '../../wire/xml-cut';
import { productFaults as fault } from '../faults';
import { asFault, type BodyReader } from './body';
import { ProductXml } from './product-xml';
import { type Receiver } from './receiver';

/** Bytes that a product may have to be read by itself: more than 256 KB of JSON become without being spelt oddly. */
const MAX_ELEMENT = 1024 * 1024;

/**
 * A body `products/product` (Document 1, XML body shape). Its products are cut out and given on as the bytes that
 * they are; what is left is read here, and with it a product that has too many bytes.
 */
export class XmlBody implements BodyReader {
  private readonly cutter: XmlCutter;
  private readonly frame: ProductXml;
  /** Products so far. */
  private count = 0;
  private hasPrefixes = false;
  private pending: Promise<void> | undefined;

  constructor(receiver: Receiver) {
    this.frame = new ProductXml({
      take: (product) => {
        this.count += 1;
        this.pending = receiver.take(product, this.count) ?? this.pending;
      },
      oversized: (sourceProductId) => {
        this.count += 1;
        receiver.oversized(sourceProductId);
      },
    });
    this.cutter = new XmlCutter({
      maxElement: MAX_ELEMENT,
      onFrame: (bytes) => this.readFrame(bytes),
      onElement: (bytes) => {
        if (!this.frame.isBetween)
          throw fault.noParsableContent('the body cannot be read: its elements overlap');
        if (!this.hasPrefixes) receiver.prefixes = this.frame.prefixes;
        this.hasPrefixes = true;
        this.count += 1;
        this.pending = receiver.posted(bytes, this.count) ?? this.pending;
      },
    });
  }

  write(chunk: Buffer): Promise<void> | undefined {
    this.cutter.write(chunk);
    const { pending } = this;
    this.pending = undefined;
    return pending;
  }

  end(): void {
    this.cutter.end();
    this.reading(() => this.frame.end());
  }

  private readFrame(bytes: Buffer): void {
    if (this.frame.isBetween && isBlank(bytes)) return;
    this.frame.countFromHere();
    this.reading(() => this.frame.write(bytes));
  }

  private reading(parse: () => void): void {
    asFault(parse, this.count === 0 ? '' : ` after product ${this.count}`);
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}
