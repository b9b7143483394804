import { type ModelEvent, type ModelNetwork, type ModelProgram } from '../support/transaction-model';
import { type ProgramChange, SITES } from './transaction-histories';
import { CONVERSION_NETWORK } from './transaction-network';

type Definition = Omit<ModelProgram, 'status' | 'invoicesPaid'>;

const EVENT = { pendingDays: 3, autoDeny: false } as const;
/** The programs of random histories, two of which share an event; their changes change the terms of events. */
export const DEFINITIONS: readonly Definition[] = [
  {
    ...{ id: 101, organisationId: 1, country: 'DE', currency: 'EUR' },
    events: [
      { ...EVENT, id: 301, kind: 'sale', commission: { percent: 6 } },
      { ...EVENT, id: 302, kind: 'lead', commission: { fixed: 1.5 } },
    ],
  },
  {
    ...{ id: 102, organisationId: 1, country: 'KW', currency: 'KWD' },
    events: [
      { ...EVENT, id: 301, kind: 'sale', commission: { percent: 5 } },
      { ...EVENT, id: 304, kind: 'lead', commission: { fixed: 0.125 } },
    ],
  },
  {
    ...{ id: 201, organisationId: 2, country: 'JP', currency: 'JPY' },
    events: [
      { ...EVENT, id: 401, kind: 'sale', commission: { percent: 8 } },
      { ...EVENT, id: 402, kind: 'lead', commission: { fixed: 25 } },
    ],
  },
];

/** The network that histories begin with. */
export const FIRST_NETWORK: ModelNetwork = {
  programs: DEFINITIONS.map((one) => ({ ...one, status: 'active', invoicesPaid: false })),
  connections: new Set(['1101 101', '1101 102', '1102 102', '1201 101', '1101 201']),
  siteNames: new Map(SITES.map((id) => [id, `Site ${id}`])),
};

/** As a network file. */
export function networkFile({ programs, connections }: ModelNetwork): object {
  return {
    ...CONVERSION_NETWORK,
    ...{ feeds: [], categories: [], mappings: [] },
    programs: programs.map(({ events, ...program }) => ({
      ...program,
      name: `Program ${program.id}`,
      events: events.map((event) => ({ ...event, name: `Event ${event.id}` })),
    })),
    connections: [...connections].map((pair) => {
      const [siteId, programId] = pair.split(' ').map(Number);
      return { siteId, programId };
    }),
  };
}

export function programsAfter(
  { programs }: ModelNetwork,
  { programId, status, invoicesPaid, events }: ProgramChange,
): readonly ModelProgram[] {
  const others = programs.filter(({ id }) => id !== programId);
  const definition = DEFINITIONS.find(({ id }) => id === programId);
  if (status === 'removed' || definition === undefined) return others;
  const changed = definition.events.flatMap((event, at): readonly ModelEvent[] => {
    const { isRemoved = false, ...terms } = events[at] ?? {};
    return isRemoved ? [] : [{ ...event, ...terms }];
  });
  return [...others, { ...definition, status, invoicesPaid, events: changed }];
}
