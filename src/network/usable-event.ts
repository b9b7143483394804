import { type DirectoryEvent } from './events';

type Kind = 'integer' | 'text' | 'integers' | 'texts by name' | 'events' | 'text or null';

/** What the directory reads of each event without asking whether it is there. */
const NEEDED: Readonly<Record<DirectoryEvent['type'], Readonly<Record<string, Kind>>>> = {
  OrganisationDefined: { id: 'integer', kind: 'text', name: 'text' },
  OrganisationRemoved: { id: 'integer' },
  TokenIssued: { organisationId: 'integer', system: 'text', hash: 'text' },
  TokenRevoked: { organisationId: 'integer', hash: 'text' },
  ProgramDefined: {
    ...{ id: 'integer', organisationId: 'integer', name: 'text', country: 'text', currency: 'text' },
    events: 'events',
  },
  ProgramActivated: { id: 'integer' },
  ProgramPaused: { id: 'integer' },
  ProgramClosed: { id: 'integer' },
  ProgramRemoved: { id: 'integer' },
  SiteDefined: { id: 'integer', organisationId: 'integer', name: 'text', url: 'text' },
  SiteRemoved: { id: 'integer' },
  SiteConnected: { siteId: 'integer', programId: 'integer' },
  SiteDisconnected: { siteId: 'integer', programId: 'integer' },
  FeedDefined: { id: 'integer', programIds: 'integers', name: 'text', language: 'text' },
  FeedRemoved: { id: 'integer' },
  CategoryDefined: { id: 'text', parentId: 'text or null', names: 'texts by name' },
  CategoryRemoved: { id: 'text' },
  CategoryMapped: { feedId: 'integer', name: 'text', categoryId: 'text' },
  CategoryUnmapped: { feedId: 'integer', name: 'text' },
};

const CHECKS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  integer: Number.isInteger,
  text: isText,
  'text or null': (value) => value === null || isText(value),
  integers: (value) => Array.isArray(value) && value.every(Number.isInteger),
  'texts by name': (value) => isObject(value) && Object.values(value).every(isText),
  events: (value) => Array.isArray(value) && value.every((one) => isObject(one) && isEvent(one)),
};

/**
 * What an event lacks, such as `events`, if that keeps the directory from using it: another program has written it. Undefined for
 * those that are usable, and for types that are unknown.
 */
export function missingIn({ type, data }: DirectoryEvent): string | undefined {
  const needed = Object.hasOwn(NEEDED, type) ? NEEDED[type] : {};
  const found = Object.entries(needed).find(([name, kind]) => !CHECKS[kind](Reflect.get(data, name)));
  return found?.[0];
}

function isEvent(event: object): boolean {
  return Number.isInteger(Reflect.get(event, 'id')) && isText(Reflect.get(event, 'name'));
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
