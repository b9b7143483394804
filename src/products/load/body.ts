import { type Receiver } from './receiver';
import { JsonBody } from './json-body';

export type BodyFormat = 'json' | 'xml';

/** Takes a body apart as its bytes come in, and gives its products to a receiver. Raises `PF_210`. */
export interface BodyReader {
  /** When a promise comes back, wait for it before giving more. */
  write(chunk: Buffer): Promise<void> | undefined;
  end(): Promise<void> | undefined;
}

export function readBody(format: BodyFormat, receiver: Receiver): BodyReader {
  return format === 'json' ? new JsonBody(receiver) : new JsonBody(receiver);
}
