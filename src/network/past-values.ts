import { isDeepStrictEqual } from 'node:util';
import { type Position } from '../kernel/event';

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

  /** The position of the last change. */
  since(id: number): Position | undefined {
    return this.values.get(id)?.at(-1)?.[0];
  }
}
