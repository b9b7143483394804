import { type SqlValue } from './store-file';

/** A piece of SQL with the values of its parameters, in order. */
export interface Sql {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/** Puts pieces together: `sql` pieces become part of the text, anything else a parameter. */
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

/** Text without parameters: names that are ours. */
export function raw(text: string): Sql {
  return { text, values: [] };
}

export function join(parts: readonly Sql[], separator: string): Sql {
  return {
    text: parts.map(({ text }) => text).join(separator),
    values: parts.flatMap(({ values }) => values),
  };
}

/** One or more terms with an operator between them, in halves: SQLite takes expressions of limited depth only. */
export function chain(terms: readonly Sql[], operator: 'AND' | 'OR' | '+'): Sql {
  const [first] = terms;
  if (first === undefined || terms.length === 1) return sql`(${first ?? raw('')})`;
  const half = Math.ceil(terms.length / 2);
  return sql`(${chain(terms.slice(0, half), operator)} ${raw(operator)} ${chain(terms.slice(half), operator)})`;
}

function isSql(part: Sql | SqlValue): part is Sql {
  return typeof part === 'object' && part !== null && 'text' in part;
}
