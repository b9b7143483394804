import { type SqlValue } from './store-file';

/** A piece of SQL with the values of its parameters, in order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** Composes SQL: `Sql` parts become part of the text, other values parameters. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Sql | SqlValue)[]): Sql {
  let text = strings[0] ?? '';
  const values: SqlValue[] = [];
  parts.forEach((part, index) => {
    if (isSql(part)) {
      text += part.text;
      values.push(...part.values);
    } else {
      text += '?';
      values.push(part);
    }
    text += strings[index + 1] ?? '';
  });
  return { text, values };
}

/** Text without parameters. Never pass user input. */
export function raw(text: string): Sql {
  return { text, values: [] };
}

export function join(parts: readonly Sql[], separator: string): Sql {
  return {
    text: parts.map(({ text }) => text).join(separator),
    values: parts.flatMap(({ values }) => values),
  };
}

/** Terms joined by an operator, as a balanced tree: SQLite limits the depth of expressions. */
export function chain(terms: readonly Sql[], operator: 'AND' | 'OR' | '+'): Sql {
  const [first] = terms;
  if (first === undefined || terms.length === 1) return sql`(${first ?? raw('')})`;
  const half = Math.ceil(terms.length / 2);
  return sql`(${chain(terms.slice(0, half), operator)} ${raw(operator)} ${chain(terms.slice(half), operator)})`;
}

/** Queries may stop at one row in so many: a power of two. */
const STOP_EVERY = 256;

/** A condition that is always true, and lets a `QueryClock` stop the query. `row`: a column of row numbers. */
export function stoppable(row: string): Sql {
  return raw(`((${row} & ${STOP_EVERY - 1}) <> 0 OR in_time())`);
}

function isSql(part: Sql | SqlValue): part is Sql {
  return typeof part === 'object' && part !== null && 'text' in part;
}
