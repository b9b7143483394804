import { isDeepStrictEqual } from 'node:util';
import { type Decider } from '../kernel/decider';
import { Directory } from './directory';
import { type DirectoryEvent } from './events';

/** The events that a stream of reference data should have come to, whatever it has been through. */
export interface DirectoryCommand {
  readonly facts: readonly DirectoryEvent[];
  /** Tokens for entries that have none; an entry that has one keeps it. */
  readonly newTokens?: readonly TokenIssued[];
}

export type TokenIssued = Extract<DirectoryEvent, { type: 'TokenIssued' }>;

/**
 * Decides for one kind of stream: what holds already is left out, so that a command repeated does nothing. The
 * state is a directory of that one stream, folded in place.
 */
export function directoryDecider(category: string): Decider<DirectoryCommand, Directory, DirectoryEvent> {
  return {
    category,
    get initial() {
      return new Directory();
    },
    decide: missingOf,
    evolve(directory, event) {
      directory.evolve(event);
      return directory;
    },
  };
}

/** Those events of a command that would change something. */
export function missingOf(command: DirectoryCommand, directory: Directory): readonly DirectoryEvent[] {
  const { facts, newTokens = [] } = command;
  return [
    ...facts.filter((event) => !holds(event, directory)),
    ...newTokens.filter(
      ({ data }) => directory.organisations.tokenFor(data.organisationId, data) === undefined,
    ),
  ];
}

function holds(event: DirectoryEvent, directory: Directory): boolean {
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

  /** A program about to be defined will be active. */
  function statusOf(id: number): string {
    return programs.get(id)?.status ?? 'active';
  }
}

/** Whenever it was said. */
function isSame(definition: object, present: object | undefined): boolean {
  return isDeepStrictEqual({ ...definition, at: '' }, { ...present, at: '' });
}
