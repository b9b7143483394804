/**
 * A place in the log's one total order: opaque, ordered as strings (`a < b` means a was first), the same
 * width always. Nothing may be computed with it but this order (and a number of the same order, `numberOf`).
 */
export type Position = string;

/** The position before the first event: "everything" is after it. */
export const START: Position = '0'.repeat(19);

/** A position as a number of the same order, to be a field of read models: positions are decimal and below 2^53. */
export function numberOf(position: Position): number {
  return Number(position);
}

/** The position that a number was made of. */
export function positionOf(number: number): Position {
  return String(number).padStart(START.length, '0');
}

/** The revision of a stream that has no events: its first event has revision 0. */
export const NO_STREAM = -1;

/** An event to be appended. `data` and `meta` are JSON texts of objects: an engine keeps them to the letter. */
export interface NewEvent {
  /** A UUID in lower case, chosen by the caller: the same event appended again bears the same id. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly meta: string;
}

/** An event as the log holds it. */
export interface RecordedEvent extends NewEvent {
  readonly stream: string;
  /** Its number in its stream, from 0. */
  readonly revision: number;
  readonly position: Position;
}

/** The stream of one aggregate: `feed-22`. */
export function streamOf(category: string, id: string | number): string {
  return `${category}-${id}`;
}
