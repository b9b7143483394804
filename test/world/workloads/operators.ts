import { PROJECTIONS } from '../../../projections';
import { MATCHER } from '../../../src/delivery/matching/matcher';
import { execute } from '../../../src/kernel/decider';
import { EngineUnavailable, type EventLog } from '../../../src/kernel/event-log';
import {
  PauseNotSeen,
  pauseReadModels,
  readModelStates,
  resumeReadModels,
} from '../../../src/operations/projections';
import { PROJECTED } from '../../../src/operations/rebuild';
import {
  discardBeside,
  liveGeneration,
  nameOf,
  RebuildUnderWay,
  SwapRefused,
} from '../../../src/projector/generations';
import { recordOrigin } from '../../../src/projector/origin';
import { listParked, requestRetry, skipDecider } from '../../../src/projector/parked';
import { type Projection } from '../../../src/projector/projection';
import { rebuild } from '../../../src/projector/rebuild';
import { swapStandby } from '../../../src/projector/standby';
import { Parking } from '../../../src/runtime/parked-events';
import { type Command } from '../clients';
import { type ApiParts, CODE } from '../host';

/** Read models of a log that an operator has named. */
interface Named {
  readonly log: EventLog;
  readonly projections: readonly Projection[];
  readonly own: readonly Projection[];
  readonly parts: Parameters<typeof rebuild>[3] & Parameters<typeof discardBeside>[2];
}

const NAMES = PROJECTED.flatMap(({ projections }) => projections.map(({ collection }) => collection.name));

/** What operators do with read models, as `src/operations` does it: each returns how many documents differed. */
const operations = ({ clock, engines }: ApiParts) => {
  const { store } = engines;
  const build = (then: 'swap' | 'keep' | 'drop') => async (named: Named) => {
    const { log, own, projections, parts } = named;
    const rebuilt = await rebuild(log, store, own, { ...parts, then, beside: projections });
    if (then === 'swap' && own.length === projections.length)
      await recordOrigin(log, store, projections, parts.source);
    return rebuilt.reduce((sum, { comparison }) => sum + (comparison?.differing ?? 0), 0);
  };
  const swap =
    (kind: 'ready' | 'kept') =>
    async ({ log, own, parts }: Named) => {
      for (const one of own) await swapStandby(log, store, one, kind, parts);
      return 0;
    };
  const namesOf = (own: Named['own']) => own.map(({ collection }) => collection.name);
  return {
    rebuild: build('swap'),
    'rebuild without a swap': build('keep'),
    verify: build('drop'),
    swap: swap('ready'),
    'roll back': swap('kept'),
    discard: async ({ own, parts }: Named) => {
      for (const { collection } of own) await discardBeside(store, collection.name, parts);
      return 0;
    },
    pause: async ({ own }: Named) => (await pauseReadModels({ store }, namesOf(own), clock), 0),
    resume: async ({ own }: Named) => (await resumeReadModels({ store }, namesOf(own)), 0),
    list: async ({ own }: Named) => (await readModelStates(engines, clock, namesOf(own)), 0),
  };
};
type Verb = keyof ReturnType<typeof operations>;

const VERBS: Readonly<Record<Verb, number>> = {
  ...{ rebuild: 4, 'rebuild without a swap': 1, verify: 1, swap: 1, 'roll back': 2, discard: 1 },
  ...{ pause: 1.5, resume: 1.5, list: 1 },
};

/** Several at once are built in one pass. */
export const operate: Command<
  { readonly verb: Verb; readonly names: readonly string[] },
  { readonly differing: number } | { readonly refused: string }
> = {
  name: 'operate on read models',
  weight: 3,
  draw: (random, clients) => {
    // Soon after another one, and about the same.
    const before = clients.of(operate).at(-1)?.what.names;
    const some = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => random.pick(NAMES));
    const names = random.chance(0.1) ? NAMES : before !== undefined && random.chance(0.6) ? before : some;
    return { verb: random.weighted(VERBS), names };
  },
  run: async (api, { verb, names }) => {
    let differing = 0;
    try {
      for (const { clock, engines } of [api.of((parts) => parts)])
        for (const { source, projections, log } of PROJECTED) {
          const own = projections.filter(({ collection }) => names.includes(collection.name));
          const parts = { clock, source, owner: clock.uuid(), code: CODE, force: true };
          const named = { log: await log(engines), own, projections, parts };
          if (own.length > 0) differing += await api.of(operations)[verb](named);
        }
    } catch (error) {
      if (error instanceof SwapRefused || error instanceof PauseNotSeen) return { refused: error.message };
      if (error instanceof RebuildUnderWay) throw new EngineUnavailable(error.message);
      throw error;
    }
    return { differing };
  },
};

const decisions = ({ clock, engines: { log, store } }: ApiParts) => {
  const at = (): string => clock.now().toISOString();
  return async (isSkipped: boolean): Promise<number> => {
    const decision = { reason: 'r', by: 'o', at: at() };
    let count = 0;
    for (const { collection } of PROJECTIONS) {
      const live = await liveGeneration(store, collection);
      const parked = live === undefined ? [] : await listParked(store, nameOf(live));
      for (const { event, stream, document } of isSkipped ? parked : []) {
        const failed = { stream, ...(document === undefined ? {} : { document }) };
        if (event !== undefined)
          await execute(clock, log, skipDecider, collection.name, { ...failed, event, ...decision });
      }
      await requestRetry(store, parked);
      count += parked.length;
    }
    const parking = await new Parking(clock, log, MATCHER).refresh();
    const events = [...parking.parked.keys()];
    if (!isSkipped && events.length > 0) await parking.retry(events, at());
    for (const event of isSkipped ? events : []) await parking.skip(event, decision);
    return count + events.length;
  };
};

/** Everything that is parked is tried again, or given up. */
export const decideParked: Command<{ readonly isSkipped: boolean }, number> = {
  name: 'retry or skip what is parked',
  weight: 1,
  draw: (random) => ({ isSkipped: random.chance(0.3) }),
  run: (api, { isSkipped }) => api.of(decisions)(isSkipped),
};
