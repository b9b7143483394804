import { type Changed } from '../../../network/last-changes';
import { type Position } from '../../../kernel/event';
import { expectedTime } from '../../../wire/date';
import { type KeyType, timeIn } from '../../../wire/keys/keys';

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

const EXPECTED =
  'the value of an X-Next-Since, milliseconds since 1970, or an ISO 8601 date or date-time with zone';

export const SINCE: KeyType<Since> = {
  expected: EXPECTED,
  expectedOf: (text) => expectedTime(text, EXPECTED),
  problem: 'unusable',
  read: (text) => {
    const [, position, facts] = NEXT.exec(text.trim()) ?? [];
    if (position !== undefined && facts !== undefined) return { position, facts };
    const date = timeIn(text);
    return date === undefined ? undefined : { date };
  },
};

/** How far (ms) a copy may be behind what has happened, and clocks may differ (`docs/decisions.md#x51`). */
const LAG = 60_000;
const CLOCKS = 60_000;

/** How long (ms) before a date something must have happened by its own clock for a copy of that date to include it. */
export const BEHIND = LAG + CLOCKS;

/** Whether a copy certainly includes a change; one of about the date of the copy is sent again rather than left out. */
export function isIncluded(since: Since, { position, at }: Changed): boolean {
  return 'date' in since ? at < since.date - BEHIND : position <= since.position;
}
