import { type KeyTable } from './keys';
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
    .map((key) => ({ ...key, meant: meantBy(key.name, spellings) }));
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

/** The key whose name is the same but for dashes and underscores, or the closest of those that are close enough. */
function meantBy(sent: string, spellings: ReadonlyMap<string, string>): string | undefined {
  const plain = sent.replace(/[_-]/g, '');
  const close = [...spellings, ['pretty', 'pretty'] as const]
    .map(([spelling, name]) => ({ name, distance: editDistance(plain, spelling), most: mostEdits(spelling) }))
    .filter(({ distance, most }) => distance <= most)
    .sort((a, b) => a.distance - b.distance);
  return close[0]?.name;
}

/** How many edits a misspelling of a name may have: short names differ by as many from each other. */
function mostEdits({ length }: string): number {
  return length < 4 ? 0 : length < 8 ? 1 : 2;
}

/** Letters inserted, removed, replaced, or swapped with their neighbour, that make one text of the other. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let twoBefore: readonly number[] = [];
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const edits = [
        (before[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (before[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (twoBefore[j - 2] ?? 0) + 1 : Infinity,
      ];
      row.push(Math.min(...edits));
    }
    twoBefore = before;
    before = row;
  }
  return before[b.length] ?? Infinity;
}
