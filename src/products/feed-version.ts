import { type Position, streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { lastEventWhere } from '../kernel/last-event';
import { FEED, type FeedEvent } from './feed';

/** What a feed was as of a position of the log: each load, deletion or mapping that changes something makes another. */
export interface FeedVersion {
  /** Where the event is that made it: two versions of a feed never have the same. */
  readonly position: Position;
  /** When: an ISO 8601 instant. */
  readonly at: string;
}

/** The category of the stream of a feed's category mappings. */
const MAPPING = 'mapping';

/**
 * The versions of feeds, found in the log (`docs/decisions.md#p18`, `#p19`): what a read model shows up to a position is
 * of the version at that position, whatever has been appended since.
 */
export class FeedVersions {
  /** Of each feed, the last event looked at and the version there: a feed may be posted unchanged for years. */
  private readonly known = new Map<number, { readonly revision: number; readonly version: FeedVersion }>();

  constructor(private readonly log: EventLog) {}

  /** The version at a position; undefined for a feed that nothing had been loaded into. */
  async at(feedId: number, position: Position): Promise<FeedVersion | undefined> {
    const loaded = await this.lastChange(feedId, position);
    if (loaded === undefined) return undefined;
    const mapped = await lastEventWhere(
      this.log,
      streamOf(MAPPING, feedId),
      (event) => event.position <= position,
    );
    return mapped === undefined || mapped.position < loaded.position ? loaded : versionOf(mapped);
  }

  /** The last event that changed products; the end of a load that found all of them unchanged is none. */
  private async lastChange(feedId: number, position: Position): Promise<FeedVersion | undefined> {
    const stream = streamOf(FEED, feedId);
    const newest = await lastEventWhere(this.log, stream, (event) => event.position <= position);
    if (newest === undefined) return undefined;
    const known = this.known.get(feedId);
    for await (const events of this.log.readStream(stream, {
      from: newest.revision,
      backwards: true,
      batchSize: BATCH,
    })) {
      for (const event of events) {
        const isChange = event.type !== ('FeedImported' satisfies FeedEvent['type']);
        if (!isChange && event.revision !== known?.revision) continue;
        const version = isChange || known === undefined ? versionOf(event) : known.version;
        if (newest.revision > (known?.revision ?? 0))
          this.known.set(feedId, { revision: newest.revision, version });
        return version;
      }
    }
    return undefined;
  }
}

/** Events read at once: one that closes a load may be large. */
const BATCH = 20;

function versionOf({ position, data }: { readonly position: Position; readonly data: string }): FeedVersion {
  const { at } = JSON.parse(data) as { at: string };
  return { position, at };
}
