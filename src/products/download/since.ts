import { type Position } from '../../kernel/event';
import { type KeyType } from '../../wire/key-types';
import { readDate } from '../../wire/date';

/**
 * Where a copy of a feed stands (`docs/decisions.md#p28`): a date, in epoch ms; or a position of the log and a digest of
 * the joined facts that the copy was made with.
 */
export type Since = { readonly date: number } | { readonly position: Position; readonly facts: string };

const NEXT = /^(\d{19})-([\da-f]{12})$/;

/** The value of `X-Next-Since`: never digits only, so that it is no date. */
export function nextSince({ position, facts }: Extract<Since, { readonly position: Position }>): string {
  return `${position}-${facts}`;
}

export const SINCE: KeyType<Since> = {
  expected:
    'the value of an X-Next-Since, milliseconds since 1970, or an ISO 8601 date or date-time with zone',
  problem: 'unusable',
  read: (text) => {
    const [, position, facts] = NEXT.exec(text.trim()) ?? [];
    if (position !== undefined && facts !== undefined) return { position, facts };
    // A + that was sent as it is has become a space (`docs/decisions.md#a2`).
    const date = readDate(text.trim().replace(/ (?=\d\d:?(\d\d)?$)/, '+'));
    return date === undefined ? undefined : { date };
  },
};

/** How far (ms) a copy may be behind what has happened, and clocks may differ (`docs/decisions.md#x51`). */
const LAG = 60_000;
const CLOCKS = 60_000;

/** By how much (ms) what says that it happened before a date has surely been seen by a copy that was made then. */
export const BEHIND = LAG + CLOCKS;

/** Something that happened: where, and when as it says itself (ISO 8601). */
export interface Seeable {
  readonly position: Position;
  readonly at: string;
}

/** Whether a copy has surely seen an event; one of about that date is sent again rather than left out. */
export function hasSeen(since: Since, event: Seeable): boolean {
  return 'date' in since ? Date.parse(event.at) < since.date - BEHIND : event.position <= since.position;
}
