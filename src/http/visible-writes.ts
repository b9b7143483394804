import { Injectable } from '@nestjs/common';
import { type Position } from '../kernel/event';
import { EngineUnavailable, EventLog } from '../kernel/event-log';
import { type Clock } from '../runtime/clock';
import { withEngineTimeout } from '../runtime/unavailable';
import { type ReadModelGroup } from './service';

/** Writes up to this size wait until queries see them, for at most this long (`docs/decisions.md#x8`). */
const SMALL = { changes: 1000, milliseconds: 2000 } as const;
/** How much longer than the wait itself the read store may take to report its checkpoints (ms). */
const GRACE_MS = 500;

/** What is waited for: read models, or what they show of a stream of products, if that is all that matters. */
export interface WaitTarget {
  readonly readModels?: ReadModelGroup;
  readonly stream?: string | undefined;
}

/** Resolves with true once what is wanted has reached a position, with false when that takes too long. */
export type Reach = (position: Position, milliseconds: number, wanted: WaitTarget) => Promise<boolean>;

export class WaitForReadModels {
  /** Small writes wait for at most `longest` (ms). */
  constructor(
    private readonly clock: Clock,
    private readonly reach: Reach,
    private readonly longest: number = SMALL.milliseconds,
  ) {}

  /** False when the read models have not reached the position in time. Raises `EngineUnavailable`. */
  async until(position: Position, milliseconds: number, wanted: WaitTarget = {}): Promise<boolean> {
    return await this.reachIn(position, milliseconds, GRACE_MS, wanted);
  }

  /** After a small write (`docs/decisions.md#a7`, `#x8`): it is durable, whether or not the read store is available. */
  async afterWrite(
    { position, changes }: { position: Position; changes: number },
    wanted: WaitTarget = {},
  ): Promise<void> {
    if (changes === 0 || changes > SMALL.changes) return;
    await this.reachIn(position, this.longest, 0, wanted).catch((error: unknown) => {
      if (!(error instanceof EngineUnavailable)) throw error;
    });
  }

  private reachIn(
    position: Position,
    milliseconds: number,
    grace: number,
    wanted: WaitTarget,
  ): Promise<boolean> {
    return withEngineTimeout(
      this.clock,
      'the read store',
      this.reach(position, milliseconds, wanted),
      milliseconds + grace,
    );
  }
}

@Injectable()
export class VisibleWrites {
  constructor(
    private readonly log: EventLog,
    private readonly readModels: WaitForReadModels,
  ) {}

  /** Waits until lists include what was written, by items with a position; returns that from which they do. */
  async after(written: readonly { readonly position?: Position | undefined }[]): Promise<Position> {
    let last: Position | undefined;
    let changes = 0;
    for (const { position } of written) {
      if (position === undefined) continue;
      changes += 1;
      if (last === undefined || position > last) last = position;
    }
    const position = last ?? (await this.log.head());
    await this.readModels.afterWrite({ position, changes });
    return position;
  }
}
