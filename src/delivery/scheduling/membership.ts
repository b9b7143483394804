import { LeaseHolder } from '../../runtime/lease-holder';
import { type IsGone, type Leases } from '../../kernel/leases';

/** Starts the names of the leases by which processes are members: each has one of its own. */
const PREFIX = 'notifier-member-';

interface MembershipOptions {
  readonly leases: Leases;
  /** A name that no other process uses. */
  readonly owner: string;
  readonly ttlMs: number;
  readonly isGone?: IsGone | undefined;
}

/** Which processes send. */
export class Membership {
  private readonly lease: LeaseHolder;

  constructor(private readonly options: MembershipOptions) {
    const { leases, owner, ttlMs } = options;
    this.lease = new LeaseHolder(leases, PREFIX + owner, owner, ttlMs, Date.now);
  }

  /** This process's share of a number of things. Raises `EngineUnavailable`. */
  async shareOf(total: number): Promise<number> {
    const { leases, owner, ttlMs, isGone } = this.options;
    if (!(await this.lease.acquire())) return 0;
    const members = [...(await leases.owners(PREFIX, Date.now(), ttlMs, isGone))].sort();
    const rank = members.indexOf(owner);
    const others = Math.max(1, members.length);
    return Math.floor(total / others) + (rank >= 0 && rank < total % others ? 1 : 0);
  }

  async release(): Promise<void> {
    await this.lease.release();
  }
}
