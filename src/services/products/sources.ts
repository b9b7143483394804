import {
  EVERY_EXPECTED,
  everyText,
  evolveSource,
  FEED_SOURCE,
  type FeedSourceEvent,
  type FetchedSource,
  minutesOf,
  type SourceCommand,
  sourceDecider,
  type SourceFaults,
  type SourceSetting,
} from '../../domain/products/feed-source';
import { execute, type Executed, toDomainEvent } from '../../kernel/decider';
import { type Position, positionOf, type RecordedEvent, START } from '../../kernel/event';
import { type EventLog } from '../../kernel/event-log';
import { type CollectionSpec, createUnlessLive, NoGeneration, type ReadStore } from '../../kernel/read-store';
import { defined } from '../../kernel/values';
import { type Clock } from '../../runtime/clock';
import { FollowedLog } from '../../runtime/followed-log';
import { type Posted, Refusals, type ProblemFaults } from '../../wire/api/posted';
import { encodingNamed } from '../../wire/bytes';
import { instant, integer, text, wordOf } from '../../wire/record/kinds';
import { complete, recordReader } from '../../wire/record/read';
import { type AnswerOf, only, record } from '../../wire/record/record';
import { type ColumnMapping, EXPECTED_MAPPING, mappingIn } from './load/ingest/feed-body';

/** Formats that a source may be said to have. */
export const SOURCE_FORMATS = ['json', 'xml', 'csv', 'tsv'] as const;

/** For messages. */
const EXPECTED_CHARSET = 'an encoding that is known, such as windows-1252, iso-8859-15 or utf-16';

const MOST_URL = 2048;
const MOST_MAP = 4096;
const optional = { optional: true } as const;

/** A posted source (`docs/decisions.md#p40`). */
export const postedSource = record({
  feedId: { kind: integer(), required: true, description: 'Feed', example: 1001 },
  url: {
    kind: only(text(), ({ length }) => length <= MOST_URL, `at most ${MOST_URL} characters`),
    required: true,
    description: 'Address of the file, http or https, without user and password',
    example: 'https://shop.example/export.xml',
  },
  every: {
    kind: only(text(), (found) => minutesOf(found) !== undefined, EVERY_EXPECTED),
    required: true,
    description: `From one fetch to the next: ${EVERY_EXPECTED}`,
    example: '6h',
  },
  format: {
    kind: wordOf(...SOURCE_FORMATS),
    ...optional,
    description: 'Format of the file; by default it is recognised',
  },
  map: {
    kind: only(
      text(),
      (found) => mappingsIn(found) !== undefined,
      `${EXPECTED_MAPPING}; separated by commas`,
    ),
    ...optional,
    description: 'Reads columns of CSV as if they had other names: name:title,price:Preis',
    example: 'name:title,price:Preis',
  },
  charset: {
    kind: only(text(), (found) => encodingNamed(found) !== undefined, EXPECTED_CHARSET),
    ...optional,
    description: 'Encoding of the file, if what is said of it is wrong',
    example: 'windows-1252',
  },
});

/** A source as lists have it. */
export const listedSource = record(
  {
    feedId: { kind: integer(), description: 'Feed' },
    url: { kind: text(), description: 'Address of the file' },
    every: { kind: text(), description: 'From one fetch to the next' },
    format: { kind: text(), ...optional, description: 'Format of the file, if it was named' },
    map: {
      kind: text(),
      ...optional,
      description: 'Columns of CSV that are read as if they had other names',
    },
    charset: { kind: text(), ...optional, description: 'Encoding of the file, if it was named' },
    state: {
      kind: wordOf('new', 'ok', 'failing', 'held'),
      description:
        '`new`: not fetched yet. `failing`: the last fetch failed, products stay as they are. `held`: the last file would ' +
        'have removed more than half of the feed',
    },
    since: { kind: instant(), description: 'Since when it is in this state' },
    fetched: {
      kind: instant(),
      ...optional,
      description: 'The last fetch, whether or not the file had changed',
    },
    next: { kind: instant(), ...optional, description: 'When it is fetched again' },
    failures: { kind: integer(), ...optional, description: 'Fetches in a row that failed' },
    reason: { kind: text(), ...optional, description: 'Why the last fetch failed' },
    listed: { kind: integer(), ...optional, description: 'If it is held: products of the feed' },
    removed: {
      kind: integer(),
      ...optional,
      description: 'If it is held: those that the file does not have',
    },
  },
  { name: 'FeedSource' },
);
export type ListedSource = AnswerOf<typeof listedSource>;

/**
 * Reads a posted source. Raises what is wrong with it; `addressProblem` says why nothing is fetched from a URL, if that
 * is so.
 */
export function settingIn(
  posted: Posted,
  faults: ProblemFaults,
  addressProblem: (url: URL) => string | undefined,
): SourceSetting & { readonly feedId: number } {
  const refusals = new Refusals(faults, {}, Infinity, {
    onUnknown: (path) =>
      refusals.refuse(
        'unusable',
        `${path.slice(0, 100)}: expected feedId, url, every, format, map or charset`,
      ),
  });
  const { feedId, url, every, format, map, charset } = complete(readSource(posted, refusals), refusals);
  if (!URL.canParse(url)) refusals.refuse('malformedUrl', 'url: expected an absolute http or https URL');
  else {
    const problem = addressProblem(new URL(url));
    if (problem !== undefined) refusals.refuse('malformedUrl', `url: ${problem}`);
  }
  if (map !== undefined && (format === 'json' || format === 'xml'))
    refusals.refuse('unusable', `map: expected no mapping of columns, since the format is ${format}`);
  if (charset !== undefined && format === 'json')
    refusals.refuse('unusable', 'charset: expected none, since JSON is in UTF-8');
  refusals.raise();
  return { feedId, url, minutes: minutesOf(every) ?? NaN, ...defined({ format, map, charset }) };
}

const readSource = recordReader(postedSource);

/** The columns that a text like `name:title,price:Preis` maps; undefined if it is none. */
export function mappingsIn(map: string): readonly ColumnMapping[] | undefined {
  if (map.length > MOST_MAP) return undefined;
  const found = map.split(',').flatMap((one) => mappingIn(one, ':') ?? []);
  return found.length === map.split(',').length ? found : undefined;
}

/** Changes the source of a feed, or what is known of it. */
export function changeSource(
  clock: Clock,
  log: EventLog,
  feedId: number,
  command: SourceCommand,
  faults?: SourceFaults,
): Promise<Executed<FetchedSource | undefined, FeedSourceEvent>> {
  return execute(clock, log, sourceDecider(faults), feedId, command);
}

type Sources = Map<number, FetchedSource>;

const PREFIX = `${FEED_SOURCE}-`;

function apply(sources: Sources, event: RecordedEvent): void {
  const feedId = Number(event.stream.slice(PREFIX.length));
  const state = evolveSource(sources.get(feedId), toDomainEvent(event) as FeedSourceEvent);
  if (state === undefined) sources.delete(feedId);
  else sources.set(feedId, state);
}

/** The sources of all feeds, by feed, as of the end of the log. */
export async function sourcesIn(log: EventLog): Promise<ReadonlyMap<number, FetchedSource>> {
  const sources: Sources = new Map();
  for await (const { events } of log.readAll({ after: START, prefixes: [PREFIX] }))
    for (const event of events) apply(sources, event);
  return sources;
}

/** The sources of all feeds, by feed, as a process follows them. */
export class SourceBook extends FollowedLog {
  readonly all: ReadonlyMap<number, FetchedSource>;

  constructor(clock: Clock, log: EventLog, signal: AbortSignal, report?: (failure: unknown) => void) {
    const sources: Sources = new Map();
    const follower = {
      prefixes: [PREFIX],
      apply: (event: RecordedEvent) => apply(sources, event),
      subject: 'what is known of sources of feeds',
      ...(report === undefined ? {} : { report }),
    };
    super(clock, log, follower, signal);
    this.all = sources;
  }
}

/** What the last fetch has found, whatever it was: none of it is missed if it gets lost. */
export interface SourceLook {
  /** Of which setting: that of another URL says nothing. */
  readonly url: string;
  /** When it ended (epoch ms), and when the next fetch is due. */
  readonly at: number;
  readonly next: number;
  readonly failures: number;
  readonly reason?: string;
  /** Of the file that was loaded or held last. */
  readonly etag?: string;
  readonly lastModified?: string;
  readonly digest?: string;
}

/** One document for each feed. Not projected from the log (ADR 60). */
const LOOKS: CollectionSpec = { name: 'source-looks', version: 1, fields: {} };
const TARGET = { collection: LOOKS.name };

export async function lastLooks(
  store: ReadStore,
  feedIds: readonly number[],
): Promise<ReadonlyMap<number, SourceLook>> {
  try {
    const found = await store.get(TARGET, feedIds.map(String));
    return new Map(found.map(({ id, body }) => [Number(id), JSON.parse(body) as SourceLook]));
  } catch (error) {
    if (error instanceof NoGeneration) return new Map();
    throw error;
  }
}

export async function noteLook(store: ReadStore, feedId: number, look: SourceLook): Promise<void> {
  await createUnlessLive(store, LOOKS);
  // The time is the version too: a later look always wins, whichever process writes first.
  const put = { id: String(feedId), fields: {}, body: JSON.stringify(look) };
  await store.write(TARGET, [{ version: positionOf(look.at), put }]);
}

/** Sources as lists have them, by their feeds. */
export async function listedSources(
  sources: ReadonlyMap<number, FetchedSource>,
  store: ReadStore,
  feedIds: Iterable<number>,
): Promise<readonly ListedSource[]> {
  const wanted = [...feedIds].filter((id) => sources.has(id)).sort((one, other) => one - other);
  const looks = await lastLooks(store, wanted);
  return wanted.flatMap((feedId) => {
    const source = sources.get(feedId);
    return source === undefined ? [] : [listed(feedId, source, looks.get(feedId))];
  });
}

function listed(feedId: number, source: FetchedSource, look: SourceLook | undefined): ListedSource {
  const { url, minutes, format, map, charset, state, since, isAsked, held } = source;
  const last = look?.url === url ? look : undefined;
  return defined({
    ...{ feedId, url, every: everyText(minutes), format, map, charset, state, since },
    fetched: last && new Date(last.at).toISOString(),
    next: isAsked || last === undefined ? undefined : new Date(last.next).toISOString(),
    failures: last === undefined || last.failures === 0 ? undefined : last.failures,
    reason: state === 'failing' ? (last?.reason ?? source.reason) : undefined,
    ...held,
  });
}

interface FeedSourceParts {
  readonly clock: Clock;
  readonly log: EventLog;
  readonly store: ReadStore;
  readonly book: SourceBook;
  /** Why nothing is fetched from a URL, after the name of its field (`docs/decisions.md#n9`). */
  readonly addressProblem: (url: URL) => string | undefined;
}

/** What may be asked of a source, beside setting it. */
export type SourceVerb = Extract<SourceCommand, { readonly do: 'remove' | 'request' | 'accept' }>['do'];

/** The sources of feeds as requests read and change them: that a feed is the caller's is checked by whoever calls. */
export class FeedSources {
  constructor(private readonly parts: FeedSourceParts) {}

  /** Whether lists have everything up to a position, within so many milliseconds. */
  async reachedWithin(position: Position, milliseconds: number): Promise<boolean> {
    return await this.parts.book.reachedWithin(position, milliseconds);
  }

  async list(feedIds: Iterable<number>): Promise<readonly ListedSource[]> {
    return await listedSources(this.parts.book.all, this.parts.store, feedIds);
  }

  /** Raises what is wrong with what was posted. */
  settingIn(posted: Posted, faults: ProblemFaults): ReturnType<typeof settingIn> {
    return settingIn(posted, faults, this.parts.addressProblem);
  }

  async set(
    { feedId, ...setting }: SourceSetting & { readonly feedId: number },
    log = this.parts.log,
  ): Promise<ChangedSource> {
    return await this.change(log, feedId, { do: 'set', at: this.parts.clock.now().toISOString(), setting });
  }

  async ask(
    feedId: number,
    verb: SourceVerb,
    faults: SourceFaults,
    log = this.parts.log,
  ): Promise<ChangedSource> {
    return await this.change(log, feedId, { do: verb, at: this.parts.clock.now().toISOString() }, faults);
  }

  private async change(
    log: EventLog,
    feedId: number,
    command: SourceCommand,
    faults?: SourceFaults,
  ): Promise<ChangedSource> {
    const { clock, book } = this.parts;
    const { position = await log.head() } = await changeSource(clock, log, feedId, command, faults);
    await book.reachedInTime(position);
    return { position };
  }
}

interface ChangedSource {
  /** From which lists have it. */
  readonly position: Position;
}
