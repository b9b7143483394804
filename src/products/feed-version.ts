import { type Directory } from '../directory/directory';
import { NO_STREAM, type Position, type RecordedEvent, streamOf, timeOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEventWhere } from '../kernel/last-event';
import { type FeedSource } from './download/feed-source';
import { FEED } from './feed';
import { closingsUpTo, isClosing } from './feed-closings';
import { MAPPING, type Remapped, remappedIn } from './remapped';

/** What a feed was as of a position of the log: each load, deletion or mapping that changes something makes another. */
export interface FeedVersion {
  /** Where the event is that made it: two versions of a feed never have the same. */
  readonly position: Position;
  /** When: an ISO 8601 instant. */
  readonly at: string;
}

/** What a read model shows of a feed at a position. */
export interface FeedState {
  /** The last event that may have changed anything in it, in the middle of a load too: other content, another position. */
  readonly content: Position;
  /** The version that has been published: absent until the first load has ended (`docs/decisions.md#x62`). */
  readonly version?: FeedVersion;
}

/** The last load that changed something, as it is known by the event that closes a load. */
interface Closed {
  /** Its last event about a product. */
  readonly content: Position;
  /** Where it ended. */
  readonly version: FeedVersion;
}

/** What was published last, by a load or what has mapped products since, as of a position. */
interface Judged {
  /** Where the load ended. */
  readonly loaded: Position;
  readonly upTo: Position;
  readonly version: Promise<FeedVersion>;
}

/**
 * The versions of feeds, found in the log (`docs/decisions.md#p18`, `#p19`): what a read model shows up to a position is
 * of the version at that position, whatever has been appended since.
 */
export class FeedVersions {
  /** Of each feed, the last closing event looked at and what it closed: a feed may be posted unchanged for years. */
  private readonly closed = new Map<
    number,
    { readonly revision: number; readonly closed: Closed | undefined }
  >();
  /** Of each feed, what has been judged last: for all who ask at a time. */
  private readonly judged = new Map<number, Judged>();

  constructor(
    private readonly log: EventLog,
    private readonly directory: Pick<Directory, 'categories' | 'categoryChanges'>,
    private readonly source: Pick<FeedSource, 'countRemapped'>,
  ) {}

  /** The state at a position, as far as the directory knows it; undefined for a feed that nothing had been loaded into. */
  async at(feedId: number, position: Position): Promise<FeedState | undefined> {
    const newest = await lastEventWhere(this.log, streamOf(FEED, feedId), isUpTo(position));
    if (newest === undefined) return undefined;
    const { value: closing } = await closingsUpTo(this.log, newest).next();
    const closed = closing && (await this.closedBy(feedId, closing));
    const product = isClosing(newest) ? closed?.content : newest.position;
    if (product === undefined) return undefined;
    const mapping = await lastEventWhere(this.log, streamOf(MAPPING, feedId), isUpTo(position));
    const content = mapping !== undefined && mapping.position > product ? mapping.position : product;
    if (closed === undefined) return { content };
    return { content, version: await this.published(feedId, closed.version, mapping, position) };
  }

  /** The last load or deletion that changed products: one that found all of them unchanged is closed by an event alone. */
  private async closedBy(feedId: number, closing: RecordedEvent): Promise<Closed | undefined> {
    const { stream, revision: from } = closing;
    const known = this.closed.get(feedId);
    const learn = (closed: Closed | undefined): Closed | undefined => {
      // Of an older state no more is kept than of a newer one, which others may have asked for meanwhile.
      if (from > (this.closed.get(feedId)?.revision ?? NO_STREAM))
        this.closed.set(feedId, { revision: from, closed });
      return closed;
    };
    let end = closing;
    for await (const events of this.log.readStream(stream, { from, backwards: true, batchSize: BATCH }))
      for (const event of events) {
        if (event.revision === known?.revision) return learn(known.closed);
        if (!isClosing(event))
          return learn({ content: event.position, version: { position: end.position, at: timeOf(end) } });
        end = event;
      }
    return learn(undefined);
  }

  /**
   * What the load or deletion that closed last has published, or what has mapped products of the feed since then. Each
   * change is judged once, by the products there are when it is first asked for.
   */
  private async published(
    feedId: number,
    loaded: FeedVersion,
    mapping: RecordedEvent | undefined,
    position: Position,
  ): Promise<FeedVersion> {
    const known = this.judged.get(feedId);
    const isOfThisLoad = known?.loaded === loaded.position;
    if (isOfThisLoad && known.upTo === position) return await known.version;
    const before = isOfThisLoad && known.upTo < position ? known : undefined;
    const mapped = mapping && { position: mapping.position, at: timeOf(mapping) };
    const version = this.judge(feedId, loaded, before, mapped, position);
    if (known === undefined || known.upTo < position) {
      const judged = { loaded: loaded.position, upTo: position, version };
      this.judged.set(feedId, judged);
      version.catch(() => this.judged.get(feedId) === judged && this.judged.delete(feedId));
    }
    return await version;
  }

  /** `before`: what has been judged already of what was after the load. */
  private async judge(
    feedId: number,
    loaded: FeedVersion,
    before: Judged | undefined,
    mapped: FeedVersion | undefined,
    upTo: Position,
  ): Promise<FeedVersion> {
    const present = (await before?.version) ?? loaded;
    const judged = before?.upTo ?? loaded.position;
    const category = this.directory.categoryChanges.findLast(isUpTo(upTo));
    const [newest = loaded] = [mapped, category && { position: category.position, at: category.at }]
      .filter((one) => one !== undefined)
      .sort((a, b) => (a.position > b.position ? -1 : 1));
    if (newest.position <= judged) return present;
    const span = { isSeen: isUpTo(loaded.position), upTo };
    const changes = await remappedIn(this.log, this.directory, feedId, span, MOST_CATEGORIES);
    if (changes === undefined) return newest;
    const fresh = changes.filter(({ position }) => position > judged);
    return (await this.lastConcerning(feedId, fresh)) ?? present;
  }

  /** The last of these changes that products hang on: all before it are of older versions. */
  private async lastConcerning(
    feedId: number,
    changes: readonly Remapped[],
  ): Promise<FeedVersion | undefined> {
    const concerns = async (from: number): Promise<boolean> => {
      const some = changes.slice(from);
      const remapping = {
        changes: some.flatMap((change) => change.changes),
        categoryIds: some.flatMap(({ categoryIds }) => categoryIds),
      };
      return some.length > 0 && (await this.source.countRemapped(feedId, remapping)) > 0;
    };
    if (!(await concerns(0))) return undefined;
    let [found, over] = [0, changes.length];
    while (over - found > 1) {
      const middle = Math.floor((found + over) / 2);
      if (await concerns(middle)) found = middle;
      else over = middle;
    }
    return changes[found];
  }
}

/** Categories changed since a load beyond which they are taken to concern products of every feed. */
const MOST_CATEGORIES = 100;

/** Events read at once: one that closes a load may be large. */
const BATCH = 20;

function isUpTo(end: Position): (event: { readonly position: Position }) => boolean {
  return ({ position }) => position <= end;
}
