import { CLAIM, type ClaimEvent } from '../src/domain/claims/claim';
import { audienceOf, VOUCHER, type VoucherContent, type VoucherEvent } from '../src/domain/vouchers/voucher';
import { type ParsedEvent } from '../src/kernel/decider';
import { numberOf, type Position, positionOf, START } from '../src/kernel/event';
import { type EventLog } from '../src/kernel/event-log';
import {
  allOf,
  type Filter,
  filtersOn,
  oneAnswer,
  type QueryOptions,
  type Search,
} from '../src/kernel/query';
import { type CollectionSpec, type FieldType, type ReadStore, type Target } from '../src/kernel/read-store';
import { liveNow } from '../src/projector/generations';
import { type Projection } from '../src/projector/projection';
import { type Following } from '../src/wire/keys/pages';

const FIELDS = {
  /** All who may ever have seen it: see `Changes.followers`. */
  followers: 'keyword',
  /** Of its last event. */
  position: 'number',
  /** Of vouchers (epoch ms): when those who may see it begin and cease to. */
  shownFrom: 'number',
  shownUntil: 'number',
  ended: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

type ChangeField = keyof typeof FIELDS;

const TIMES = ['shownFrom', 'shownUntil', 'ended'] as const satisfies readonly ChangeField[];

/** What a copy of a list needs to know of a voucher or claim, also after it was withdrawn. */
interface Change {
  readonly followers: readonly string[];
  readonly position: number;
  readonly times?: { readonly [Name in (typeof TIMES)[number]]?: number };
}

type ChangeEvent = VoucherEvent | ClaimEvent;

/** Of each voucher and claim: its last change, and who may have a copy of it (`docs/decisions.md#x135`). */
export const changes: Projection<Change, ChangeEvent> = {
  collection: { name: 'changes', version: 1, fields: FIELDS, sorts: ['position'] },
  streams: [`${VOUCHER}-`, `${CLAIM}-`],
  handles: [
    'VoucherPublished',
    'VoucherRevised',
    'VoucherWithdrawn',
    'ClaimFiled',
    'ClaimScreened',
    'ClaimRevised',
    'ClaimRuled',
    'ClaimWithdrawn',
  ],
  replaces: ['VoucherPublished', 'ClaimFiled'],
  idOf: ({ stream }) => stream,
  fold(stored, event) {
    const before = event.type === 'VoucherPublished' || event.type === 'ClaimFiled' ? undefined : stored;
    const now = followersAfter(event, before);
    if (now === undefined) return before;
    const followers = [...new Set([...(before?.followers ?? []), ...now])];
    const times = 'voucher' in event.data ? { times: timesOf(event.data.voucher) } : {};
    return { ...before, followers, ...times, position: numberOf(event.position) };
  },
  describe: (document) => ({
    document,
    fields: { followers: document.followers, position: document.position, ...document.times },
  }),
  usesDirectory: false,
};

function followersAfter(event: ParsedEvent<ChangeEvent>, before: Change | undefined) {
  switch (event.type) {
    case 'VoucherPublished': {
      const { programId, voucher } = event.data;
      return [ownerOf(programId), ...audienceOf(programId, voucher.siteIds)];
    }
    case 'VoucherRevised': {
      const [owner = ''] = before?.followers ?? [];
      return before && audienceOf(programIn(owner), event.data.voucher.siteIds);
    }
    case 'ClaimFiled':
    case 'ClaimRevised': {
      const { advertiserId, claim } = event.data;
      const publisher =
        event.type === 'ClaimFiled' ? publisherOf(event.data.publisherId) : before?.followers[0];
      if (publisher === undefined) return undefined;
      return [
        publisher,
        `${publisher}/${claim.siteId}`,
        ...(advertiserId === undefined ? [] : [advertiserOf(advertiserId)]),
      ];
    }
    default:
      return before && [];
  }
}

const PROGRAM = 'program ';

/** The followers that are not audiences of vouchers (`audienceOf`). */
export const ownerOf = (programId: number): string => `${PROGRAM}${programId}`;
export const advertiserOf = (organisationId: number): string => `advertiser ${organisationId}`;
export function publisherOf(organisationId: number, siteId?: number): string {
  return `publisher ${organisationId}${siteId === undefined ? '' : `/${siteId}`}`;
}

function programIn(owner: string): number {
  return Number(owner.slice(PROGRAM.length));
}

/** Bounds are inclusive: it is not shown any more, and has ended, from the next millisecond on. */
function timesOf({
  publishStartDate,
  publishEndDate,
  endDate,
}: VoucherContent): NonNullable<Change['times']> {
  return {
    ...(publishStartDate === undefined ? {} : { shownFrom: Date.parse(publishStartDate) }),
    ...(publishEndDate === undefined ? {} : { shownUntil: Date.parse(publishEndDate) + 1 }),
    ended: Date.parse(endDate) + 1,
  };
}

/** In a part: ids of what was removed are a header. */
const MOST_REMOVED = 500;

/** What a copy follows: who follows it, and what is visible to them. */
export interface Followed {
  readonly collection: CollectionSpec;
  /** What the ids of streams begin with. */
  readonly category: string;
  /** Whoever asks, by any of these. */
  readonly followers: readonly string[];
  /** Whether time alone shows and hides. */
  readonly isTimed: boolean;
  /** What the caller may see at a time (epoch ms), with the keys of the request. `id` is a field of it. */
  readonly visibleAt: (time: number) => Filter;
}

/** A part of what a copy lacks. */
export interface Changes {
  /** The ids of what has changed and is visible, and of what may have been and is not any more. */
  readonly ids: readonly string[];
  readonly removed: readonly string[];
  /** The time that visibility is of (epoch ms). */
  readonly time: number;
  /** Nothing before counts: this is the first part of everything. */
  readonly isReset: boolean;
  readonly next: Following;
  /** What was searched. */
  readonly target: Target;
  /** The size of the part. */
  readonly applied: number;
}

/** What a request wants. */
export interface Wanted {
  /** Where its copy stands; undefined for everything. */
  readonly since: Following | undefined;
  readonly size: number;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * What a copy lacks, by events or by time; what changes while it is read comes again. Nothing is missed, whichever
 * processes write: both read models have all events up to the position that the answer is of.
 */
export async function changesSince(
  { store, log }: { readonly store: ReadStore; readonly log: EventLog },
  { collection, category, followers, isTimed, visibleAt }: Followed,
  { since, size, now }: Wanted,
  options: QueryOptions = {},
): Promise<Changes> {
  const [known, listed] = [await liveNow(store, changes.collection), await liveNow(store, collection)];
  const end = known.position < listed.position ? known.position : listed.position;
  // A position beyond the end belongs to a log that has been moved (`docs/decisions.md#x51`).
  const isOfThisLog = since !== undefined && (since.position <= end || since.position <= (await log.head()));
  const { position, time: seen, part: begun } = isOfThisLog ? since : { position: START, time: now };
  const isContinued = begun !== undefined && begun.until <= end;
  const part = isContinued
    ? begun
    : { until: end < position ? position : end, time: Math.max(now, seen), after: START };
  const { until, time, after } = part;
  const isEverything = position === START;
  const order = [{ field: 'position' satisfies ChangeField }];
  const filter = allOf(
    among('followers', followers),
    between('position', { min: numberOf(after) + 1, max: numberOf(until) }),
    isEverything
      ? between('ended', { min: isTimed ? time + 1 : undefined })
      : changedBetween(position, isTimed ? { min: seen + 1, max: time } : undefined),
  );
  const query = oneAnswer(options);
  const idsOf = async (target: Target, search: Omit<Search, 'offset'>) => {
    const idsOnly = { ...query, bodyLimit: 1 };
    const { found, rest = [], next } = await store.search(target, { ...search, offset: 0 }, idsOnly);
    return { ids: [...found.map(({ id }) => id), ...rest], last: next?.keys[0] };
  };
  const most = isEverything ? size : Math.min(size, MOST_REMOVED);
  const { ids, last } = await idsOf(known.target, { filter, order, size: most, after: null });
  const candidates = ids.map((id) => id.slice(category.length + 1));
  const wanted = allOf(ofIds(candidates), visibleAt(time));
  const found = await idsOf(listed.target, { filter: wanted, order: [], size: Math.max(1, ids.length) });
  const visible = new Set(found.ids);
  return {
    ids: candidates.filter((id) => visible.has(id)),
    removed: isEverything ? [] : candidates.filter((id) => !visible.has(id)),
    time,
    isReset: isEverything && !isContinued,
    next:
      typeof last === 'number'
        ? { position, time: seen, part: { until, time, after: positionOf(last) } }
        : { position: until, time },
    target: listed.target,
    applied: most,
  };
}

const { among, between } = filtersOn<ChangeField>();

function ofIds(ids: readonly string[]): Filter {
  return { field: 'id', in: ids };
}

/** Changed after a position, or by time. */
function changedBetween(
  position: Position,
  passed: { readonly min: number; readonly max: number } | undefined,
): Filter {
  const changed = between('position', { min: numberOf(position) + 1 });
  const times = passed === undefined ? [] : TIMES.map((field) => between(field, passed));
  return { any: [changed, ...times].filter((one) => one !== undefined) };
}
