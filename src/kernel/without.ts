/** A copy of an object without some of its properties. */
export function without<Value extends object, Name extends keyof Value>(
  value: Value,
  ...names: readonly Name[]
): Value extends unknown ? Omit<Value, Name> : never {
  const copy: Partial<Value> = { ...value };
  for (const name of names) Reflect.deleteProperty(copy, name);
  return copy as Value extends unknown ? Omit<Value, Name> : never;
}
