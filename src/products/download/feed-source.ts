import { type Position } from '../../kernel/event';
import { type Offer } from '../offer';
import { type Prices } from '../output';
import { type Remapping } from '../remapped';

/** Some offers of a feed, in the order of their ids, and what they are some of. */
export interface FeedBatch {
  readonly offers: readonly Offer[];
  /** How many offers there are in all. */
  readonly total: number;
  /** They are surely as the log had them up to here. */
  readonly checkpoint: Position;
  /** The names of their custom fields, all there are; none unless these were asked for. */
  readonly customFields: ReadonlySet<string>;
}

/** The read models, as downloads ask them. */
export interface FeedSource {
  /** A feed from one snapshot; the first batch is empty and comes at once. `isFlat` asks for custom fields. */
  snapshot(feedId: number, which: 'all' | 'visible' | 'hidden', isFlat?: boolean): AsyncIterable<FeedBatch>;
  /** Those of these offers that there are, as they are now. */
  offers(ids: readonly string[]): Promise<readonly Offer[]>;
  /** Offers of a feed that a change of categories may concern. */
  remapped(feedId: number, remapping: Remapping): AsyncIterable<readonly Offer[]>;
  countRemapped(feedId: number, remapping: Remapping): Promise<number>;
  prices(ids: readonly string[]): Promise<ReadonlyMap<string, Prices>>;
  /** Waits a while until prices are told up to a position: false if they still are not. */
  pricesUpTo(position: Position): Promise<boolean>;
}
