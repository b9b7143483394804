import { type QueryOptions } from '../kernel/query';
import { type Answer } from './answer';

/**
 * Returned by a handler that reads an answer of bounded size as a whole. `begin` is called when `ReadQueue` admits the request
 * (`docs/decisions.md#x70`), with the options of its queries, and may raise what a handler may. What has no bound is a
 * `ListAnswer`.
 */
export class QueuedAnswer {
  constructor(readonly begin: (query: QueryOptions) => Promise<Answer>) {}
}
