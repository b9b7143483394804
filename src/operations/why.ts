import { products } from '../../projections/products';
import { vouchers } from '../../projections/vouchers';
import { offerId } from '../domain/products/offer';
import { isVersion, VOUCHER, voucherDecider, type VoucherEvent } from '../domain/vouchers/voucher';
import { eventsOf, load, toFolded } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type QueryOptions } from '../kernel/query';
import { type Directory } from '../network/directory';
import { conditionOf, type Viewer, type Visibility, visibilityBy } from '../network/visibility';
import { type Projection } from '../projector/projection';
import { productVisibility } from '../services/products/product.queries';
import { voucherVisibility } from '../services/vouchers/voucher.queries';
import { NothingThere } from './command-error';
import { parkedIn } from './parked';
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
  const visibility = await productVisibility(parts, { feed, sourceProductId }, who, query);
  return await withReadModel(visibility, parts, products, offerId(feedId, sourceProductId));
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
  const target = { collection: vouchers.collection.name };
  const [listed] = await store.get(target, [String(id)]);
  const isListed = conditionOf(
    'listed',
    (listed !== undefined) === (state.status === 'published'),
    listed === undefined ? 'the read model does not have it' : 'the read model has it',
    'wait until the read model has caught up',
  );
  return await withReadModel(visibilityBy([...conditions, isListed]), parts, vouchers, String(id));
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
 * Adds whether a read model has a document as of the end of the log. What it has is seen as it has it: so these
 * conditions do not decide whether it is visible.
 */
async function withReadModel(
  { visible, conditions }: Visibility,
  engines: Pick<WhyParts, 'log' | 'store'>,
  { collection: { name } }: Pick<Projection, 'collection'>,
  id: string,
): Promise<Visibility> {
  const { log, store } = engines;
  const [head, checkpoint] = [await log.head(), await store.checkpoint({ collection: name })];
  const parked = (await parkedIn(engines, name)).find((one) => one.id === id);
  return {
    visible,
    conditions: [
      ...conditions,
      conditionOf(
        'projected',
        checkpoint >= head,
        `the read model ${name} is as of position ${BigInt(checkpoint)}, the log ends at ${BigInt(head)}`,
        'wait; if it stays behind, /health/ready says why',
      ),
      conditionOf(
        'not parked',
        parked === undefined,
        parked === undefined ? 'all its events could be used' : `parked: ${parked.entry.error}`,
        `affilog parked show ${name} ${id}`,
      ),
    ],
  };
}
