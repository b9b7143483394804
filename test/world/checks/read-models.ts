import { isDeepStrictEqual } from 'node:util';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../../projections';
import { type Document } from '../../../src/kernel/read-store';
import { EPOCH } from '../simulation';
import { require } from './broken';
import { type Check } from './check';

/** Without its version: a change of the directory that concerned a document wrote it once more. */
const contentOf = (document: Document | undefined) => [document?.fields, document?.body];

const rebuilt: Check = {
  promise:
    'Read models are equal to those that are projected anew from the log, or from one into which it was exported and imported.',
  verify: ({ stores }) => {
    const last = stores.at(-1);
    for (const [number, store] of stores.entries())
      for (const { collection } of [...PROJECTIONS, ...DELIVERY_PROJECTIONS]) {
        const [live, expected] = [store.documentsOf(collection.name), last?.documentsOf(collection.name)];
        for (const id of new Set([...live.keys(), ...(expected?.keys() ?? [])]))
          require(isDeepStrictEqual(contentOf(live.get(id)), contentOf(expected?.get(id))), () =>
            `${id} of ${collection.name} in store ${number} is ${JSON.stringify(live.get(id))}, but rebuilt ${JSON.stringify(expected?.get(id))}`);
      }
  },
};

const parked: Check = {
  promise: 'Only events that nobody can use are parked, and they stop nothing else.',
  verify: ({ stores, unusable }) => {
    for (const store of stores)
      for (const { body } of store.documentsOf('parked').values())
        require(unusable.has((JSON.parse(body) as { readonly stream: string }).stream), () =>
          `parked: ${body}`);
  },
};

/** Fields of documents for which something is to be done, by the time when it is. */
const WORK = {
  transactions: ['due'],
  claims: ['autoApproveAt', 'unscreened', 'untracked'],
  'claim-batches': ['accepted'],
};
/** How late it may be (ms). */
const LATE_MS = 3_600_000;

const automations: Check = {
  promise: 'What the system does by itself is done when it is due (T4, C10, C11).',
  left: ({ stores, simulation }) => {
    const due = EPOCH + simulation.now - LATE_MS;
    for (const [collection, fields] of Object.entries(WORK))
      for (const { id, fields: has } of stores[0]?.documentsOf(collection).values() ?? [])
        for (const field of fields)
          if (Number(has[field] ?? Infinity) <= due) return `${id} of ${collection} waits for ${field}`;
    return undefined;
  },
};

export const READ_MODELS = [rebuilt, parked, automations] as const;
