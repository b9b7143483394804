import { ATTEMPTS } from './checks/attempts';
import { Broken, type Promised } from './checks/broken';
import { type Check, type Observed } from './checks/check';
import { CATEGORIES } from './checks/categories';
import { CLAIMS } from './checks/claims';
import { COMMANDS } from './checks/commands';
import { QUERIES } from './checks/lists';
import { MEMORY } from './checks/memory';
import { MESSAGES } from './checks/messages';
import { PROCESSES } from './checks/processes';
import { OPERATORS } from './checks/operators';
import { PRODUCTS } from './checks/products';
import { READ_MODELS } from './checks/read-models';
import { RECORDED } from './checks/recorded';
import { TRANSACTIONS } from './checks/transactions';
import { VOUCHERS } from './checks/vouchers';

/** What the system promises, by what it is about: `docs/promises.md`. */
export const PROMISES: Readonly<Record<string, readonly Check[]>> = {
  Commands: COMMANDS,
  Transactions: TRANSACTIONS,
  Claims: CLAIMS,
  Vouchers: VOUCHERS,
  Products: [...PRODUCTS, ...CATEGORIES, ...RECORDED],
  Queries: QUERIES,
  Operators: OPERATORS,
  Memory: MEMORY,
  Messages: MESSAGES,
  Attempts: ATTEMPTS,
  'Read models': READ_MODELS,
  Processes: PROCESSES,
};

const ALL = Object.values(PROMISES).flat();
/** Those that do not need all that clients have asked for: what is restored lacks the last of it. */
export const RESTORED: readonly Check[] = [...QUERIES, ...MESSAGES, ...ATTEMPTS, ...READ_MODELS];

/** What the system still has to do, to keep a promise. */
export interface Left {
  readonly of: Promised;
  readonly what: string;
}

/** What the system still has to do; undefined: nothing. `last`: what it had to do before, which is looked at first. */
export function leftOf(world: Observed, last?: Left): Left | undefined {
  for (const check of [...ALL.filter((one) => one === last?.of), ...ALL]) {
    const what = check.left?.(world);
    if (what !== undefined) return { of: check, what };
  }
  return undefined;
}

/** Checks everything that the system promises, when a world is at rest. Raises `Broken`. */
export function verify(world: Observed, checks: readonly Check[] = ALL): void {
  for (const { promise, verify: check, left } of checks) {
    try {
      check?.(world);
      const found = left?.(world);
      if (found !== undefined) throw new Broken(found);
    } catch (error) {
      if (error instanceof Broken) error.promise = promise;
      throw error;
    }
  }
}
