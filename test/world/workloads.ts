import { type Clients, type Command } from './clients';
import { type Disks } from './host';
import { type Random } from './random';
import { importCategories, mapCategory } from './workloads/categories';
import { fileClaims, reviseClaim, ruleOnClaim, withdrawClaim } from './workloads/claims';
import { allLists, askList, copies, follow } from './workloads/lists';
import { decideParked, operate } from './workloads/operators';
import { deleteProducts, loadFeed, restoreFeed } from './workloads/products';
import {
  backfill,
  CHANGES,
  createSubscription,
  enableReceiver,
  FIRST,
  redeliverAll,
  redeliver,
  replaceSubscription,
  testReceiver,
} from './workloads/subscriptions';
import { move, report } from './workloads/transactions';
import { askSource } from './workloads/sources';
import { searchProducts, totalTransactions } from './workloads/searches';
import { postVoucher, withdrawVoucher } from './workloads/vouchers';

/** Everything that clients do. */
export const COMMANDS: readonly Command[] = [
  report,
  move,
  postVoucher,
  withdrawVoucher,
  fileClaims,
  reviseClaim,
  withdrawClaim,
  ruleOnClaim,
  createSubscription,
  ...CHANGES,
  replaceSubscription,
  testReceiver,
  enableReceiver,
  redeliver,
  redeliverAll,
  backfill,
  loadFeed,
  deleteProducts,
  restoreFeed,
  askSource,
  importCategories,
  mapCategory,
  askList,
  follow,
  searchProducts,
  totalTransactions,
  operate,
  decideParked,
];
/** By how much a seed changes the weights of what clients do. */
const FACTORS = [0, 0.3, 1, 1, 3];
const SEARCHES = 5;

/** Asks for half of everything, as of a position: what has to be exact when nothing happens any more. */
export function askEverything(clients: Clients, disks: Disks, random: Random): void {
  for (const question of allLists(disks)) if (random.chance(0.5)) clients.ask(askList, question, random);
  for (const copy of copies(clients)) if (random.chance(0.5)) clients.ask(follow, copy, random);
  for (let at = 0; at < SEARCHES; at += 1)
    for (const command of [searchProducts, totalTransactions])
      clients.ask(command, command.draw(random, clients, at)!, random);
}

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
      // What comes first, since nothing is sent before.
      const command = number < FIRST.length ? createSubscription : random.heavier(this.commands).command;
      const what = command.draw(random, clients, number);
      if (what !== undefined) return { command, what };
    }
  }
}
