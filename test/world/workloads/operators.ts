import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../../projections';
import { MATCHER } from '../../../src/delivery/matching/matcher';
import { execute } from '../../../src/kernel/decider';
import { EngineUnavailable } from '../../../src/kernel/event-log';
import { liveGeneration, nameOf } from '../../../src/projector/generations';
import { listParked, requestRetry } from '../../../src/projector/parked';
import { DELIVERY_LOG, DOMAIN_LOG, type Projection, type Source } from '../../../src/projector/projection';
import { rebuild, type Rebuilt } from '../../../src/projector/rebuild';
import { skipDecider } from '../../../src/projector/skipped-events';
import { Parking } from '../../../src/runtime/parked-events';
import { type Command } from '../clients';
import { type ApiParts, CODE } from '../host';

/** What operators do, as `src/operations` does it. */
const handlers = ({ clock, engines }: ApiParts) => {
  const { log, store } = engines;
  const at = (): string => clock.now().toISOString();
  const readModels: readonly { readonly source: Source; readonly projections: readonly Projection[] }[] = [
    { source: DOMAIN_LOG, projections: PROJECTIONS },
    { source: DELIVERY_LOG, projections: DELIVERY_PROJECTIONS },
  ];
  return {
    rebuildOne: async (name: string): Promise<readonly Rebuilt[]> => {
      const rebuilt: Rebuilt[] = [];
      for (const { source, projections } of readModels) {
        const own = projections.filter(({ collection }) => collection.name === name);
        const projected = source === DOMAIN_LOG ? log : await engines.deliveries();
        const options = { clock, source, owner: clock.uuid(), code: CODE, force: true };
        if (own.length > 0) rebuilt.push(...(await rebuild(projected, store, own, options)));
      }
      return rebuilt;
    },
    decide: async (isSkipped: boolean): Promise<number> => {
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
    },
  };
};

export const rebuildReadModel: Command<
  { readonly name: string },
  readonly { readonly name: string; readonly differing: number }[]
> = {
  name: 'rebuild',
  weight: 1,
  draw: (random) => ({
    name: random.pick([...PROJECTIONS, ...DELIVERY_PROJECTIONS]).collection.name,
  }),
  run: async (api, { name }) => {
    const rebuilt = await api
      .of(handlers)
      .rebuildOne(name)
      .catch((error: unknown) => {
        const isUnderWay = error instanceof Error && error.name === 'RebuildUnderWay';
        throw isUnderWay ? new EngineUnavailable(error.message) : error;
      });
    return rebuilt.map(({ comparison }) => ({ name, differing: comparison?.differing ?? 0 }));
  },
};

/** Everything that is parked is tried again, or given up. */
export const decideParked: Command<{ readonly isSkipped: boolean }, number> = {
  name: 'retry or skip what is parked',
  weight: 1,
  draw: (random) => ({ isSkipped: random.chance(0.3) }),
  run: (api, { isSkipped }) => api.of(handlers).decide(isSkipped),
};
