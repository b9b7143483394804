/** A copy of an object without some of its properties. */
export function without<Value extends object, Name extends keyof Value>(
  value: Value,
  ...names: readonly Name[]
): Value extends unknown ? Omit<Value, Name> : never {
  const copy: Partial<Value> = { ...value };
  for (const name of names) Reflect.deleteProperty(copy, name);
  return copy as Value extends unknown ? Omit<Value, Name> : never;
}

/** The same without properties that are undefined. */
export type Defined<Value> = {
  [Name in keyof Value as undefined extends Value[Name] ? never : Name]: Value[Name];
} & {
  [Name in keyof Value as undefined extends Value[Name] ? Name : never]?: Exclude<Value[Name], undefined>;
};

/** A copy of an object without its properties that are undefined. */
export function defined<Value extends object>(value: Value): Defined<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Defined<Value>;
}
