import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../../projections';
import { textOf } from '../clients';
import { operate } from '../workloads/operators';
import { type Promised, require } from './broken';
import { type Check } from './check';

const rebuilt: Check = {
  promise:
    'A rebuild or comparison in the middle of everything finds the read models that are live equal (X31, X127, X128).',
  verify: ({ clients }) => {
    for (const one of clients.done(operate))
      require('refused' in one.result || one.result.differing === 0, () =>
        `${textOf(one)}: ${JSON.stringify(one.result)}`);
  },
};

const left: Check = {
  promise:
    'Beside a live read model there are no more than those that may take its place, and one that is being built (X126).',
  verify: ({ stores }) => {
    // Two were live before if a swap was interrupted, until the next one.
    const most = { building: 2, retired: 2, live: 1 } as const;
    for (const { tables } of stores)
      for (const { collection } of [...PROJECTIONS, ...DELIVERY_PROJECTIONS])
        for (const [state, count] of Object.entries(most)) {
          const there = tables.filter((one) => one.spec.name === collection.name && one.state === state);
          require(there.length <= count, () =>
            `${there.length} generations of ${collection.name} are ${state}`);
        }
  },
};

/** It is observed when all faults have ended. */
export const PAUSED: Promised = {
  promise:
    'A read model that is paused stays as it is until it is resumed, whoever has started meanwhile (X123).',
};

export const OPERATORS = [rebuilt, left, PAUSED] as const;
