import { type Directory } from '../directory/directory';
import { type Position, type RecordedEvent, START, streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEventWhere } from '../kernel/last-event';
import { type FeedSource } from './download/feed-source';
import { FEED } from './feed';
import { isClosing, lastClosing, timeOf } from './feed-closings';
import { MAPPING, type Remapped, remappedSince } from './remapped';

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
  /** Of each feed, after what it was looked for, what has mapped its products since: for all who ask at a time. */
  private readonly mapped = new Map<
    number,
    { readonly after: string; readonly by: Promise<FeedVersion | undefined> }
  >();

  constructor(
    private readonly log: EventLog,
    private readonly directory: Pick<Directory, 'categories' | 'categoryChanges'>,
    private readonly source: Pick<FeedSource, 'countRemapped'>,
  ) {}

  /** The state at a position, as far as the directory knows it; undefined for a feed that nothing had been loaded into. */
  async at(feedId: number, position: Position): Promise<FeedState | undefined> {
    const newest = await lastEventWhere(this.log, streamOf(FEED, feedId), isUpTo(position));
    if (newest === undefined) return undefined;
    const closing = await lastClosing(this.log, newest);
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
    let end = closing;
    for await (const events of this.log.readStream(stream, { from, backwards: true, batchSize: BATCH }))
      for (const event of events) {
        const isKnown = event.revision === known?.revision;
        if (isClosing(event) && !isKnown) {
          end = event;
          continue;
        }
        const closed = isKnown
          ? known.closed
          : { content: event.position, version: { position: end.position, at: timeOf(end) } };
        if (from > (known?.revision ?? -1)) this.closed.set(feedId, { revision: from, closed });
        return closed;
      }
    this.closed.set(feedId, { revision: from, closed: undefined });
    return undefined;
  }

  /**
   * What the load or deletion that closed last has published, or what has mapped products of the feed since then; that is
   * judged once, by the products there are when it is first asked.
   */
  private async published(
    feedId: number,
    loaded: FeedVersion,
    mapping: RecordedEvent | undefined,
    position: Position,
  ): Promise<FeedVersion> {
    const category = [...this.directory.categoryChanges.values()].findLast(isUpTo(position));
    const mapped = mapping && { position: mapping.position, at: timeOf(mapping) };
    const [newest = loaded] = [mapped, category]
      .filter((one) => one !== undefined)
      .sort((a, b) => (a.position > b.position ? -1 : 1));
    if (newest.position <= loaded.position) return loaded;
    const after = [loaded, mapped, category].map((one) => one?.position ?? START).join();
    let known = this.mapped.get(feedId);
    if (known?.after !== after) {
      known = { after, by: this.mappedSince(feedId, loaded, newest) };
      this.mapped.set(feedId, known);
      known.by.catch(() => this.mapped.delete(feedId));
    }
    return (await known.by) ?? loaded;
  }

  private async mappedSince(
    feedId: number,
    loaded: FeedVersion,
    newest: FeedVersion,
  ): Promise<FeedVersion | undefined> {
    const isSeen = isUpTo(loaded.position);
    const changes = await remappedSince(this.log, this.directory, feedId, isSeen, MOST_CATEGORIES);
    if (changes === undefined) return newest;
    return this.lastConcerning(feedId, changes.filter(isUpTo(newest.position)));
  }

  /** The last of these changes that products hang on: all before it are of older versions. */
  private async lastConcerning(feedId: number, changes: readonly Remapped[]): Promise<Remapped | undefined> {
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
