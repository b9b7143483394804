import { type QueryOptions } from '../kernel/query';
import { type Format } from '../wire/format';
import { type View } from './view';

/** How a request wants a list, and what its queries are to be made with. */
export interface ListRequest {
  readonly view: View;
  readonly query: QueryOptions;
}

/** A list that has been found. */
export interface Listed {
  readonly headers?: Readonly<Record<string, string>>;
  /** The body in pieces, none of them long: each is read and written when it is asked for. */
  readonly pieces: AsyncIterable<Iterable<string>>;
}

/**
 * What a handler returns that answers with documents from the read store. `begin` is called when it is the client's
 * turn (`docs/decisions.md#x70`), and may raise what any handler may.
 */
export class ListAnswer {
  constructor(
    readonly begin: (request: ListRequest) => Promise<Listed>,
    readonly details: {
      /** The format that a key asked for; it wins over all else. */
      readonly format?: Format | undefined;
    } = {},
  ) {}
}
