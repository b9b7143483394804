/** An engine one of whose methods fails when it is called for the first, second … time: these times. */
export function failing<Engine extends object>(
  engine: Engine,
  method: keyof Engine,
  times: readonly number[],
  error: Error,
): Engine {
  let calls = 0;
  return new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        if (name === method && times.includes((calls += 1))) throw error;
        return Reflect.apply(value, target, args);
      };
    },
  });
}
