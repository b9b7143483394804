import { textOf } from '../clients';
import { rebuildReadModel } from '../workloads/operators';
import { require } from './broken';
import { type Check } from './check';

const rebuilt: Check = {
  promise: 'A rebuild in the middle of everything finds the read model that it replaces equal (X31).',
  verify: ({ clients }) => {
    for (const one of clients.done(rebuildReadModel))
      for (const { name, differing } of one.result)
        require(differing === 0, () => `${textOf(one)}: ${differing} documents of ${name} differed`);
  },
};

export const OPERATORS = [rebuilt] as const;
