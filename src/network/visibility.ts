import { type Shape } from '../wire/api/description';
import { boolean, text } from '../wire/record/kinds';
import { type AnswerOf, listOf, record } from '../wire/record/record';
import { type Directory } from './directory';
import { type OrganisationDefinition } from './events';

const condition = record(
  {
    condition: { kind: text(), description: 'What must hold' },
    holds: { kind: boolean(), description: 'Whether it does' },
    found: { kind: text(), description: 'The values that this depends on' },
    remedy: { kind: text(), optional: true, description: 'What helps, if it does not hold' },
  },
  { name: 'Condition' },
);

export type Condition = AnswerOf<typeof condition>;

/** What must hold for publishers to see something. */
export const VISIBILITY = {
  name: 'Visibility',
  kind: record({
    visible: {
      kind: boolean(),
      description:
        'Whether publishers see it: those conditions hold that are not about a read model that is behind',
    },
    conditions: { kind: listOf(condition, { each: 'condition' }), description: 'Each of them' },
  }),
  xml: { file: 'Visibility_v1_0.xsd', root: 'visibility' },
} as const satisfies Shape;

export type Visibility = AnswerOf<typeof VISIBILITY.kind>;

export function visibilityBy(conditions: readonly Condition[]): Visibility {
  return { visible: conditions.every(({ holds }) => holds), conditions };
}

/** A condition; its remedy is left out if it holds. */
export function conditionOf(name: string, holds: boolean, found: string, remedy: string): Condition {
  return { condition: name, holds, found, ...(holds ? {} : { remedy }) };
}

/** Who asks: what helps is different things for operators and for the owner of what is not visible. */
export type Asker = 'operator' | 'owner';

/** A publisher, by one of its sites or by any of them. */
export interface Viewer {
  readonly publisher: OrganisationDefinition;
  /** Of the publisher. */
  readonly siteIds: readonly number[];
}

/**
 * Whether a site is connected to one of some programs (`docs/decisions.md#p26`, `#v10`): one of the viewer's, or
 * without a viewer, any.
 */
export function connectionCondition(
  directory: Directory,
  programIds: readonly number[],
  { asker, viewer }: { readonly asker: Asker; readonly viewer: Viewer | undefined },
): Condition {
  const { programs } = directory;
  const siteIds = viewer?.siteIds ?? [...programs.allSites()].map(({ id }) => id);
  const connected = connectedTo(directory, programIds, siteIds);
  const to = `${programIds.length === 1 ? 'program' : 'one of the programs'} ${programIds.join(', ')}`;
  return conditionOf(
    'connected',
    connected.length > 0,
    viewer === undefined
      ? `${connected.length === 1 ? '1 site is' : `${connected.length} sites are`} connected to ${to}`
      : `${named(viewer.publisher)} has ${sitesText(siteIds)}: ` +
          (connected.length === 0
            ? `none is connected to ${to}`
            : `${connected.join(', ')} connected to ${to}`),
    asker === 'operator'
      ? 'add the connection of a site to "connections" of a network file, and import it with `affilog network import`'
      : 'publishers see it once the network connects their sites to your program',
  );
}

/** Those of the sites that are connected to one of some programs that exist. */
export function connectedTo(
  { programs }: Directory,
  programIds: readonly number[],
  siteIds: readonly number[],
): readonly number[] {
  const existing = programIds.filter((id) => programs.get(id) !== undefined);
  return siteIds.filter((siteId) => existing.some((id) => programs.connectionsOf(siteId).has(id)));
}

function sitesText(siteIds: readonly number[]): string {
  if (siteIds.length === 0) return 'no site';
  return `${siteIds.length === 1 ? 'site' : 'sites'} ${siteIds.join(', ')}`;
}

/** As in `publisher 11 (Preisradar)`. */
function named({ kind, id, name }: OrganisationDefinition): string {
  return `${kind} ${id} (${name})`;
}
