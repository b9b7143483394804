import { hash } from 'node:crypto';
import { parsePosition, type Position } from '../../../kernel/event';
import { type Changed, type Directory } from '../../../network/directory';
import { type FeedDefinition } from '../../../network/events';
import { type Caller } from '../../../network/organisations';
import { type Program } from '../../../network/programs';
import { expectedTime } from '../../../wire/date';
import { type KeyType, timeIn } from '../../../wire/keys/keys';
import { type OutputView } from '../output';

/** What is joined to a feed's products for one caller, as of one moment; the categories are not among it. */
export interface JoinedFacts {
  readonly feed: FeedDefinition | undefined;
  readonly program: Program | undefined;
  readonly currency: string | undefined;
  readonly siteId: number | undefined;
}

export function joinedFacts(directory: Directory, caller: Caller, feedId: number): JoinedFacts {
  const feed = directory.feed(feedId);
  return {
    feed,
    program: feed && directory.programOf(caller, feed),
    currency: feed && directory.currencyOf(feed),
    siteId: feed && directory.siteFor(caller, feed),
  };
}

/** The same for the same output. */
export function digestOf(
  { feed, program, currency, siteId }: JoinedFacts,
  { kind }: Caller,
  trackerUrl: string,
): string {
  const facts = [feed?.language, currency, siteId, program?.id, program?.name, program?.logoUrl];
  return digest([kind, ...facts, trackerUrl]).slice(0, 12);
}

/** The directory as output needs it: these facts, and the categories as they are now. */
export function viewOf(facts: JoinedFacts, directory: Directory): OutputView['directory'] {
  const categories = new Map([...directory.categories.all()].map((category) => [category.id, category]));
  return {
    feed: () => facts.feed,
    programOf: () => facts.program,
    currencyOf: () => facts.currency,
    siteFor: () => facts.siteId,
    category: (id) => categories.get(id),
  };
}

export function digest(parts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32);
}

/** Where a copy of a feed stands (`docs/decisions.md#p28`): a date (epoch ms), or a log position and joined facts. */
export type Since = { readonly date: number } | { readonly position: Position; readonly facts: string };

const NEXT = /^(\d+)-([\da-f]{12})$/;

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
    const [, sent = '', facts] = NEXT.exec(text.trim()) ?? [];
    const position = parsePosition(sent);
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
