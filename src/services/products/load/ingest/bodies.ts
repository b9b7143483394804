import { JsonCutter } from '../../../../wire/json/cut';
import { XmlCutter } from '../../../../wire/xml/cut';
import { productFaults as fault } from '../../../../domain/products/faults';
import { MAX_PRODUCT, parseOrRefuse } from './load-faults';
import { type ProductIntake } from './product-intake';
import { ProductXml } from './product-xml';

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

/** Cuts products out of `products/product` (Document 1, XML body shape); parses what cannot be cut. Raises `PF_210`. */
export class XmlBody {
  private readonly cutter: XmlCutter;
  private readonly frame: ProductXml;
  private count = 0;

  constructor(intake: ProductIntake) {
    this.frame = new ProductXml({
      onProduct: (product) => intake.addParsed(product, (this.count += 1)),
      onOversized: (sourceProductId) => {
        intake.addOversized(sourceProductId, (this.count += 1));
      },
      onUnread: (path) => intake.ignored.add(path, 0, undefined),
    });
    this.cutter = new XmlCutter({
      maxElement: MAX_ELEMENT,
      onFrame: (bytes) => {
        if (this.frame.isBetween && isBlank(bytes)) return;
        this.frame.countFromHere();
        this.frame.write(bytes, this.origin());
      },
      onElement: (bytes) => {
        if (!this.frame.isBetween)
          throw fault.noParsableContent('the body cannot be parsed: its elements overlap');
        intake.prefixes ??= this.frame.prefixes;
        intake.addBytes(bytes, (this.count += 1));
      },
    });
  }

  write(chunk: Buffer): void {
    this.cutter.write(chunk);
  }

  end(): void {
    this.cutter.end();
    this.frame.end(this.origin());
  }

  private origin(): string {
    return this.count === 0 ? '' : ` after product ${this.count}`;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09);
}
