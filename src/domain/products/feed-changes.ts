import { type EventOf } from '../../kernel/decider';
import { type Programs } from '../../network/programs';

/**
 * What loads have changed in a feed that subscribers may be notified of, in the stream `feedchanges-<feed id>`: small
 * events, which an automation makes of those of the feed
 * (`docs/adr/0065-changes-of-feeds-have-a-stream-of-their-own.md`).
 *
 * The names and shapes of these events are the storage format: add, never rename.
 */
export const FEED_CHANGES = 'feedchanges';

export type FeedChangeEvent =
  | EventOf<'ProductPriceFell', ChangedProduct & { fellFrom: number }>
  | EventOf<'ProductBackInStock', ChangedProduct>
  /**
   * All changes up to the revision `upTo` of the feed's stream are recorded. `load`: by the load or deletion that ends
   * there; absent if nobody was to be notified of it.
   */
  | EventOf<'FeedChangesRecorded', { upTo: number; load?: RecordedLoad }>;

/** The load or deletion that has changed something, and when it ended (ISO 8601). */
interface OfLoad {
  /** Absent from deletions of early versions. */
  readonly loadId?: string;
  readonly loadTime: string;
  /** The first program of the feed. */
  readonly programId?: number;
}

/**
 * A product as it was when the change was recorded, but for its price, which is that of the load. Texts that are too
 * long for a message are absent.
 */
export interface ChangedProduct extends OfLoad {
  readonly sourceProductId: string;
  readonly name: string;
  readonly brand?: string;
  readonly ean?: string;
  readonly productUrl?: string;
  readonly imageUrl?: string;
  readonly inStock?: number;
  readonly availability?: string;
  /** In hundredths. */
  readonly price: number;
  /** ISO 4217; absent if it is unknown. */
  readonly currency?: string;
  /** What tracker links began with when the change was recorded; absent from events of early versions. */
  readonly trackerUrl?: string;
  /** Platform categories that it is mapped to, and their ancestors: publishers see it only if there is one. */
  readonly categoryIds: readonly string[];
}

export interface RecordedLoad extends OfLoad {
  readonly mode: 'update' | 'replace' | 'deletion';
  /** Products of its events. */
  readonly new: number;
  readonly revised: number;
  readonly repriced: number;
  readonly removed: number;
  /** How many prices fell and how many products are back in stock, recorded or not. */
  readonly fallen: number;
  readonly restocked: number;
}

/** Who may be notified of a feed, and by which sites (`docs/decisions.md#n20`). */
export interface FeedAudience {
  readonly programIds: ReadonlySet<number>;
  /** Advertisers and publishers. */
  readonly parties: ReadonlySet<number>;
  readonly advertisers: ReadonlySet<number>;
  readonly publishers: ReadonlySet<number>;
  /** Of the publishers: those that are connected. */
  readonly sites: ReadonlySet<number>;
}

/**
 * Its advertisers, and the publishers that see it in lists (`docs/decisions.md#p22`, `#p26`);
 * nobody if it does not exist.
 */
export function audienceOf(programs: Programs, feedId: number): FeedAudience {
  const { version } = programs;
  let known = audiences.get(programs);
  if (known?.version !== version) audiences.set(programs, (known = { version, ofFeeds: new Map() }));
  const audience = known.ofFeeds.get(feedId) ?? newAudience(programs, feedId);
  known.ofFeeds.set(feedId, audience);
  return audience;
}

/** A load has a thousand events, and a program may have as many sites. */
const audiences = new WeakMap<
  Programs,
  { readonly version: number; readonly ofFeeds: Map<number, FeedAudience> }
>();

function newAudience(programs: Programs, feedId: number): FeedAudience {
  const feed = programs.feed(feedId);
  const own = feed?.programIds.flatMap((id) => programs.get(id) ?? []) ?? [];
  const sites = new Set<number>();
  if (feed?.active === true && feed.visible)
    for (const { id } of own) for (const site of programs.sitesConnectedTo(id)) sites.add(site);
  const advertisers = new Set(own.map(({ organisationId }) => organisationId));
  const publishers = new Set(Array.from(sites, (id) => programs.site(id)?.organisationId ?? NaN));
  const parties = new Set([...advertisers, ...publishers]);
  return { programIds: new Set(own.map(({ id }) => id)), parties, advertisers, publishers, sites };
}
