import { type Command, Option } from 'commander';
import { type Engines } from '../engines/open';
import { type ReviewRequest } from '../operations/network-claims';
import {
  addSettings,
  type CliContext,
  integerFrom,
  isOfEngines,
  withDirectory,
  withEngines,
} from './settings';

/** Some lines were refused; they have been printed. */
class RefusedTransactions extends Error {
  override readonly name = 'RefusedTransactions';
}

/** `affilog transactions import|show`. */
export function addTransactions(affilog: Command, context: CliContext): void {
  const transactions = affilog
    .command('transactions')
    .description('Transactions, for operators. Works while servers run.');
  const verbs = [addImport(transactions, context), addShow(transactions, context)];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

function addImport(transactions: Command, context: CliContext): Command {
  const { stdout, stderr, stopSignal, threads } = context;
  return transactions
    .command('import')
    .description(
      'Report the transactions of a file, as an operator. Importing it again continues, and repeats nothing.',
    )
    .argument(
      '<file>',
      'one JSON object a line, or CSV (.csv) with field names in the first line; may be gzip-compressed',
    )
    .action(async (file: string, _: object, command: Command) => {
      const { importTransactions } = await import('../operations/import-transactions.js');
      const { progressOn } = await import('./progress.js');
      const work = async ({ log }: Engines): Promise<void> => {
        const display = await progressOn(stderr);
        const { created, known, refused } = await importTransactions(log, file, {
          onRefused: (line, message) => stdout.write(`line ${line}\trefused\t${message}\n`),
          onProgress: display.show.bind(display),
          signal: stopSignal(),
        }).finally(() => display.end());
        stdout.write(`${created} new, ${known} known, ${refused} refused\n`);
        if (refused > 0)
          throw new RefusedTransactions(
            `${refused} of ${created + known + refused} transactions were refused`,
          );
      };
      await withEngines(command, context, work, threads);
    });
}

function addShow(transactions: Command, context: CliContext): Command {
  return transactions
    .command('show')
    .description('Show the events of a transaction in order: state, time and what has changed.')
    .argument('<id>', 'transactionId or legacyTransactionId')
    .action(async (id: string, _: object, command: Command) => {
      const { transactionHistory } = await import('../operations/show-transaction.js');
      await withEngines(command, context, async ({ log }) => {
        for await (const line of transactionHistory(log, id)) context.stdout.write(`${line}\n`);
      });
    });
}

/** `affilog claims list|release|reject`. */
export function addClaims(affilog: Command, context: CliContext): void {
  const claims = affilog
    .command('claims')
    .description('Claims that are pending at the network: statuses 100 and 105. Works while servers run.');
  const verbs = [addList(claims, context), addRelease(claims, context), addReject(claims, context)];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

interface ClaimFlags {
  readonly status: readonly number[];
  readonly program: readonly number[];
  readonly most: number;
}

function addList(claims: Command, context: CliContext): Command {
  return claims
    .command('list')
    .description('List claims, one per line, the oldest first.')
    .addOption(listed('--status <id...>', 'only in these statuses; by default 100 and 105'))
    .addOption(listed('--program <id...>', 'only of these programs'))
    .addOption(new Option('--most <number>', 'how many').argParser(integerFrom(1, 1000)).default(100))
    .action(async ({ status, program, most }: ClaimFlags, command: Command) => {
      const { claimLines } = await import('../operations/network-claims.js');
      await withDirectory(command, context, async ({ store }, directory) => {
        const surface = { store, directory, now: new Date() };
        const criteria = { statusId: status, programId: program, claimId: [] };
        const { lines, total } = await claimLines(surface, criteria, most);
        for (const line of lines) context.stdout.write(`${line}\n`);
        if (lines.length < total)
          context.stderr.write(`affilog: ${lines.length} of ${total} claims; --most lists more\n`);
      });
    });
}

function addRelease(claims: Command, context: CliContext): Command {
  return claims
    .command('release')
    .description('Release a claim to its advertiser: it awaits approval.')
    .argument('<claimId>', 'as list shows it', integerFrom(0))
    .action(async (claimId: number, _: object, command: Command) => {
      await review(command, context, () => ({ claimId, statusId: 2 }));
    });
}

function addReject(claims: Command, context: CliContext): Command {
  return claims
    .command('reject')
    .description('Reject a claim.')
    .argument('<claimId>', 'as list shows it', integerFrom(0))
    .addOption(
      new Option('--status <id>', 'the status that it gets: one that rejects, such as 211')
        .argParser(integerFrom(0))
        .makeOptionMandatory(),
    )
    .option('--message <text>', 'for its publisher; required of 111 and 201')
    .action(
      async (
        claimId: number,
        { status, message }: { readonly status: number; readonly message?: string },
        command: Command,
      ) => {
        const { rejectionOf } = await import('../operations/network-claims.js');
        await review(command, context, () => ({ claimId, ...rejectionOf(status, message) }));
      },
    );
}

async function review(command: Command, context: CliContext, requested: () => ReviewRequest): Promise<void> {
  const { decide } = await import('../operations/network-claims.js');
  await withDirectory(command, context, async ({ log, store }, directory) => {
    context.stdout.write(`${await decide({ log, store, directory, now: new Date() }, requested)}\n`);
  });
}

function listed(flags: string, description: string): Option {
  const id = integerFrom(0);
  return new Option(flags, description)
    .argParser((text: string, before: readonly number[]) => [...before, id(text)])
    .default([], 'all');
}
