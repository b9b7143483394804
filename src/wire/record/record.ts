import { type MakeFault } from '../../kernel/fault';
import { type Place, type Problem, type Refusals } from '../api/posted';
import { type SimpleType } from '../xml/xsd';

/**
 * A record is described once, as a table of fields. The table drives reading and checking a post (`read.ts`,
 * `document.ts`), XML schemas (`document.ts`), OpenAPI (`wire/api/openapi.ts`), examples, and writing an answer.
 */
export interface RecordKind<F extends Fields = Fields> {
  readonly is: 'record';
  readonly fields: F;
  /** Its name in OpenAPI and in XML schemas; a record that contains itself needs one. */
  readonly name?: string;
  /** What it is, for messages: `an object with a url`. */
  readonly expected?: string;
  /** A post that sets none of its fields is read as if it had no record. */
  readonly isNoneIfEmpty?: true;
  /** If a required field is missing, the message names one that is not known, whatever it is called. */
  readonly namesUnknown?: true;
  /** An answer may have further fields. */
  readonly isOpen?: true;
}

export type Fields = Readonly<Record<string, Field>>;

export interface Field<K extends Kind = Kind> {
  readonly kind: K;
  readonly description: string;
  /** A post must set it; the other fields of a post are optional. */
  readonly required?: true;
  /** The fault of a post that does not set it, if it is not the service's for all missing fields. */
  readonly missing?: MakeFault;
  /** An answer may lack it; the other fields of an answer are always there. */
  readonly optional?: true;
  /** The value of a post that does not set it. */
  readonly otherwise?: unknown;
  /** A value that may be posted or answered, or a function of the present that returns it. */
  readonly example?: unknown;
  /**
   * Where it is in XML: in an element unless it is an attribute of the record's element, the text of that element, or
   * its content, without an element of its own.
   */
  readonly in?: 'attribute' | 'text' | 'content';
  /**
   * Restricts who sees what is posted: whatever looks like it and cannot be read is refused, not ignored. Other names
   * that clients give it.
   */
  readonly restricts?: readonly string[];
  /** Prefix of the namespace that its element is in; an imported schema describes it. */
  readonly prefix?: string;
}

export type Direction = 'posted' | 'answered';

/** Whether every post, or every answer, has the field. */
export function isAlways({ required, optional }: Field, direction: Direction): boolean {
  return direction === 'posted' ? required === true : optional !== true;
}

export type Kind = Scalar<unknown, never> | List | RecordKind;

/** `Posted` is the value that a post is read to, `Answered` the value that an answer is written from. */
export interface Scalar<Posted, Answered> {
  readonly is: 'scalar';
  readonly posted: ValueForm & {
    readonly read: ReadScalar<Posted>;
    /** In XML the white space around a value belongs to it (`docs/decisions.md#x3`). */
    readonly isText?: true;
    /** It is a text, but in XML the white space at its ends does not belong to it (`docs/decisions.md#a11`). */
    readonly isId?: true;
  };
  /** The text of an answer in XML and CSV. */
  readonly answered: ValueForm & { readonly write: (value: Answered) => string | number };
}

/** Reads a value that is set; refuses an unusable one and returns undefined. */
export type ReadScalar<T> = (value: unknown, place: Place, refusals: Refusals) => T | undefined;

/** How a value looks in one direction. */
interface ValueForm {
  readonly json: JsonSchema;
  readonly xsd: string | NamedType;
  /** Follows the description of each field of this kind. */
  readonly note?: string;
  /** A value of this kind, or a function of the present that returns one, where a schema does not suggest any. */
  readonly example?: unknown;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A simple type that becomes part of the XML schemas that use it. */
export type NamedType = SimpleType & { readonly name: string };

export interface List<K extends Kind = Kind> extends ListOptions {
  readonly is: 'list';
  /** Called late: a record may contain itself. */
  readonly of: () => K;
}

interface ListOptions {
  /** Element of each item in XML. */
  readonly each: string;
  /** Items that an answer has at least. */
  readonly least?: number;
  /** Items it may have. */
  readonly most?: number;
  /** A post that has none is read as if it had no list. */
  readonly isNoneIfEmpty?: true;
  /** An empty text is an item, not an absent one. */
  readonly hasEmptyItems?: true;
  /** What the items are, for messages: `integers`. */
  readonly items?: string;
}

/** The values of a kind that meet a condition as well. */
export function only<Posted, Answered, Narrow extends Posted>(
  kind: Scalar<Posted, Answered>,
  isMet: (value: Posted) => value is Narrow,
  expected: string,
  problem?: Problem,
): Scalar<Narrow, Narrow>;
export function only<Posted, Answered>(
  kind: Scalar<Posted, Answered>,
  isMet: (value: Posted) => boolean,
  expected: string,
  problem?: Problem,
): Scalar<Posted, Answered>;
export function only<Posted, Answered>(
  { posted, answered }: Scalar<Posted, Answered>,
  isMet: (value: Posted) => boolean,
  expected: string,
  problem: Problem = 'unusable',
): Scalar<Posted, Answered> {
  return {
    is: 'scalar',
    posted: {
      ...posted,
      read: (value, place, refusals) => {
        const found = posted.read(value, place, refusals);
        if (found === undefined || isMet(found)) return found;
        refusals.wrong(place, value, expected, problem);
        return undefined;
      },
    },
    answered,
  };
}

/** Reads what a function makes of a value, and refuses a value that it makes nothing of. */
export function reading<T>(
  valueIn: (value: unknown) => T | undefined,
  expected: string | ((value: unknown) => string),
  problem: Problem | ((value: unknown) => Problem) = 'unusable',
): ReadScalar<T> {
  return (value, place, refusals) => {
    const found = valueIn(value);
    if (found === undefined) refusals.wrong(place, value, ofValue(expected, value), ofValue(problem, value));
    return found;
  };
}

function ofValue<T extends string>(given: T | ((value: unknown) => T), value: unknown): T {
  return typeof given === 'function' ? given(value) : given;
}

export function listOf<K extends Kind>(of: K | (() => K), options: ListOptions): List<K> {
  return { is: 'list', of: typeof of === 'function' ? of : () => of, ...options };
}

export function record<const F extends Fields>(
  fields: F,
  options: Omit<RecordKind, 'is' | 'fields'> = {},
): RecordKind<F> {
  return { is: 'record', fields, ...options };
}

/** A kind of which an answer may have null. */
export function nullable<Posted, Answered>({
  posted,
  answered,
}: Scalar<Posted, Answered>): Scalar<Posted, Answered> {
  const { json } = answered;
  const words = Array.isArray(json.enum) ? { enum: [...(json.enum as readonly unknown[]), null] } : {};
  const orNull = { ...json, type: [json.type, 'null'], ...words };
  return { is: 'scalar', posted, answered: { ...answered, json: orNull } };
}

/** The same fields as elements of another namespace. */
export function prefixed<F extends Fields>(prefix: string, fields: F): F {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...field, prefix }]),
  ) as unknown as F;
}

/** The same fields, of which an answer may have any. */
export function optional<F extends Fields>(fields: F): Optional<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, { ...field, optional: true }]),
  ) as unknown as Optional<F>;
}

type Optional<F extends Fields> = { readonly [Name in keyof F]: F[Name] & { readonly optional: true } };

export function pick<F extends Fields, Name extends keyof F>(
  fields: F,
  names: readonly Name[],
): Pick<F, NoInfer<Name>> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<F, Name>;
}

/** The value that a post of this kind is read to. */
export type PostedOf<K> =
  K extends Scalar<infer Posted, never>
    ? Posted
    : K extends List<infer Item>
      ? readonly PostedOf<Item>[]
      : K extends RecordKind<infer F>
        ? PostedRecord<F>
        : never;

type PostedRecord<F extends Fields> = { readonly [Name in Given<F>]: PostedOf<F[Name]['kind']> } & {
  readonly [Name in Exclude<keyof F, Given<F>>]?: PostedOf<F[Name]['kind']>;
};

type Given<F extends Fields> = FieldsWith<F, 'required'> | FieldsWith<F, 'otherwise'>;

/** The value that an answer of this kind is written from. */
export type AnswerOf<K> =
  K extends Scalar<unknown, infer Answered>
    ? Answered
    : K extends List<infer Item>
      ? readonly AnswerOf<Item>[]
      : K extends RecordKind<infer F>
        ? AnsweredRecord<F>
        : never;

type AnsweredRecord<F extends Fields> = {
  readonly [Name in Exclude<keyof F, FieldsWith<F, 'optional'>>]: AnswerOf<F[Name]['kind']>;
} & { readonly [Name in FieldsWith<F, 'optional'>]?: AnswerOf<F[Name]['kind']> };

type FieldsWith<F extends Fields, Mark extends keyof Field> = {
  [Name in keyof F]: F[Name] extends Readonly<Record<Mark, Required<Field>[Mark]>> ? Name : never;
}[keyof F];
