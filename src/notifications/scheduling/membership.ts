import { type IsGone, LeaseHolder } from '../../kernel/lease-holder';
import { type ReadStore } from '../../kernel/read-store';

/** How many processes can share the work. */
const SLOTS = 16;

interface LeaseOptions {
  readonly store: ReadStore;
  /** A name that no other process uses. */
  readonly owner: string;
  readonly ttlMs: number;
  readonly now: () => number;
  readonly isGone?: IsGone | undefined;
}

/** Which processes send: each holds one of some leases, and counts those that are held. */
export class Membership {
  private slot: number | undefined;
  private readonly leases: readonly LeaseHolder[];

  constructor(private readonly options: LeaseOptions) {
    const { store, owner, ttlMs, now, isGone } = options;
    this.leases = Array.from(
      { length: SLOTS },
      (_, slot) => new LeaseHolder(store, nameOf(slot), owner, ttlMs, now, isGone),
    );
  }

  /** Whether this process does what only one of them does. */
  get isFirst(): boolean {
    return this.slot === 0;
  }

  /** This process's share of a number of things; 0 while there are too many processes. Raises `EngineUnavailable`. */
  async shareOf(total: number): Promise<number> {
    if (!(await this.holdSlot())) return 0;
    const slots = await this.heldSlots();
    const rank = slots.indexOf(this.slot ?? -1);
    const others = Math.max(1, slots.length);
    return Math.floor(total / others) + (rank >= 0 && rank < total % others ? 1 : 0);
  }

  async release(): Promise<void> {
    const { slot } = this;
    this.slot = undefined;
    if (slot !== undefined) await this.leases[slot]?.release();
  }

  private async holdSlot(): Promise<boolean> {
    if (this.slot !== undefined && (await this.leases[this.slot]?.acquire()) === true) return true;
    this.slot = undefined;
    for (const [slot, lease] of this.leases.entries()) {
      if (!(await lease.acquire())) continue;
      this.slot = slot;
      return true;
    }
    return false;
  }

  private async heldSlots(): Promise<readonly number[]> {
    const { store, now, ttlMs, isGone } = this.options;
    const held: number[] = [];
    for (let slot = 0; slot < SLOTS; slot += 1) {
      const holder = await store.holder(nameOf(slot), now(), ttlMs);
      if (holder !== undefined && isGone?.(holder) !== true) held.push(slot);
    }
    return held;
  }
}

function nameOf(slot: number): string {
  return `notifier-member-${slot}`;
}
