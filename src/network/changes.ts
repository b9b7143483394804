import { isDeepStrictEqual } from 'node:util';
import { shortJson } from '../wire/json/write';
import { type Fact, missingOf } from './decider';
import { type Directory } from './directory';
import { type DirectoryEvent, type Token } from './events';
import { KEYS } from './network-check';

/** What a set of facts would do to one entity. */
export interface NetworkChange {
  readonly does: 'created' | 'changed' | 'removed';
  /** The singular of a list of the network file. */
  readonly kind:
    'organisation' | 'token' | 'program' | 'site' | 'connection' | 'feed' | 'category' | 'mapping';
  /** `301`; `site 51, program 32` for entities without an id of their own. Unique within the kind. */
  readonly id: string;
  /** Its name, and the fields that change: `"Fjord all": visible true -> false`. May be empty. */
  readonly details: string;
}

/** The changes that the facts would make, by entity, in the order of the facts. Nothing that is true already is one. */
export function changesOf(facts: readonly Fact[], directory: Directory): readonly NetworkChange[] {
  const changes = new Map<string, NetworkChange>();
  for (const { event } of missingOf(facts, directory)) {
    const change = changeBy(event, directory);
    const key = `${change.kind} ${change.id}`;
    const other = changes.get(key);
    if (other === undefined) changes.set(key, change);
    // A definition and a status of one program. A created one has the status it is created with.
    else if (other.does === 'changed' && change.does === 'changed')
      changes.set(key, { ...other, details: `${other.details}, ${change.details.replace(/^".*?": /, '')}` });
  }
  return [...changes.values()];
}

/** The first digits of a token's hash: enough to recognize it, and nothing that could be used in its place. */
export function fingerprintOf({ hash }: Pick<Token, 'hash'>): string {
  return hash.slice(0, 12);
}

function changeBy(event: DirectoryEvent, directory: Directory): NetworkChange {
  const { organisations, programs, categories } = directory;
  switch (event.type) {
    case 'OrganisationDefined':
      return defined('organisation', event.data, organisations.get(event.data.id));
    case 'OrganisationRemoved':
      return removed('organisation', event.data.id, organisations.get(event.data.id)?.name);
    case 'TokenIssued': {
      const present = organisations.tokenFor(event.data.organisationId, event.data);
      const id = KEYS.tokens(event.data);
      return present === undefined
        ? { does: 'created', kind: 'token', id, details: '' }
        : { does: 'changed', kind: 'token', id, details: `replaces ${fingerprintOf(present)}` };
    }
    case 'TokenRevoked': {
      const { organisationId, hash } = event.data;
      const token = [...organisations.tokensOf(organisationId)].find((one) => one.hash === hash);
      const id =
        token === undefined ? `organisation ${organisationId}` : KEYS.tokens({ organisationId, ...token });
      return { does: 'removed', kind: 'token', id, details: fingerprintOf(event.data) };
    }
    case 'ProgramDefined': {
      const present = programs.get(event.data.id);
      return defined('program', { ...event.data, ...(present && { status: present.status }) }, present);
    }
    case 'ProgramActivated':
      return statusSet(event.data.id, 'active');
    case 'ProgramPaused':
      return statusSet(event.data.id, 'paused');
    case 'ProgramClosed':
      return statusSet(event.data.id, 'closed');
    case 'ProgramRemoved':
      return removed('program', event.data.id, programs.get(event.data.id)?.name);
    case 'SiteDefined':
      return defined('site', event.data, programs.site(event.data.id));
    case 'SiteRemoved':
      return removed('site', event.data.id, programs.site(event.data.id)?.name);
    case 'SiteConnected':
    case 'SiteDisconnected': {
      const id = KEYS.connections(event.data);
      const does = event.type === 'SiteConnected' ? 'created' : 'removed';
      return { does, kind: 'connection', id, details: '' };
    }
    case 'FeedDefined':
      return defined('feed', event.data, programs.feed(event.data.id));
    case 'FeedRemoved':
      return removed('feed', event.data.id, programs.feed(event.data.id)?.name);
    case 'CategoryDefined':
      return defined('category', event.data, categories.get(event.data.id));
    case 'CategoryRemoved':
      return removed('category', event.data.id, categories.get(event.data.id)?.names['en']);
    case 'CategoryMapped':
    case 'CategoryUnmapped': {
      const { feedId, name } = event.data;
      const before = categories.mappingsOf(feedId).get(name);
      const after = event.type === 'CategoryMapped' ? event.data.categoryId : undefined;
      const does = after === undefined ? 'removed' : before === undefined ? 'created' : 'changed';
      const details = [before, after].filter((id) => id !== undefined).join(' -> ');
      return { does, kind: 'mapping', id: KEYS.mappings({ feedId, name, categoryId: '' }), details };
    }
  }

  function statusSet(id: number, status: string): NetworkChange {
    const program = programs.get(id);
    return program === undefined
      ? { does: 'created', kind: 'program', id: `${id}`, details: '' }
      : {
          does: 'changed',
          kind: 'program',
          id: `${id}`,
          details: `${shortJson(program.name)}: status ${program.status} -> ${status}`,
        };
  }
}

type Named = { readonly id: number | string } & (
  { readonly name: string } | { readonly names: Readonly<Record<string, string>> }
);

function defined(kind: NetworkChange['kind'], after: Named, before: Named | undefined): NetworkChange {
  const name = shortJson('name' in after ? after.name : after.names['en']);
  if (before === undefined) return { does: 'created', kind, id: `${after.id}`, details: name };
  const fields = differences(before, after);
  return { does: 'changed', kind, id: `${after.id}`, details: `${name}: ${fields.join(', ')}` };
}

function removed(kind: NetworkChange['kind'], id: number | string, name: string | undefined): NetworkChange {
  return { does: 'removed', kind, id: `${id}`, details: name === undefined ? '' : shortJson(name) };
}

/** The fields that differ, except for the time of the event. */
function differences(before: object, after: object): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)].filter((name) => name !== 'at'));
  return [...names].flatMap((name) => {
    const [old, present] = [before, after].map((one): unknown => Reflect.get(one, name));
    const [from, to] = [old, present].map((value) => (value === undefined ? 'none' : shortJson(value)));
    return isDeepStrictEqual(old, present) ? [] : [`${name} ${from} -> ${to}`];
  });
}
