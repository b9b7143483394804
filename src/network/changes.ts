import { isDeepStrictEqual } from 'node:util';
import { shortJson } from '../wire/json/write';
import { definedBefore, type Fact, missingOf } from './decider';
import { type Directory } from './directory';
import { type DirectoryEvent, STATUS_AFTER, type Token } from './events';
import { KEYS } from './network-facts';

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
    case 'ProgramActivated':
    case 'ProgramPaused':
    case 'ProgramClosed': {
      const program = programs.get(event.data.id);
      const id = `${event.data.id}`;
      if (program === undefined) return { does: 'created', kind: 'program', id, details: '' };
      const statuses = `${program.status} -> ${STATUS_AFTER[event.type]}`;
      return {
        does: 'changed',
        kind: 'program',
        id,
        details: `${shortJson(program.name)}: status ${statuses}`,
      };
    }
    case 'SiteConnected':
    case 'SiteDisconnected': {
      const id = KEYS.connections(event.data);
      const does = event.type === 'SiteConnected' ? 'created' : 'removed';
      return { does, kind: 'connection', id, details: '' };
    }
    case 'CategoryMapped':
    case 'CategoryUnmapped': {
      const { feedId, name } = event.data;
      const before = categories.mappingsOf(feedId).get(name);
      const after = event.type === 'CategoryMapped' ? event.data.categoryId : undefined;
      const does = after === undefined ? 'removed' : before === undefined ? 'created' : 'changed';
      const details = [before, after].filter((id) => id !== undefined).join(' -> ');
      return { does, kind: 'mapping', id: KEYS.mappings({ feedId, name, categoryId: '' }), details };
    }
    default: {
      const { kind, present } = definedBefore(event, directory);
      const id = `${event.data.id}`;
      const after = 'name' in event.data || 'names' in event.data ? event.data : undefined;
      const name = nameOf(after ?? present);
      if (after === undefined) return { does: 'removed', kind, id, details: name };
      if (present === undefined) return { does: 'created', kind, id, details: name };
      const fields = differences(present, after);
      return { does: 'changed', kind, id, details: `${name}: ${fields.join(', ')}` };
    }
  }
}

type NamedEntity = { readonly name: string } | { readonly names: Readonly<Record<string, string>> };

function nameOf(one: NamedEntity | undefined): string {
  const name = one && ('name' in one ? one.name : one.names['en']);
  return name === undefined ? '' : shortJson(name);
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
