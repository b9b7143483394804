import { type Decider, execute } from '../../kernel/decider';
import { type EventLog } from '../../kernel/event-log';

/**
 * A block of integers allotted to one process, bounds included.
 *
 * The name and shape of this event are the storage format: add, never rename.
 */
interface IdsAllotted {
  readonly type: 'IdsAllotted';
  readonly data: { readonly from: number; readonly to: number };
}

/** Allots the next integers, as many as the command says; the state is the last one allotted. */
const decider: Decider<number, number, IdsAllotted> = {
  category: 'sequence',
  initial: 0,
  supersedes: () => true,
  decide: (size, end) => [{ type: 'IdsAllotted', data: { from: end + 1, to: end + size } }],
  evolve: (_, { data }) => data.to,
};

/** Integers per block. Those unused when a process ends are lost. */
const BLOCK_SIZE = 100;

/**
 * Unique integers from 1, shared by all processes and ascending within each. Processes allot blocks of them in the stream
 * `sequence-<name>`.
 */
export class Sequence {
  private upcoming = 1;
  private last = 0;
  private allotting: Promise<void> | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly name: string,
  ) {}

  async next(): Promise<number> {
    while (this.upcoming > this.last) {
      this.allotting ??= this.allotBlock().finally(() => (this.allotting = undefined));
      await this.allotting;
    }
    this.upcoming += 1;
    return this.upcoming - 1;
  }

  private async allotBlock(): Promise<void> {
    const { state: end } = await execute(this.log, decider, this.name, BLOCK_SIZE);
    this.upcoming = end - BLOCK_SIZE + 1;
    this.last = end;
  }
}
