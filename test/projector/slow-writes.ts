import { setImmediate as turn } from 'node:timers/promises';
import { type ReadStore } from '../../src/kernel/read-store';

/** A store whose writes take some turns of the event loop, like those of a server or of another thread. */
export function late(store: ReadStore, turns: number): ReadStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'write') return value.bind(target) as unknown;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        for (let left = turns; left > 0; left -= 1) await turn();
        return await Reflect.apply(value, target, args);
      };
    },
  });
}
