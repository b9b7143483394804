import { type Format } from '../wire/api/format';
import { type Representation } from './representation';

/** How a request wants a streamed answer. */
export interface StreamRequest {
  readonly view: Representation;
  /** The body will be compressed. */
  readonly gzip: boolean;
  readonly ifNoneMatch: string | undefined;
  /** HEAD: there will be no body. */
  readonly headOnly: boolean;
}

/** Status, headers and body of an answer. */
export interface Streamed {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  /** Read at the client's pace, and returned early when it disconnects. Absent for 304 and HEAD. */
  readonly body?: AsyncIterable<Uint8Array>;
  /** Called when the body was sent, or the client has disconnected. */
  readonly ended?: () => void;
}

export interface StreamDetails {
  /** The format that a key asked for; it overrides negotiation. */
  readonly format?: Format | undefined;
  /** Compress it even if the client does not accept that. */
  readonly gzip?: boolean;
  /** Bytes a second, before they are compressed, below which a client is disconnected. */
  readonly leastRate: number;
}

/** Returned by a handler whose answer is sent while it is being produced. `begin` may raise what a handler may. */
export class StreamedAnswer {
  constructor(
    readonly begin: (request: StreamRequest) => Promise<Streamed>,
    readonly details: StreamDetails,
  ) {}
}
