/**
 * The source of a feed: the file that the system fetches by itself, and replaces the feed by (ADR 60). One stream each,
 * `feedsource-22`. What a normal fetch has done is in the load report; the stream has what people ask for, and what has
 * become of it: so it stays short, and each process folds all of them (`SourceBook`).
 */

import { type Decider, type EventOf } from '../../kernel/decider';
import { defined } from '../../kernel/values';
import { type FeedImport } from './feed';

export const FEED_SOURCE = 'feedsource';

// Events: their names and shapes are the storage format. Add, never rename.

/**
 * What is fetched. `minutes`: from one fetch to the next. Without `format`, it is recognised. `map`: columns of
 * CSV that are read as if they had other names, such as `name:title,price:Preis`. `charset`: what it is encoded
 * in, whatever is said of it.
 */
export interface SourceSetting {
  readonly url: string;
  readonly minutes: number;
  readonly format?: string;
  readonly map?: string;
  readonly charset?: string;
}

/** A replacement that was not done, since it would remove more than half of the feed. */
export interface Shrink {
  /** Products that the feed has. */
  readonly listed: number;
  /** How many of them the file does not have. */
  readonly removed: number;
}

export type FeedSourceEvent =
  | EventOf<'SourceSet', SourceSetting>
  | EventOf<'SourceRemoved'>
  | EventOf<'SourceFetchRequested'>
  /** The first good fetch since it was set, asked for, failed or held. `importId`: absent if the file was unchanged. */
  | EventOf<'SourceFetched', Partial<Pick<FeedImport, 'importId'>>>
  /** The first of several failures. */
  | EventOf<'SourceFailed', { readonly reason: string }>
  | EventOf<'SourceHeld', Shrink>
  /** The next fetch may remove as many products as the one that was held. */
  | EventOf<'SourceShrinkAccepted', Pick<Shrink, 'removed'>>;

// State

export interface FetchedSource extends SourceSetting {
  /** `new` until the first fetch. A source that fails is tried again, one that is held is fetched when it is due. */
  readonly state: 'new' | 'ok' | 'failing' | 'held';
  /** Since when, ISO 8601. */
  readonly since: string;
  /** It is fetched as soon as possible, whether or not the file has changed. */
  readonly isAsked: boolean;
  readonly held?: Shrink;
  /** Products that may be removed although they are more than half. */
  readonly accepted?: number;
  readonly reason?: string;
}

/** Undefined: the feed has no source. */
type SourceState = FetchedSource | undefined;

export type SourceCommand =
  | { readonly do: 'set'; readonly at: string; readonly setting: SourceSetting }
  | { readonly do: 'remove' | 'request' | 'accept'; readonly at: string }
  /** What a fetch has found, that began with this state. */
  | {
      readonly do: 'conclude';
      readonly at: string;
      readonly began: FetchedSource;
      readonly outcome: SourceOutcome;
    };

export type SourceOutcome =
  | { readonly is: 'fetched'; readonly importId?: string | undefined }
  | { readonly is: 'failed'; readonly reason: string }
  | ({ readonly is: 'held' } & Shrink);

/** `notThere` and `notHeld` make the faults of whoever asks. */
export interface SourceFaults {
  readonly notThere: (message: string) => Error;
  readonly notHeld: (message: string) => Error;
}

/** Raises faults of `faults`; without them nothing is asked for that may be refused. */
export function sourceDecider(faults?: SourceFaults): Decider<SourceCommand, SourceState, FeedSourceEvent> {
  return {
    category: FEED_SOURCE,
    initial: undefined,
    decide: (command, state) => decide(command, state, faults),
    evolve: evolveSource,
  };
}

function decide(
  command: SourceCommand,
  state: SourceState,
  faults: SourceFaults | undefined,
): readonly FeedSourceEvent[] {
  const { at } = command;
  if (command.do === 'set') {
    const { setting } = command;
    return isSame(state, setting) ? [] : [{ type: 'SourceSet', data: { ...setting, at } }];
  }
  if (state === undefined) {
    if (command.do === 'conclude' || command.do === 'remove' || faults === undefined) return [];
    throw faults.notThere('the feed has no source: set one first');
  }
  switch (command.do) {
    case 'remove':
      return [{ type: 'SourceRemoved', data: { at } }];
    case 'request':
      return state.isAsked ? [] : [{ type: 'SourceFetchRequested', data: { at } }];
    case 'accept':
      if (state.held === undefined) {
        if (state.accepted !== undefined || faults === undefined) return [];
        throw faults.notHeld('nothing is held: the last file did not remove more than half of the feed');
      }
      return [{ type: 'SourceShrinkAccepted', data: { at, removed: state.held.removed } }];
    case 'conclude':
      return conclude(command, state);
  }
}

function isSame(state: SourceState, setting: SourceSetting): boolean {
  const names = ['url', 'minutes', 'format', 'map', 'charset'] as const;
  return names.every((name) => state?.[name] === setting[name]);
}

/** Nothing that was asked for meanwhile is taken for done. */
function conclude(
  { at, began, outcome }: Extract<SourceCommand, { readonly do: 'conclude' }>,
  state: FetchedSource,
): readonly FeedSourceEvent[] {
  if (!isSame(state, began) || (state.isAsked && !began.isAsked) || state.accepted !== began.accepted)
    return [];
  switch (outcome.is) {
    case 'fetched': {
      const { importId } = outcome;
      const isNews = state.state !== 'ok' || state.isAsked;
      return isNews ? [{ type: 'SourceFetched', data: defined({ at, importId }) }] : [];
    }
    case 'failed': {
      const isNews = state.state !== 'failing' || state.isAsked;
      return isNews ? [{ type: 'SourceFailed', data: { at, reason: outcome.reason } }] : [];
    }
    case 'held': {
      const { listed, removed } = outcome;
      const isSameShrink = state.held?.listed === listed && state.held.removed === removed;
      const isKnown = state.state === 'held' && isSameShrink && !state.isAsked;
      return isKnown ? [] : [{ type: 'SourceHeld', data: { at, listed, removed } }];
    }
  }
}

export function evolveSource(state: SourceState, event: FeedSourceEvent): SourceState {
  const since = event.data.at;
  if (event.type === 'SourceSet') {
    return { ...settingOf(event.data), state: 'new', since, isAsked: true };
  }
  if (state === undefined || event.type === 'SourceRemoved') return undefined;
  const setting = settingOf(state);
  switch (event.type) {
    case 'SourceFetchRequested':
      return { ...state, isAsked: true };
    case 'SourceFetched':
      return { ...setting, state: 'ok', since, isAsked: false };
    case 'SourceFailed': {
      // What is held, or was accepted, still is.
      const { held, accepted } = state;
      const { reason } = event.data;
      return { ...setting, state: 'failing', since, isAsked: false, ...defined({ held, accepted, reason }) };
    }
    case 'SourceHeld': {
      const { listed, removed } = event.data;
      return { ...setting, state: 'held', since, isAsked: false, held: { listed, removed } };
    }
    case 'SourceShrinkAccepted':
      return { ...setting, state: 'held', since, isAsked: true, accepted: event.data.removed };
  }
}

/** Without what else is known of a source. */
function settingOf({ url, minutes, format, map, charset }: SourceSetting): SourceSetting {
  return defined({ url, minutes, format, map, charset });
}

// When

const MINUTE_MS = 60_000;
const FIRST_RETRY_MS = 5 * MINUTE_MS;
const LONGEST_RETRY_MS = 24 * 60 * MINUTE_MS;

/**
 * How long after a fetch the next one is due (ms): after `failures` in a row it is tried soon at first, and then less
 * and less often. `random`, from 0 to below 1, keeps sources apart that failed together.
 */
export function pauseAfter({ minutes }: SourceSetting, failures: number, random: number): number {
  const regular = minutes * MINUTE_MS;
  if (failures === 0) return regular;
  const longest = Math.max(regular, LONGEST_RETRY_MS);
  return Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20)) * (0.9 + 0.2 * random);
}

/** True if a replacement of so many products may not be done without somebody who accepts it. */
export function isHeld({ listed, removed }: Shrink, accepted = 0): boolean {
  return removed > listed / 2 && removed > accepted;
}

// Settings as people write them

/** From a quarter of an hour to a week. */
const MINUTES = { least: 15, most: 7 * 24 * 60 } as const;
const UNITS: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60 };

export const EVERY_EXPECTED = 'a time from 15m to 7d, such as 30m, 6h or 1d';

/** Minutes of `30m`, `6h` or `1d`; undefined for anything else. */
export function minutesOf(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text.trim().toLowerCase()) ?? [];
  const minutes = Number(digits) * (UNITS[unit] ?? NaN);
  return minutes >= MINUTES.least && minutes <= MINUTES.most ? minutes : undefined;
}

export function everyText(minutes: number): string {
  const [unit = 'm', size = 1] = Object.entries(UNITS).findLast(([, one]) => minutes % one === 0) ?? [];
  return `${minutes / size}${unit}`;
}
