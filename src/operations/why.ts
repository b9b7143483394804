import { endsOfLoads } from '../../projections/imports';
import { eventsOfOffer } from '../../projections/price-history';
import { products } from '../../projections/products';
import { vouchers } from '../../projections/vouchers';
import { FEED, type FeedClosing, type FeedImport } from '../domain/products/feed';
import { offerId } from '../domain/products/offer';
import { isVersion, VOUCHER, voucherDecider, type VoucherEvent } from '../domain/vouchers/voucher';
import { eventAt, eventsOf, load, toFolded } from '../kernel/decider';
import { numberOf, type Position, type RecordedEvent, streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type QueryOptions } from '../kernel/query';
import { NoGeneration } from '../kernel/read-store';
import { type Directory } from '../network/directory';
import {
  type Condition,
  conditionOf,
  type Viewer,
  type Visibility,
  visibilityBy,
} from '../network/visibility';
import { type Projection } from '../projector/projection';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { productVisibility } from '../services/products/product.queries';
import { voucherVisibility } from '../services/vouchers/voucher.queries';
import { NothingThere } from './command-error';
import { timeOf } from './log-events';
import { parkedIn } from './parked';
import { pausedText } from '../projector/notes';
import { readModelState, type ReadModelState } from './projections';
import { type ProjectedEngines } from './rebuild';

// Why something is visible to publishers, or not (`docs/decisions.md#x110`).

interface WhyParts extends Pick<ProjectedEngines, 'log' | 'store'> {
  readonly directory: Directory;
}

/** A publisher's organisation, one of its sites, or both; of neither, any publisher. */
export interface ViewerIds {
  readonly publisher?: number | undefined;
  readonly siteId?: number | undefined;
}

/** Raises `NothingThere`. */
export async function whyProduct(
  parts: WhyParts,
  { feedId, sourceProductId }: { readonly feedId: number; readonly sourceProductId: string },
  viewer: ViewerIds = {},
  query: QueryOptions = {},
): Promise<Visibility> {
  const feed = parts.directory.feed(feedId);
  if (feed === undefined) throw new NothingThere(`feed ${feedId}: expected the id of a feed`);
  const who = { asker: 'operator', viewer: viewerOf(parts.directory, viewer) } as const;
  return await withReadModel(parts, products, offerId(feedId, sourceProductId), async () => {
    const { visible, conditions } = await productVisibility(parts, { feed, sourceProductId }, who, query);
    const removal = conditions.some(isMissing) ? await removalOf(parts, feedId, sourceProductId) : undefined;
    if (removal === undefined) return { visible, conditions };
    const explained = (one: Condition) => (isMissing(one) ? withRemoval(one, feedId, removal) : one);
    return { visible, conditions: conditions.map(explained) };
  });
}

const isMissing = ({ condition, holds }: Condition): boolean => condition === 'stored' && !holds;

interface Removal {
  readonly removed: RecordedEvent;
  /** What ended the load or deletion that has removed it; undefined if that was interrupted. */
  readonly end: RecordedEvent | undefined;
}

/** How a product was removed; undefined if it was not, as far as the read models of prices and loads know. */
async function removalOf(
  { log, store }: Pick<WhyParts, 'log' | 'store'>,
  feedId: number,
  sourceProductId: string,
): Promise<Removal | undefined> {
  const stream = streamOf(FEED, feedId);
  try {
    const revision = (await eventsOfOffer(store, offerId(feedId, sourceProductId)))?.at(-1);
    const removed = revision === undefined ? undefined : await eventAt(log, stream, revision);
    if (removed?.type !== 'ProductDelisted') return undefined;
    const end = await (await endsOfLoads(store, feedId))(removed.revision);
    return { removed, end: end && (await eventAt(log, stream, end.revision)) };
  } catch (error) {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  }
}

function withRemoval(missing: Condition, feedId: number, { removed, end }: Removal): Condition {
  const { found, remedy = '' } = missing;
  const when = `${found}; it was removed at ${timeOf(removed) ?? ''} (log position ${numberOf(removed.position)})`;
  if (end === undefined) return { ...missing, found: `${when} by a load or deletion that has not ended` };
  const { type, data } = toFolded<FeedClosing>(end);
  const { importId = 'without an id' } = data;
  const what = type === 'ProductsDeleted' ? 'deletion' : loadText(data);
  const undoing = `\`affilog feeds restore ${feedId} --before ${importId} --reason TEXT\` undoes all of that`;
  return {
    ...missing,
    found: `${when} by ${what} ${importId}, which ended at log position ${numberOf(end.position)}`,
    remedy: `${remedy}; ${undoing}`,
  };
}

function loadText({ mode, restores, fetched }: FeedImport): string {
  if (restores !== undefined) return `the undoing of ${restores}, load`;
  return fetched === true ? `the fetched load (${mode})` : `load (${mode})`;
}

/** Raises `NothingThere`. */
export async function whyVoucher(
  parts: WhyParts,
  id: number,
  { now, ...viewer }: ViewerIds & { readonly now: Date },
): Promise<Visibility> {
  const { log, store, directory } = parts;
  const changed = await lastVersion(log, id);
  const { state } = await load(log, voucherDecider, id);
  if (changed === undefined || state.status === 'unknown')
    throw new NothingThere(`${id}: expected the id of a voucher`);
  const who = { asker: 'operator', viewer: viewerOf(directory, viewer) } as const;
  const { conditions } = voucherVisibility(directory, { state, changed }, now, who);
  return await withReadModel(parts, vouchers, String(id), async () => {
    const [listed] = await store.get({ collection: vouchers.collection.name }, [String(id)]);
    const isListed = conditionOf(
      'listed',
      (listed !== undefined) === (state.status === 'published'),
      listed === undefined ? 'the read model does not have it' : 'the read model has it',
      'wait until the read model has caught up',
    );
    return visibilityBy([...conditions, isListed]);
  });
}

/** When a voucher was last posted or withdrawn (ISO 8601). */
async function lastVersion(log: EventLog, id: number): Promise<string | undefined> {
  for await (const recorded of eventsOf(log, streamOf(VOUCHER, id), { backwards: true, batchSize: 4 })) {
    const event = toFolded<VoucherEvent>(recorded);
    if (isVersion(event)) return event.data.at;
  }
  return undefined;
}

function viewerOf(directory: Directory, { publisher, siteId }: ViewerIds): Viewer | undefined {
  if (publisher === undefined && siteId === undefined) return undefined;
  const site = siteId === undefined ? undefined : directory.programs.site(siteId);
  if (siteId !== undefined && site === undefined)
    throw new NothingThere(`site ${siteId}: expected the id of a site`);
  const organisation = directory.organisations.get(publisher ?? site?.organisationId ?? NaN);
  if (organisation?.kind !== 'publisher')
    throw new NothingThere(
      `publisher ${publisher ?? ''}: expected the id of an organisation that is a publisher`,
    );
  const own = directory.programs.sitesOf(organisation.id);
  if (siteId !== undefined && !own.includes(siteId))
    throw new NothingThere(
      `site ${siteId}: expected a site of publisher ${organisation.id}: ${own.join(', ')}`,
    );
  return { publisher: organisation, siteIds: siteId === undefined ? own : [siteId] };
}

/**
 * Adds how the read model does, as the first condition, and whether it could use the events of a document. What it has
 * is seen as it has it: so these conditions do not decide whether that is visible. If it cannot be read, nothing is.
 */
async function withReadModel(
  engines: Pick<WhyParts, 'log' | 'store'>,
  { collection: { name } }: Pick<Projection, 'collection'>,
  id: string,
  visibilityIn: () => Promise<Visibility>,
): Promise<Visibility> {
  const { log, store } = engines;
  const projected = readModelCondition(await readModelState(engines, SYSTEM_CLOCK, name), await log.head());
  const seen = await visibilityIn().catch((error: unknown) => {
    if (error instanceof NoGeneration) return undefined;
    throw error;
  });
  if (seen === undefined) return { visible: false, conditions: [projected] };
  const parked = (await parkedIn({ log, store }, name)).find((one) => one.id === id);
  return {
    visible: seen.visible,
    conditions: [
      projected,
      ...seen.conditions,
      conditionOf(
        'not parked',
        parked === undefined,
        parked === undefined ? 'all its events could be used' : `parked: ${parked.entry.error}`,
        `affilog parked show ${name} ${id}`,
      ),
    ],
  };
}

function readModelCondition(model: ReadModelState, head: Position): Condition {
  const { name, state, position, paused, lagEvents = 0, lagSeconds = 0 } = model;
  const is = paused === undefined || state !== 'paused' ? state : `paused ${pausedText(paused)}`;
  const at = position === undefined ? 'it cannot be read' : `as of position ${numberOf(position)}`;
  const lacks = lagEvents === 0 ? '' : `: it lacks ${lagEvents} events, the first of ${lagSeconds} s ago`;
  return conditionOf(
    'projected',
    state === 'live' && lagEvents === 0,
    `the read model ${name} is ${is}, ${at}; the log ends at ${numberOf(head)}${lacks}`,
    helpOf(model),
  );
}

function helpOf({ name, state, paused, reason, end }: ReadModelState): string {
  if (state === 'paused' && paused !== undefined)
    return `resume it with \`affilog projections resume ${name}\``;
  const until = end === undefined ? '' : ` until about ${end}`;
  return reason ?? `wait${until}: \`affilog projections list ${name}\` shows its progress`;
}
