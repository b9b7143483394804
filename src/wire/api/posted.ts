import { type Fault, type FaultDetails, Faults, type MakeFault } from '../../kernel/fault';

/** A posted object with any members. */
export type Posted = Readonly<Record<string, unknown>>;

/** The path of a value; computed only for messages. */
export type Place = string | (() => string);

/** Why a posted value is unusable. */
export type Problem =
  'missing' | 'repeated' | 'notNumeric' | 'notDate' | 'malformedUrl' | 'malformedPrice' | 'unusable';

/** The faults of a service for problems; those that it does not name are `unusable` to it. */
export type ProblemFaults = Readonly<Partial<Record<Problem, MakeFault>>> & { readonly unusable: MakeFault };

export function isPosted(value: unknown): value is Posted {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Absent, null and empty are all the same: not set. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** A whole number, or text of digits that is one (`docs/decisions.md#a11`); undefined for anything else. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) + 0 : undefined;
}

/** What a posted object does not show of the text that it was read from. */
export interface PostedNotes {
  /** Paths of what was not read, as `Origin.onUnknown` gets them. */
  readonly unread?: ReadonlySet<string>;
  /** Paths of fields that are there more than once. */
  readonly repeated?: ReadonlySet<string>;
  /** It has more bytes than these, and was not read at all. */
  readonly maxBytes?: number;
}

const notes = new WeakMap<Posted, PostedNotes>();

export function note(posted: Posted, noted: PostedNotes | undefined): void {
  if (noted !== undefined) notes.set(posted, noted);
}

export function notesOf(posted: Posted): PostedNotes | undefined {
  return notes.get(posted);
}

/** What is known about the text that a posted record was read from. */
export interface Origin {
  /** Called with the path of each member that the table does not name, list indexes left out: `categories.colour`. */
  readonly onUnknown?: (path: string) => void;
  /** The number at a path as it is spelt in the text, of which `JSON.parse` may have made another. */
  readonly spelling?: ((path: string) => string | undefined) | undefined;
  /** What messages call a path, if not by itself. */
  readonly named?: ((path: string) => string) | undefined;
}

const NO_ORIGIN: Origin = {};

/** Collects all faults of one posted record. */
export class Refusals {
  readonly faults: Fault[] = [];
  /** Faults beyond `most`. */
  moreFaults = 0;

  constructor(
    private readonly faultOf: ProblemFaults,
    private readonly details: FaultDetails = {},
    private readonly most = Infinity,
    readonly origin: Origin = NO_ORIGIN,
  ) {}

  get areNone(): boolean {
    return this.faults.length + this.moreFaults === 0;
  }

  /** A further fault is only counted. */
  get areFull(): boolean {
    return this.faults.length >= this.most;
  }

  refuse(problem: Problem, message: string): void {
    this.add(this.faultOf[problem] ?? this.faultOf.unusable, message);
  }

  wrong(place: Place, value: unknown, expected: string, problem: Problem = 'unusable'): void {
    // `JSON.parse` has rounded such a number.
    const isRounded = typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER);
    const sent = isRounded ? (this.origin.spelling?.(nameOf(place)) ?? String(value)) : value;
    this.refuse(problem, wrong(this.named(place), sent, expected));
  }

  /** `fault`: instead of the service's for missing fields. */
  missing(place: Place, more = '', fault = this.faultOf.missing ?? this.faultOf.unusable): void {
    this.add(fault, `${this.named(place)} must be set${more}`);
  }

  /** What messages call the value at a place. */
  named(place: Place): string {
    const path = nameOf(place);
    return this.origin.named?.(path) ?? path;
  }

  /** Adds a fault that no single value causes. */
  add(fault: MakeFault, message: string): void {
    if (this.areFull) this.moreFaults += 1;
    else this.faults.push(fault(message, this.details));
  }

  /** For values that are refused together, by one fault. */
  apart(): Refusals {
    return new Refusals(this.faultOf, {}, Infinity, this.origin);
  }

  /** Raises `Faults` if there are any; the last one counts those beyond `most`. */
  raise(): void {
    if (this.areNone) return;
    const { moreFaults: more } = this;
    const others =
      more === 0 ? [] : [this.faultOf.unusable(`${more} more faults are not listed`, this.details)];
    throw new Faults([...this.faults, ...others]);
  }
}

/** Which of two values counts, only the client knows (`docs/decisions.md#a21`). */
export function repeatedField(path: string): string {
  return `${path.slice(0, 100)} is given more than once: expected one value`;
}

/** Names the field, what was expected, and the value, truncated. */
export function wrong(place: Place, value: unknown, expected: string): string {
  const shown = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined);
  return `${nameOf(place)}: expected ${expected}, got '${(shown ?? '').slice(0, 100)}'`;
}

export function nameOf(place: Place): string {
  return typeof place === 'string' ? place : place();
}
