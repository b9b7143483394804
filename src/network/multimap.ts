/** A map from a key to a set of values. */
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
