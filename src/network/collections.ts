import { isDeepStrictEqual } from 'node:util';
import { type Position } from '../kernel/event';

export class Multimap<K, V> {
  private readonly sets = new Map<K, Set<V>>();

  of(key: K): ReadonlySet<V> {
    return this.sets.get(key) ?? new Set();
  }

  add(key: K, value: V): void {
    const values = this.sets.get(key);
    if (values === undefined) this.sets.set(key, new Set([value]));
    else values.add(value);
  }

  delete(key: K, value: V): void {
    const values = this.sets.get(key);
    values?.delete(value);
    if (values?.size === 0) this.sets.delete(key);
  }

  deleteAll(key: K): void {
    this.sets.delete(key);
  }
}

/** What something of each entity was at each position of the log. */
export class PastValues<Value> {
  /** By id, oldest first; each differs from the one before. */
  private readonly values = new Map<number, (readonly [since: Position, value: Value])[]>();

  /** Positions of an entity ascend. */
  note(id: number, since: Position, value: Value): void {
    const known = this.values.get(id);
    if (known === undefined) this.values.set(id, [[since, value]]);
    else if (!isDeepStrictEqual(known.at(-1)?.[1], value)) known.push([since, value]);
  }

  /** Undefined before the first one. */
  at(id: number, position: Position): Value | undefined {
    return this.values.get(id)?.findLast(([since]) => since <= position)?.[1];
  }

  since(id: number): Position | undefined {
    return this.values.get(id)?.at(-1)?.[0];
  }
}
