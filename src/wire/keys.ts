import { type Fault } from '../kernel/fault';
import { type KeyProblem, type KeyType } from './key-types';
import { type RequestTarget, type SentKey } from './request-target';

/** One key of a service, as its document's table describes it. */
export interface KeySpec<T = unknown> {
  /** What it does, for readers of the interface's description. */
  readonly description?: string;
  readonly type: KeyType<T>;
  /** Takes several values: repeated, or separated by commas. */
  readonly multiple?: true;
  readonly required?: true;
  /** Further spellings; case makes no difference anyway. */
  readonly aliases?: readonly string[];
  /** Also taken from after `?` (`docs/decisions.md#a3`). */
  readonly inQuery?: true;
}

export type KeyTable = Readonly<Record<string, KeySpec>>;

type ValueOf<Spec> = Spec extends { readonly type: KeyType<infer T> }
  ? Spec extends { readonly multiple: true }
    ? readonly T[]
    : Spec extends { readonly required: true }
      ? T
      : T | undefined
  : never;

/**
 * What `readKeys` gives for a table: lists for Multiple keys (empty when absent), else a value or undefined.
 */
export type Keys<Table extends KeyTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

/** Which of a service's faults tells of which problem. */
export type KeyFaults = Readonly<Record<KeyProblem, (message: string) => Fault>>;

/** Values that one key may have. */
const MAX_VALUES = 1000;

/**
 * The keys of a request by a service's table (`docs/decisions.md#a2`): unknown ones are ignored, empty ones
 * absent. Raises the fault of the first one that is missing or unusable; it names the key, the value and what
 * is accepted.
 */
export function readKeys<const Table extends KeyTable>(
  table: Table,
  target: RequestTarget,
  faults: KeyFaults,
): Keys<Table> {
  const read = Object.entries(table).map(([name, spec]) => [name, readKey(name, spec, target, faults)]);
  return Object.fromEntries(read) as Keys<Table>;
}

function readKey(name: string, spec: KeySpec, target: RequestTarget, faults: KeyFaults): unknown {
  const spellings = [name, ...(spec.aliases ?? [])].map((spelling) => spelling.toLowerCase());
  const named = (key: SentKey) => spellings.includes(key.name);
  const sent = target.matrix.filter(named);
  if (spec.inQuery) sent.push(...target.query.filter(named));
  const refuse = (problem: KeyProblem, value: string, accepts = spec.type.expected) =>
    faults[problem](`${name}=${value}: expected ${accepts}`);

  const texts = sent.flatMap((key) => {
    const text = key.value ?? (spec.type.takesAll ? key.sent : undefined);
    if (text === undefined) throw refuse('unusable', key.sent, 'a percent-encoded UTF-8 text');
    return spec.multiple ? listed(text) : [text];
  });
  if (spec.required && texts.length === 0) throw faults.missing(missing(name, target, named));
  if (texts.length > MAX_VALUES) throw refuse('unusable', '…', `a list of at most ${MAX_VALUES}`);

  const values = texts.map((text) => {
    const value = spec.type.read(text);
    if (value !== undefined) return value;
    const isList = spec.multiple && spec.type.problem === 'notNumeric' && OTHER_SEPARATOR.test(text);
    throw isList
      ? refuse('notCommaSeparated', text, 'a list separated by commas')
      : refuse(spec.type.problem, text);
  });
  if (spec.multiple) return values;
  const [first] = values;
  const other = texts.find((_, at) => values[at] !== first);
  if (other !== undefined) throw refuse('unusable', other, `one value, and ${String(texts[0])} is given too`);
  return first;
}

const OTHER_SEPARATOR = /^\s*\d+(?:[|;:/\s]+\d+)+\s*$/;

/** The values of a list; `%2C` that is left after decoding is a comma inside a value. */
function listed(text: string): string[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => part.replace(/%2c/gi, ','));
}

function missing(name: string, target: RequestTarget, named: (key: SentKey) => boolean): string {
  return target.query.some(named)
    ? `${name} must be a matrix key: ${target.path};${name}=…`
    : `${name} is missing: ${target.path};${name}=…`;
}
