import { JsonCutter } from '../../../../wire/json/cut';
import { MAX_PRODUCT, parseOrRefuse } from './load-faults';
import { type ProductIntake } from './product-intake';

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
