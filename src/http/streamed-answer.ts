import { type Format } from '../wire/format';
import { type View } from './view';

/** How a request wants an answer that is streamed. */
export interface StreamRequest {
  readonly view: View;
  /** The body is going to be compressed. */
  readonly gzip: boolean;
  readonly ifNoneMatch: string | undefined;
  /** Nobody reads a body: HEAD. */
  readonly headOnly: boolean;
}

/** The beginning of an answer, and its body. */
export interface Streamed {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Read at the client's pace and ended early when it goes away. Absent where there is none: 304, HEAD. */
  readonly body?: AsyncIterable<Uint8Array>;
  /** Called when the client has got all, or has gone. */
  readonly ended?: () => void;
}

export interface StreamDetails {
  /** The format that a key asked for; it wins over all else. */
  readonly format?: Format | undefined;
  /** Compress it whatever the client says that it takes. */
  readonly gzip?: boolean;
  /** Bytes a second, before they are compressed, below which a client is dropped. */
  readonly leastRate: number;
}

/** What a handler returns whose answer is sent while it is being made; `begin` may raise what any handler may. */
export class StreamedAnswer {
  constructor(
    readonly begin: (request: StreamRequest) => Promise<Streamed>,
    readonly details: StreamDetails,
  ) {}
}
