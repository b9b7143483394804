import fc from 'fast-check';
import { type ChangedProduct } from '../../../src/domain/products/feed-changes';
import { productTopic } from '../../../src/domain/products/topic';
import { Selector } from '../../../src/domain/subscriptions/selector';
import { type SubscriptionFilter } from '../../../src/domain/subscriptions/subscription';
import { type Occurrence } from '../../../src/domain/subscriptions/topic';
import { START } from '../../../src/kernel/event';
import { type FeedInfoEvent, type ProgramEvent, type SiteEvent } from '../../../src/network/events';
import { Programs } from '../../../src/network/programs';

const at = '2026-03-01T12:00:00.000Z';
/** Sites by organisation: 31 is of 11, 32 and 33 are of 12. */
const OWNERS: Readonly<Record<number, number>> = { 31: 11, 32: 12, 33: 12 };
const FEED = 7;

interface World {
  /** Of the feed: 1 belongs to organisation 1, 2 to organisation 2, and 3 does not exist. */
  readonly programIds: readonly number[];
  readonly active: boolean;
  readonly visible: boolean;
  readonly connections: readonly (readonly [siteId: number, programId: number])[];
}

const worlds: fc.Arbitrary<World> = fc.record({
  programIds: fc.uniqueArray(fc.constantFrom(1, 2, 3), { minLength: 1 }),
  active: fc.boolean(),
  visible: fc.constantFrom(true, true, false),
  connections: fc.array(fc.tuple(fc.constantFrom(31, 32, 33), fc.constantFrom(1, 2, 3)), { maxLength: 5 }),
});

function programsOf({ programIds, active, visible, connections }: World): Programs {
  const programs = new Programs();
  const facts = { name: 'x', country: 'DE', currency: 'EUR', events: [], at };
  const events = [
    ...[1, 2].map((id) => ({ type: 'ProgramDefined', data: { id, organisationId: id, ...facts } })),
    ...Object.entries(OWNERS).map(([id, organisationId]) => ({
      type: 'SiteDefined',
      data: { id: Number(id), organisationId, name: 'x', url: 'x', at },
    })),
    ...connections.map(([siteId, programId]) => ({ type: 'SiteConnected', data: { siteId, programId, at } })),
    { type: 'FeedDefined', data: { id: FEED, programIds, active, visible, name: 'x', language: 'de', at } },
  ];
  for (const event of events) programs.evolve(event as unknown as ProgramEvent | SiteEvent | FeedInfoEvent);
  return programs;
}

interface Change {
  readonly type: 'ProductPriceFell' | 'ProductBackInStock' | 'FeedChangesRecorded';
  readonly price: number;
  readonly fellFrom: number;
  readonly categoryIds: readonly string[];
  readonly name: string;
  readonly brand: string;
}

const changes: fc.Arbitrary<Change> = fc.record({
  type: fc.constantFrom('ProductPriceFell', 'ProductBackInStock', 'FeedChangesRecorded'),
  price: fc.constantFrom(0, 50, 89, 90, 91, 99),
  fellFrom: fc.constant(100),
  categoryIds: fc.constantFrom([], ['42', '4'], ['5']),
  name: fc.constantFrom('Wall lamp', 'Garden chair', 'Grüne Lampe'),
  brand: fc.constantFrom('', 'Sol'),
});

const filters: fc.Arbitrary<SubscriptionFilter> = fc.record(
  {
    stateIds: fc.subarray([1, 2, 3], { minLength: 1 }),
    programIds: fc.subarray([1, 2], { minLength: 1 }),
    siteIds: fc.subarray([31, 32, 33], { minLength: 1 }),
    feedIds: fc.constantFrom([FEED], [8]),
    tdCategoryIds: fc.constantFrom([4], [42, 5], [9]),
    keywords: fc.constantFrom(['sol'], ['chair', 'lamp sol'], ['wall lamp']),
    minFallPercent: fc.constantFrom(1, 10, 11, 99),
  },
  { requiredKeys: ['stateIds'] },
);

function occurrenceOf({ type, price, fellFrom, categoryIds, name, brand }: Change, programs: Programs) {
  const load = { loadId: 'l', loadTime: at, mode: 'update', new: 1, revised: 0, repriced: 0, removed: 0 };
  const product: ChangedProduct = {
    ...{ sourceProductId: 'a-b', name, price, currency: 'EUR', categoryIds, loadTime: at },
    ...(brand === '' ? {} : { brand }),
  };
  const data =
    type === 'FeedChangesRecorded'
      ? { at, upTo: 9, load: { ...load, fallen: 1, restocked: 0 } }
      : { at, ...product, ...(type === 'ProductPriceFell' ? { fellFrom } : {}) };
  const event = { type, data, stream: `feedchanges-${FEED}`, revision: 4, position: START };
  return productTopic.occurrence(event, programs);
}

/** Whether a subscription is notified, as decisions N20 has it. */
function isNotified(
  { programIds, active, visible, connections }: World,
  { type, price, fellFrom, categoryIds, name, brand }: Change,
  { organisationId, siteId, filter }: { organisationId: number; siteId?: number; filter: SubscriptionFilter },
): boolean {
  const existing = programIds.filter((id) => id !== 3);
  const isMapped = type === 'FeedChangesRecorded' || categoryIds.length > 0;
  const isListed = active && visible && isMapped;
  const sites = connections.filter(([, id]) => isListed && existing.includes(id)).map(([id]) => id);
  const isSeen = existing.includes(organisationId) || sites.some((id) => OWNERS[id] === organisationId);
  if (!isSeen || (siteId !== undefined && !sites.includes(siteId))) return false;
  const stateId = { ProductPriceFell: 1, ProductBackInStock: 2, FeedChangesRecorded: 3 }[type];
  if (!filter.stateIds.includes(stateId)) return false;
  if (filter.programIds?.some((id) => existing.includes(id)) === false) return false;
  if (filter.siteIds?.some((id) => sites.includes(id)) === false) return false;
  if (filter.feedIds?.includes(FEED) === false) return false;
  const isAboutProduct = type !== 'FeedChangesRecorded';
  if (filter.tdCategoryIds !== undefined) {
    const own = filter.tdCategoryIds.some((id) => categoryIds.includes(String(id)));
    if (!isAboutProduct || !own) return false;
  }
  const words = `${name} ${brand}`.toLowerCase().split(' ');
  const isNamed = filter.keywords?.some((text) => text.split(' ').every((word) => words.includes(word)));
  if (isNamed !== undefined && !(isAboutProduct && isNamed)) return false;
  const least = filter.minFallPercent;
  return least === undefined || type !== 'ProductPriceFell' || fellFrom - price >= least;
}

describe('who is notified of products (decisions N20)', () => {
  const subscribers = [1, 2, 11, 12].flatMap((organisationId) =>
    organisationId === 12 ? [{ organisationId }, { organisationId, siteId: 33 }] : [{ organisationId }],
  );

  test('are those who may see them, as far as their filters select them', () => {
    fc.assert(
      fc.property(worlds, changes, filters, (world, change, filter) => {
        const occurrence = occurrenceOf(change, programsOf(world))!;
        for (const subscriber of subscribers) {
          const own = { ...subscriber, filter };
          const found = new Selector(own).of(subscriber.organisationId, occurrence);
          expect([own, found !== undefined]).toEqual([own, isNotified(world, change, own)]);
        }
      }),
    );
  });

  test('a message is the same whatever has become of programs, sites and feeds', () => {
    fc.assert(
      fc.property(worlds, changes, (world, change) => {
        const [then, now] = [programsOf(world), new Programs()].map((one) => occurrenceOf(change, one));
        const rendered = ({ subject, sequence, stateId, attributes, amounts, currencyId }: Occurrence) => {
          return { subject, sequence, stateId, attributes, amounts, currencyId };
        };
        expect(rendered(now!)).toEqual(rendered(then!));
        expect(then!.subject).toBe(change.type === 'FeedChangesRecorded' ? '7' : '7-a-b');
        expect(productTopic.streamOf(then!.subject)).toBe('feedchanges-7');
      }),
    );
  });

  test('nobody, of what is recorded without anybody to be notified', () => {
    const event = { type: 'FeedChangesRecorded', data: { at, upTo: 9 }, stream: 'feedchanges-7' };
    const parsed = { ...event, revision: 0, position: START };
    expect(productTopic.occurrence(parsed, new Programs())).toBeUndefined();
  });

  test('attributes of examples are those that are described', () => {
    const names = [1, 2, 3].flatMap((state) =>
      Object.keys(productTopic.example(state, new Date(at)).attributes),
    );
    expect(new Set(names)).toEqual(new Set(productTopic.attributes));
  });
});
