/** An engine with a method that fails depending on the call number, from 1, and the arguments. */
export function failing<Engine extends object>(
  engine: Engine,
  method: keyof Engine,
  when: (call: number, args: readonly unknown[]) => boolean,
  error: Error,
): Engine {
  let calls = 0;
  return new Proxy(engine, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        if (name === method && when((calls += 1), args)) throw error;
        return Reflect.apply(value, target, args);
      };
    },
  });
}
