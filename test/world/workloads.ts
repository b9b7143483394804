import { type Clients, type Command } from './clients';
import { type Random } from './random';
import { fileClaim, ruleOnClaim } from './workloads/claims';
import {
  createSubscription,
  deleteSubscription,
  redeliver,
  replaceSubscription,
  rotateSecret,
  testReceiver,
} from './workloads/subscriptions';
import { move, report } from './workloads/transactions';
import { postVoucher, withdrawVoucher } from './workloads/vouchers';

/** Everything that clients do. */
const COMMANDS: readonly Command[] = [
  report,
  move,
  postVoucher,
  withdrawVoucher,
  fileClaim,
  ruleOnClaim,
  createSubscription,
  replaceSubscription,
  rotateSecret,
  testReceiver,
  redeliver,
  deleteSubscription,
];
/** What comes first, since nothing is sent before. */
const FIRST = 2;
/** By how much a seed changes the weights of what clients do. */
const FACTORS = [0, 0.3, 1, 1, 3];

/** What the clients of a seed ask for: some things more than others. */
export class Workload {
  private readonly commands: readonly { readonly command: Command; readonly weight: number }[];

  constructor(random: Random) {
    this.commands = COMMANDS.map((command) => ({
      command,
      weight: command.weight * (command === report ? 1 : random.pick(FACTORS)),
    }));
  }

  /** A command drawn by chance, about what is known. */
  draw(
    random: Random,
    clients: Clients,
    number: number,
  ): { readonly command: Command; readonly what: object } {
    for (;;) {
      const command = number < FIRST ? createSubscription : random.heavier(this.commands).command;
      const what = command.draw(random, clients, number);
      if (what !== undefined) return { command, what };
    }
  }
}
