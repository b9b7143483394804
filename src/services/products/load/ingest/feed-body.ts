import { JsonBody, type ProductIntake, XmlBody } from './product-intake';

/** What a body of products is; `any` is recognised by its first character. */
export type FeedFormat = 'json' | 'xml' | 'any';

/** Takes the bytes of a body as they come in. Raises `PF_210` for a malformed one. */
export interface FeedBody {
  write(chunk: Buffer): void;
  end(): void;
}

/** The products of a body in this format go to `intake`. */
export function feedBody(format: FeedFormat, intake: ProductIntake): FeedBody {
  switch (format) {
    case 'json':
      return new JsonBody(intake);
    case 'xml':
      return new XmlBody(intake);
    case 'any':
      return new AnyBody(intake);
  }
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const SPACES = [0x20, 0x09, 0x0a, 0x0d];
const LESS = 0x3c;

/** A body whose format is recognised by its first character. */
class AnyBody implements FeedBody {
  private body: FeedBody | undefined;

  constructor(private readonly intake: ProductIntake) {}

  write(chunk: Buffer): void {
    this.body ??= this.recognised(chunk);
    this.body?.write(chunk);
  }

  end(): void {
    (this.body ?? feedBody('json', this.intake)).end();
  }

  /** Undefined as long as nothing but white space has arrived, which no format needs. */
  private recognised(chunk: Buffer): FeedBody | undefined {
    const first = chunk.find((byte) => !SPACES.includes(byte) && !BYTE_ORDER_MARK.includes(byte));
    return first === undefined ? undefined : feedBody(first === LESS ? 'xml' : 'json', this.intake);
  }
}
