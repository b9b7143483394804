import { isDeepStrictEqual } from 'node:util';
import { type Decider } from '../kernel/decider';
import { Directory } from './directory';
import { type DirectoryEvent } from './events';

/** An event whose outcome should be true: it is appended only if it would change something. */
export interface Fact {
  readonly category: 'organisation' | 'program' | 'site' | 'feedinfo' | 'category' | 'mapping';
  readonly id: number | string;
  readonly event: DirectoryEvent;
  /** For `TokenIssued`: append it only if there is no token yet. */
  readonly ifNone?: boolean;
}

/** The fact that an event is true, in the stream of its entity. */
export function factOf(event: DirectoryEvent): Fact {
  const { type, data } = event;
  const category = CATEGORIES.find(([beginning]) => type.startsWith(beginning))?.[1] ?? 'category';
  if ('id' in data) return { category, id: data.id, event };
  if ('hash' in data) return { category, id: data.organisationId, event };
  return { category, id: 'feedId' in data ? data.feedId : data.siteId, event };
}

/** By what the types of their events begin with; the first one counts. */
const CATEGORIES = [
  ['Organisation', 'organisation'],
  ['Token', 'organisation'],
  ['Program', 'program'],
  ['Site', 'site'],
  ['Feed', 'feedinfo'],
  ['CategoryMapped', 'mapping'],
  ['CategoryUnmapped', 'mapping'],
] as const;

/**
 * The decider for one category of streams. It omits facts that are already true, so repeating a command does nothing.
 * The state is a directory of that one stream, changed in place.
 */
export function directoryDecider(
  category: Fact['category'],
): Decider<readonly Fact[], Directory, DirectoryEvent> {
  return {
    category,
    get initial() {
      return new Directory();
    },
    decide: (facts, directory) => missingOf(facts, directory).map(({ event }) => event),
    evolve(directory, event) {
      directory.evolve(event);
      return directory;
    },
  };
}

/** The facts that would change something. */
export function missingOf(facts: readonly Fact[], directory: Directory): readonly Fact[] {
  return facts.filter(({ event, ifNone = false }) =>
    ifNone && event.type === 'TokenIssued'
      ? directory.organisations.tokenFor(event.data.organisationId, event.data) === undefined
      : !isTrue(event, directory),
  );
}

function isTrue(event: DirectoryEvent, directory: Directory): boolean {
  const { organisations, programs, categories } = directory;
  switch (event.type) {
    case 'OrganisationDefined':
      return isSame(event.data, organisations.get(event.data.id));
    case 'OrganisationRemoved':
      return organisations.get(event.data.id) === undefined;
    case 'TokenIssued':
      return organisations.tokenFor(event.data.organisationId, event.data)?.hash === event.data.hash;
    case 'TokenRevoked':
      return [...organisations.tokensOf(event.data.organisationId)].every(
        ({ hash }) => hash !== event.data.hash,
      );
    case 'ProgramDefined': {
      const program = programs.get(event.data.id);
      return program !== undefined && isSame({ ...event.data, status: program.status }, program);
    }
    case 'ProgramActivated':
      return statusOf(event.data.id) === 'active';
    case 'ProgramPaused':
      return statusOf(event.data.id) === 'paused';
    case 'ProgramClosed':
      return statusOf(event.data.id) === 'closed';
    case 'ProgramRemoved':
      return programs.get(event.data.id) === undefined;
    case 'SiteDefined':
      return isSame(event.data, programs.site(event.data.id));
    case 'SiteRemoved':
      return programs.site(event.data.id) === undefined;
    case 'SiteConnected':
      return programs.connectionsOf(event.data.siteId).has(event.data.programId);
    case 'SiteDisconnected':
      return !programs.connectionsOf(event.data.siteId).has(event.data.programId);
    case 'FeedDefined':
      return isSame(event.data, programs.feed(event.data.id));
    case 'FeedRemoved':
      return programs.feed(event.data.id) === undefined;
    case 'CategoryDefined':
      return isSame(event.data, categories.get(event.data.id));
    case 'CategoryRemoved':
      return categories.get(event.data.id) === undefined;
    case 'CategoryMapped':
      return categories.mappingsOf(event.data.feedId).get(event.data.name) === event.data.categoryId;
    case 'CategoryUnmapped':
      return !categories.mappingsOf(event.data.feedId).has(event.data.name);
  }

  /** A program that does not exist yet will be active once defined. */
  function statusOf(id: number): string {
    return programs.get(id)?.status ?? 'active';
  }
}

/** Ignores the time of the event. */
function isSame(definition: object, present: object | undefined): boolean {
  return isDeepStrictEqual({ ...definition, at: '' }, { ...present, at: '' });
}
