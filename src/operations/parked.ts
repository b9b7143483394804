import { priceHistory } from '../../projections/price-history';
import { products } from '../../projections/products';
import { type StoredOffer } from '../domain/products/offer';
import { AUTOMATIONS } from '../processes/automation-runner';
import { directoryAt, type UnusableEvent } from '../network/directory';
import { liveGeneration, nameOf } from '../projector/generations';
import { countParked, keyOf, listParked, type Parked, requestRetry, skipDecider } from '../projector/parked';
import { execute } from '../kernel/decider';
import { type Position } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { type Found } from '../kernel/query';
import { shortened } from '../kernel/text';
import { jsonObject } from '../kernel/values';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { inParallel } from '../runtime/concurrency';
import { type ParkedEvent, parkedEvents, Parking } from '../runtime/parked-events';
import { NoGeneration, type ReadStore } from '../kernel/read-store';
import { MATCHER } from '../delivery/matching/matcher';
import { type Projection } from '../projector/projection';
import { logOf, type ProjectedEngines, projectionsNamed } from './rebuild';
import { CommandError } from './command-error';
import { eventAtPosition } from './inspect-log';

/** What is parked: a document of a live read model or of an automation, or an event. */
export type ParkedIn = {
  /** The projection, or `matcher`, `automations` or `directory` (`docs/decisions.md#x103`). */
  readonly name: string;
  /**
   * How operators refer to it: the document's id, or `<stream>@<position>` of an event that names none,
   * `<stream>@<revision>` elsewhere.
   */
  readonly id: string;
} & (
  | { readonly is: 'document'; readonly entry: Parked }
  | { readonly is: 'event'; readonly entry: ParkedEvent }
  | { readonly is: 'of the directory'; readonly entry: UnusableEvent }
);

const DIRECTORY = 'directory';

type ParkedEngines = Pick<ProjectedEngines, 'log' | 'store'>;

/**
 * What is parked in the live read model of a projection, in the matcher, the automations or the directory, or in `all`,
 * by these and id. Raises `UsageError` for another name.
 */
export async function parkedIn({ log, store }: ParkedEngines, name: string): Promise<readonly ParkedIn[]> {
  const isNamed = (other: string): boolean => name === other || name === 'all';
  const found: ParkedIn[] = [];
  for (const { collection } of projectionsIn(name)) {
    const live = await liveGeneration(store, collection);
    if (live !== undefined) found.push(...(await documentsIn(store, collection.name, nameOf(live))));
  }
  if (isNamed(AUTOMATIONS)) found.push(...(await documentsIn(store, AUTOMATIONS, AUTOMATIONS)));
  if (isNamed(MATCHER))
    for (const entry of await parkedEvents(SYSTEM_CLOCK, log, MATCHER))
      found.push({ is: 'event', name: MATCHER, id: idOf(entry), entry });
  if (isNamed(DIRECTORY))
    for (const entry of (await directoryAt(log)).unusable)
      found.push({ is: 'of the directory', name: DIRECTORY, id: idOf(entry), entry });
  return found;
}

/** What is parked, in words, and what an operator does next. */
export type ExplainedParked = ParkedIn & { readonly what: string; readonly next: string };

/** How many events are read at the same time for the names of products. */
const AT_ONCE = 16;

export async function explainParked(
  engines: ParkedEngines,
  found: readonly ParkedIn[],
): Promise<readonly ExplainedParked[]> {
  const ids = found.flatMap((one) => (isOfProduct(one) ? (one.entry.document ?? []) : []));
  const offers = new Map<string, StoredOffer>();
  if (ids.length > 0) {
    const stored = await engines.store.get({ collection: products.collection.name }, ids).catch(orNone);
    for (const { id, body } of stored) offers.set(id, JSON.parse(body) as StoredOffer);
  }
  return await inParallel(found, AT_ONCE, async (one) => {
    const offer = offers.get(one.id);
    const what = isOfProduct(one)
      ? productText(one.entry.stream, offer ?? (await productOfEvent(engines.log, one.entry.position)))
      : thingText(one);
    return { ...one, what, next: nextStep(one) };
  });
}

const OF_PRODUCTS: readonly string[] = [products, priceHistory].map(({ collection }) => collection.name);

type ParkedDocument = Extract<ParkedIn, { readonly is: 'document' }>;

function isOfProduct(one: ParkedIn): one is ParkedDocument {
  return one.is === 'document' && OF_PRODUCTS.includes(one.name);
}

/** As far as an event tells: a new price has no name. */
interface ProductInEvent {
  readonly sourceProductId?: unknown;
  readonly product?: { readonly name?: unknown };
}

async function productOfEvent(log: EventLog, position: Position): Promise<ProductInEvent | undefined> {
  const event = await eventAtPosition(log, position);
  return event && jsonObject(event.data);
}

function productText(stream: string, { sourceProductId, product }: ProductInEvent = {}): string {
  const feed = `feed ${stream.slice(stream.indexOf('-') + 1)}`;
  if (typeof sourceProductId !== 'string') return `something in ${feed}`;
  const name = typeof product?.name === 'string' ? ` (${shortened(product.name, MOST_NAME)})` : '';
  return `product ${sourceProductId} of ${feed}${name}`;
}

const MOST_NAME = 100;

/** By its stream: `voucher 7`; of an automation, whose entries have none, by the automation and the document. */
function thingText({ id, entry: { stream } }: ParkedIn): string {
  const [kind = '', ...rest] = (stream === '' ? id : stream).split(stream === '' ? '/' : '-');
  return rest.length === 0 ? id : `${kind} ${rest.join('-')}`;
}

function nextStep(one: ParkedIn): string {
  const { name, id } = one;
  if (one.is === 'of the directory')
    return 'import what should be true with `affilog network import FILE`: every process ignores this event';
  if (name === AUTOMATIONS) return 'mend what the error names: it is retried every minute';
  const retried = `\`affilog parked retry ${name} ${id}\` retries it, as a new version of the program does by itself`;
  if (one.is === 'document' && one.entry.event === undefined) return retried;
  return `${retried}; \`affilog parked skip ${name} ${id} --reason TEXT\` leaves the event out for good`;
}

function orNone(error: unknown): readonly Found[] {
  if (error instanceof NoGeneration) return [];
  throw error;
}

/** Number of parked documents in all live read models, and of those that automations cannot act on. */
export async function parkedCount(store: ReadStore): Promise<number> {
  const live = await Promise.all(
    projectionsNamed('all').map(({ collection }) => liveGeneration(store, collection)),
  );
  const generations = live.flatMap((generation) => (generation === undefined ? [] : nameOf(generation)));
  return await countParked(store, [...generations, AUTOMATIONS]);
}

/** Number of actions of automations that have failed and are retried. */
export async function countParkedActions(store: ReadStore): Promise<number> {
  return await countParked(store, [AUTOMATIONS]);
}

/** Counts the events that the matcher cannot use. Each count reads what is new. */
export function parkedEventCounter(log: EventLog): () => Promise<number> {
  const parking = new Parking(SYSTEM_CLOCK, log, MATCHER);
  return async () => (await parking.refresh()).parked.size;
}

/** What is parked with this id. Raises `CommandError`. */
export async function parkedById(engines: ParkedEngines, name: string, id: string): Promise<ParkedIn> {
  if (name === 'all') throw new CommandError(`${id} needs the name of its projection in place of all`);
  const found = (await parkedIn(engines, name)).find((parked) => parked.id === id);
  if (found === undefined)
    throw new CommandError(`${id} is not parked in ${name}: "affilog parked list" shows what is`);
  return found;
}

/**
 * Asks those who could not use it to retry what is parked: one document or event, or all of a projection or other name,
 * or of `all`. Returns their number. Raises `CommandError`.
 */
export async function retry(
  engines: ParkedEngines,
  name: string,
  id: string | undefined,
  at: string,
): Promise<number> {
  if (name === DIRECTORY)
    throw new CommandError(
      'events of the reference data are tried again by each process when it starts: restart those with a version ' +
        'that can use them',
    );
  const found = id === undefined ? await parkedIn(engines, name) : [await parkedById(engines, name, id)];
  const parked = found.filter(({ is }) => is !== 'of the directory');
  await requestRetry(
    engines.store,
    parked.flatMap((one) => (one.is === 'document' ? [one.entry] : [])),
  );
  const events = parked.flatMap((one) => (one.is === 'event' ? [one.entry.event] : []));
  if (events.length > 0)
    await (await new Parking(SYSTEM_CLOCK, engines.log, MATCHER).refresh()).retry(events, at);
  return parked.length;
}

/**
 * Permanently excludes the event at which a document is parked from its projection, and requests a retry; or gives up
 * an event that is parked (`docs/decisions.md#x47`). Raises `CommandError`, `OtherLog`.
 */
export async function skip(
  engines: ProjectedEngines,
  { name, id }: { readonly name: string; readonly id: string },
  { reason, by, at }: { readonly reason: string; readonly by: string; readonly at: string },
): Promise<{ readonly event: string; readonly stream: string; readonly isRetried: boolean }> {
  const found = await parkedById(engines, name, id);
  if (found.is === 'event') {
    const { event, stream } = found.entry;
    await (await new Parking(SYSTEM_CLOCK, engines.log, MATCHER).refresh()).skip(event, { reason, by, at });
    return { event, stream, isRetried: false };
  }
  if (found.is === 'of the directory')
    throw new CommandError(`${id} is ignored anyway: append what should be true instead`);
  const { entry } = found;
  const { event, stream, document } = entry;
  if (name === AUTOMATIONS)
    throw new CommandError(
      `${id} is a document that an automation cannot act on: it is retried every minute`,
    );
  if (event === undefined)
    throw new CommandError(
      `${id} failed at a change of the directory, not at an event of its own: retry it instead`,
    );
  const log = await logOf(engines, name);
  const failed = document === undefined ? { event, stream } : { event, stream, document };
  await execute(SYSTEM_CLOCK, log, skipDecider, name, { ...failed, reason, by, at });
  await requestRetry(engines.store, [entry]);
  return { event, stream, isRetried: true };
}

function projectionsIn(name: string): readonly Projection[] {
  return [AUTOMATIONS, MATCHER, DIRECTORY].includes(name) ? [] : projectionsNamed(name);
}

async function documentsIn(store: ReadStore, name: string, generation: string): Promise<readonly ParkedIn[]> {
  const entries = await listParked(store, generation).catch((error: unknown) => {
    // Nothing has been projected yet.
    if (error instanceof NoGeneration) return [];
    throw error;
  });
  const listed = entries.map((entry) => ({ is: 'document' as const, name, id: keyOf(entry), entry }));
  return listed.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function idOf({ stream, revision }: Pick<UnusableEvent, 'stream' | 'revision'>): string {
  return `${stream}@${revision}`;
}
