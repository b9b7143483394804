import { type QueryOptions } from '../kernel/query';
import { type Format } from '../wire/api/format';
import { type Representation } from './representation';

/** How a request wants a list, and the options of its queries. */
export interface ListRequest {
  readonly view: Representation;
  readonly query: QueryOptions;
}

/** A list, found but not read yet. */
export interface Listed {
  readonly headers?: Readonly<Record<string, string>>;
  /** The body in short pieces, each read and written on demand. */
  readonly pieces: AsyncIterable<Iterable<string>>;
}

/**
 * Returned by a handler that answers with documents from the read store. `begin` is called when `ReadQueue` admits the
 * request (`docs/decisions.md#x70`), and may raise what a handler may.
 */
export class ListAnswer {
  constructor(
    readonly begin: (request: ListRequest) => Promise<Listed>,
    readonly details: {
      /** The format that a key asked for; it overrides negotiation. */
      readonly format?: Format | undefined;
    } = {},
  ) {}
}
