import { type MakeFault } from '../../kernel/fault';
import { type KeyProblem, type KeyType } from './types';
import { type RequestTarget } from './request-target';

/** One key of a service, as in its document's table. */
export interface KeySpec<T = unknown> {
  /** For OpenAPI. */
  readonly description?: string;
  readonly type: KeyType<T>;
  /** Takes several values: repeated, or separated by commas. */
  readonly multiple?: true;
  readonly required?: true;
  /** Described as required, and required by the operation itself, unless a setting makes it optional. */
  readonly requiredByDefault?: true;
  /** Other spellings; keys are compared without case anyway. */
  readonly aliases?: readonly string[];
  /** Has no effect on JSON, or replaces it: OpenAPI describes it with the other formats only (`docs/decisions.md#x36`). */
  readonly beyondJson?: true;
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
 * The result of `readKeys`: lists for Multiple keys (empty when absent), otherwise a value or undefined.
 */
export type Keys<Table extends KeyTable> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

/** The faults of a service, by problem. */
export type KeyFaults = Readonly<Record<KeyProblem, MakeFault>>;

/** Limit of the values of one key. */
const MAX_VALUES = 1000;

/**
 * The keys of a request by a service's table, from path and query (`docs/decisions.md#a2`, `docs/decisions.md#a3`):
 * unknown ones are ignored, empty ones absent. Raises the fault of the first one that is missing or unusable; it names the key,
 * the value and what is expected.
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
  const { type } = spec;
  const spellings = [name, ...(spec.aliases ?? [])].map((spelling) => spelling.toLowerCase());
  const sent = [...target.matrix, ...target.query].filter((key) => spellings.includes(key.name));
  const refuse = (problem: KeyProblem, value: string, accepts = type.expectedOf?.(value) ?? type.expected) =>
    faults[problem](`${name}=${value}: expected ${accepts}`);

  const texts = sent.flatMap((key) => {
    const text = key.value ?? (type.takesAll ? key.sent : undefined);
    if (text === undefined) throw refuse('unusable', key.sent, 'a percent-encoded UTF-8 text');
    return spec.multiple ? listed(text) : [text];
  });
  if (spec.required && texts.length === 0)
    throw faults.missing(`${name} is missing: ${target.path};${name}=…`);
  if (texts.length > MAX_VALUES) throw refuse('unusable', '…', `a list of at most ${MAX_VALUES}`);

  const values = texts.map((text) => {
    const value = type.read(text);
    if (value !== undefined) return value;
    const isList = spec.multiple && type.problem === 'notNumeric' && OTHER_SEPARATOR.test(text);
    throw isList
      ? refuse('notCommaSeparated', text, 'a list separated by commas')
      : refuse(type.problem, text);
  });
  if (spec.multiple) return values;
  const [first] = values;
  const other = texts.find((_, at) => values[at] !== first);
  if (other !== undefined) throw refuse('unusable', other, `one value, also found ${String(texts[0])}`);
  return first;
}

const OTHER_SEPARATOR = /^\s*\d+(?:[|;:/\s]+\d+)+\s*$/;

/** The values of a list; within a value, `%2C` and `%25` stand for a comma and a percent sign (`docs/decisions.md#a2`). */
function listed(text: string): string[] {
  return text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => part.replace(/%(25|2c)/gi, (escape) => decodeURIComponent(escape)));
}
