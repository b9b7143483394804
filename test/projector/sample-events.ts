import { Directory } from '../../src/network/directory';
import { type DirectoryEvent } from '../../src/network/events';
import { type DomainEvent, type ParsedEvent } from '../../src/kernel/decider';
import { type Position } from '../../src/kernel/event';
import { type FeedEvent, type Product } from '../../src/domain/products/feed';
import { type OfferEvent } from '../../projections/products';
import { type Described, type Projection } from '../../src/projector/projection';

export const FEED_ID = 22;
const AT = '2026-04-17T15:57:00.000Z';

export function product(over: Partial<Product> = {}): Product {
  return {
    name: 'Studio headphones',
    description: 'Closed, 32 ohm',
    productUrl: 'https://shop.example/p/1',
    productImage: { url: 'https://shop.example/p/1.jpg' },
    categories: [{ name: 'Audio' }],
    ...over,
  };
}

export function listed(id: string, price = 1000, over: Partial<Product> = {}, at = AT): OfferEvent {
  return { type: 'ProductListed', data: { sourceProductId: id, price, at, product: product(over) } };
}

export function revised(id: string, price = 1000, over: Partial<Product> = {}, at = AT): OfferEvent {
  return { type: 'ProductRevised', data: { sourceProductId: id, price, at, product: product(over) } };
}

export function repriced(id: string, price: number, at = AT): OfferEvent {
  return { type: 'ProductRepriced', data: { sourceProductId: id, price, at } };
}

export function delisted(id: string, at = AT): OfferEvent {
  return { type: 'ProductDelisted', data: { sourceProductId: id, at } };
}

/** The event as later versions record it. */
export function inCurrency(event: OfferEvent, currency: string): OfferEvent {
  return (
    event.type === 'ProductDelisted' ? event : { ...event, data: { ...event.data, currency } }
  ) as OfferEvent;
}

export function programIn(id: number, currency: string): DirectoryEvent {
  const terms = { acceptsClaims: false, daysToAutoApprove: null, events: [] };
  const data = { id, organisationId: 1, name: 'Sol', country: 'BG', currency, logoUrl: null, ...terms };
  return { type: 'ProgramDefined', data: { ...data, at: AT } };
}

export function feedOf(id: number, programId: number): DirectoryEvent {
  const flags = { active: true, visible: true, secret: false, sendToNewPF: true };
  const data = { id, programIds: [programId], name: 'All', language: 'bg', ...flags, at: AT };
  return { type: 'FeedDefined', data };
}

export function defined(id: string, en: string, others: Record<string, string> = {}): DirectoryEvent {
  return { type: 'CategoryDefined', data: { id, parentId: null, names: { en, ...others }, at: AT } };
}

export function removed(id: string): DirectoryEvent {
  return { type: 'CategoryRemoved', data: { id, at: AT } };
}

export function mapped(feedId: number, name: string, categoryId: string): DirectoryEvent {
  return { type: 'CategoryMapped', data: { feedId, name, categoryId, at: AT } };
}

export function unmapped(feedId: number, name: string): DirectoryEvent {
  return { type: 'CategoryUnmapped', data: { feedId, name, at: AT } };
}

export function directoryOf(...events: readonly DirectoryEvent[]): Directory {
  const directory = new Directory();
  for (const event of events) directory.evolve(event);
  return directory;
}

/** The stream that an event of a feed or of the directory belongs to. */
export function streamFor(event: FeedEvent | DirectoryEvent, feedId = FEED_ID): string {
  switch (event.type) {
    case 'CategoryDefined':
    case 'CategoryRemoved':
      return `category-${event.data.id}`;
    case 'ProgramDefined':
      return `program-${event.data.id}`;
    case 'FeedDefined':
      return `feedinfo-${event.data.id}`;
    case 'CategoryMapped':
    case 'CategoryUnmapped':
      return `mapping-${event.data.feedId}`;
    default:
      return `feed-${feedId}`;
  }
}

/** Projects the events of one document; undefined when it is deleted. */
export function project<Document extends object, Event extends DomainEvent>(
  projection: Projection<Document, Event>,
  events: readonly Event[],
  directory = directoryOf(),
  stream = `feed-${FEED_ID}`,
): Described<Document> | undefined {
  let document: Document | undefined;
  let id = '';
  events.forEach((event, at) => {
    const position: Position = String(at + 1).padStart(19, '0');
    const parsed: ParsedEvent<Event> = { ...event, stream, revision: at, position };
    id = projection.idOf(parsed);
    document = projection.fold(document, parsed);
  });
  return document && projection.describe(document, id, directory);
}
