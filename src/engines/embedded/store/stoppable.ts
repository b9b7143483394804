import { raw, type Sql } from './sql';

/** One row in so many is a moment to stop at: a power of two. */
const EVERY = 256;

/** A condition that holds for every row, and lets a `QueryClock` stop the query. `row`: a column of row numbers. */
export function stoppable(row: string): Sql {
  return raw(`((${row} & ${EVERY - 1}) <> 0 OR in_time())`);
}
