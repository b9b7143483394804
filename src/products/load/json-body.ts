import { JsonCutter } from '../../wire/json-cut';
import { asFault, type BodyReader } from './body';
import { type Receiver } from './receiver';
import { MAX_PRODUCT } from './product-xml';

/** Objects and lists within a product, the product itself counted. */
const MAX_DEPTH = 32;

/** A body `{"products":[…]}` (Document 1, JSON body shape). */
export class JsonBody implements BodyReader {
  private readonly cutter: JsonCutter;
  private pending: Promise<void> | undefined;

  constructor(receiver: Receiver) {
    this.cutter = new JsonCutter({
      key: 'products',
      maxElement: MAX_PRODUCT,
      maxDepth: MAX_DEPTH,
      onElement: (bytes, index) => {
        this.pending = receiver.posted(bytes, index + 1) ?? this.pending;
      },
      onOversized: (_, head) => {
        receiver.oversized(sourceProductIdIn(head.toString()));
      },
    });
  }

  write(chunk: Buffer): Promise<void> | undefined {
    asFault(() => this.cutter.write(chunk));
    const { pending } = this;
    this.pending = undefined;
    return pending;
  }

  end(): void {
    asFault(() => this.cutter.end());
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/** The `sourceProductId` of a product of which only the beginning is there, if that has it. */
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
