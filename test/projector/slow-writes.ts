import { setImmediate as nextTick } from 'node:timers/promises';
import { type ReadStore } from '../../src/kernel/read-store';

/** A store whose writes take several iterations of the event loop, like those of a server or another thread. */
export function withSlowWrites(store: ReadStore, iterations: number): ReadStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'write') return value.bind(target) as unknown;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        for (let left = iterations; left > 0; left -= 1) await nextTick();
        return await Reflect.apply(value, target, args);
      };
    },
  });
}
