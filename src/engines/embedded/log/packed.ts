import { type NewEvent } from '../../../kernel/event';
import { checkAppend } from '../../check-append';

/** Texts of one event in `PackedAppend.texts`: id, type, data, meta. */
export const TEXTS = 4;

/** A validated append, in the form that is fastest to send to another thread and to insert. */
export interface PackedAppend {
  readonly stream: string;
  readonly expected: number;
  /** The texts of all events, concatenated. */
  readonly texts: readonly string[];
  /** Their size, as counted by `APPEND_LIMITS`. */
  readonly bytes: number;
}

/** Validates an append and packs it. Raises `UnacceptableAppend`. */
export function pack(stream: string, expected: number, events: readonly NewEvent[]): PackedAppend {
  const bytes = checkAppend(stream, expected, events);
  const texts: string[] = [];
  for (const { id, type, data, meta } of events) texts.push(id, type, data, meta);
  return { stream, expected, texts, bytes };
}
