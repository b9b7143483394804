/** Copies of objects, and what is known of values that another program has made. */

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

export function isSameSet(values: ReadonlySet<unknown>, others: ReadonlySet<unknown>): boolean {
  return values.size === others.size && [...values].every((value) => others.has(value));
}

/** An array is one too. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The object, not an array, that a text is in JSON; undefined if it is none. */
export function jsonObject(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A text with a time, such as an ISO 8601 instant. */
export function isTime(value: unknown): value is string {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

/** The code of an error, as those of the system and of libraries have: `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && 'code' in error ? String(error['code']) : undefined;
}
