import { type KeyTable } from './keys';
import { meantBy } from '../record/misspelling';
import { type RequestTarget, type SentKey } from './request-target';

/** A sent key that an operation does not have. */
export interface UnknownKey extends SentKey {
  /** The operation's key that it seems to be a misspelling of. */
  readonly meant: string | undefined;
}

/** Names without a meaning of their own, which clients, browsers and trackers append (`docs/decisions.md#a14`). */
const MEANINGLESS = /^(_|utm_\w+|gclid|fbclid|msclkid)$/;

/** Read by the shared HTTP code, beside the keys of an operation. */
const OF_ALL = ['pretty', 'token', 'jsonp'];

/** The keys of path and query that are not in a table, in the order they were sent; those without a value last. */
export function unknownKeys(table: KeyTable, { matrix, query, bare }: RequestTarget): readonly UnknownKey[] {
  const spellings = spellingsOf(table);
  // jQuery sends `callback` where it was not told that the name is `jsonp`.
  const isCalled = query.some(({ name }) => name === 'jsonp');
  return [...matrix, ...query, ...bare.map((name) => ({ name, value: '', sent: '' }))]
    .filter(({ name }) => !spellings.has(name) && !OF_ALL.includes(name) && !MEANINGLESS.test(name))
    .filter(({ name }) => !(isCalled && name === 'callback'))
    .map((key) => ({ ...key, meant: meantBy(key.name, [...spellings, ['pretty', 'pretty']]) }));
}

/** For a message: the key, what is unknown about it, and what is expected. */
export function describeUnknown({ name, value, sent, meant }: UnknownKey, table: KeyTable): string {
  const key = `${name}=${(value ?? sent).slice(0, 100)}`;
  const expected = `xpected one of: ${[...Object.keys(table), 'pretty'].join(', ')}`;
  return meant === undefined
    ? `${key}: unknown key; e${expected}`
    : `${key}: unknown key; did you mean ${meant}? E${expected}`;
}

const cached = new WeakMap<KeyTable, ReadonlyMap<string, string>>();

/** The name of each key by its spellings, in lower case. */
function spellingsOf(table: KeyTable): ReadonlyMap<string, string> {
  let spellings = cached.get(table);
  if (spellings === undefined) {
    const names = Object.entries(table).flatMap(([name, { aliases = [] }]) =>
      [name, ...aliases].map((spelling) => [spelling.toLowerCase(), name] as const),
    );
    spellings = new Map(names);
    cached.set(table, spellings);
  }
  return spellings;
}
