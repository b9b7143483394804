import { type Command, Option } from 'commander';
import { CommandError } from '../operations/command-error';
import { type ReviewRequest } from '../operations/network-claims';
import { type CliParts, integerFrom, onDirectory, onEngines, printLines, withJson } from './settings';

/** `affilog transactions import|show`. */
export function addTransactions(affilog: Command, parts: CliParts): void {
  const { stdout, stderr, stopSignal, threads } = parts;
  const transactions = affilog
    .command('transactions')
    .description('Transactions, for operators. Works while servers run.');
  transactions
    .command('import')
    .description(
      'Report the transactions of a file, as an operator. Importing it again continues, and repeats nothing.',
    )
    .argument(
      '<file>',
      'one JSON object a line, or CSV (.csv) with field names in the first line; may be gzip-compressed',
    )
    .action(
      onEngines(
        parts,
        async ({ log }, file: string) => {
          const { importTransactions } = await import('../operations/import-transactions.js');
          const { progressOn } = await import('./progress.js');
          const display = await progressOn(stderr);
          const { created, known, refused } = await importTransactions(log, file, {
            onRefused: (line, message) => stdout.write(`line ${line}\trefused\t${message}\n`),
            onProgress: display.show.bind(display),
            signal: stopSignal(),
          }).finally(() => display.end());
          stdout.write(`${created} new, ${known} known, ${refused} refused\n`);
          if (refused > 0)
            throw new CommandError(`${refused} of ${created + known + refused} transactions were refused`);
        },
        { threads },
      ),
    );
  transactions
    .command('show')
    .description('Show the events of a transaction in order: state, time and what has changed.')
    .argument('<id>', 'transactionId or legacyTransactionId')
    .action(
      onEngines(parts, async ({ log }, id: string) => {
        const { transactionHistory } = await import('../operations/show-transaction.js');
        await printLines(parts, transactionHistory(log, id));
      }),
    );
}

interface ClaimFlags {
  readonly status: readonly number[];
  readonly program: readonly number[];
  readonly most: number;
  readonly json?: boolean;
}

/** `affilog claims list|release|reject`. */
export function addClaims(affilog: Command, parts: CliParts): void {
  const claims = affilog
    .command('claims')
    .description('Claims that are pending at the network: statuses 100 and 105. Works while servers run.');
  withJson(claims.command('list'))
    .description('List claims, one per line, the oldest first.')
    .addOption(listed('--status <id...>', 'only in these statuses; by default 100 and 105'))
    .addOption(listed('--program <id...>', 'only of these programs'))
    .addOption(new Option('--most <number>', 'how many').argParser(integerFrom(1, 1000)).default(100))
    .action(
      onDirectory(parts, async ({ store }, directory, { status, program, ...flags }: ClaimFlags) => {
        const { claimLines } = await import('../operations/network-claims.js');
        const pending = { store, directory, now: new Date() };
        const criteria = { statusId: status, programId: program, claimId: [] };
        const { lines, total } = await claimLines(pending, criteria, flags);
        await printLines(parts, lines);
        if (lines.length < total)
          parts.stderr.write(`affilog: ${lines.length} of ${total} claims; --most lists more\n`);
      }),
    );
  const reviewing = (requested: (claimId: number, flags: RejectFlags) => Promise<ReviewRequest>) =>
    onDirectory(parts, async ({ log, store }, directory, claimId: number, flags: RejectFlags) => {
      const { decide } = await import('../operations/network-claims.js');
      const review = { log, store, directory, now: new Date() };
      parts.stdout.write(`${await decide(review, () => requested(claimId, flags))}\n`);
    });
  claims
    .command('release')
    .description('Release a claim to its advertiser: it awaits approval.')
    .argument('<claimId>', 'as list shows it', integerFrom(0))
    .action(reviewing(async (claimId) => ({ claimId, statusId: 2 })));
  claims
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
      reviewing(async (claimId, { status, message }) => {
        const { rejectionOf } = await import('../operations/network-claims.js');
        return { claimId, ...rejectionOf(status, message) };
      }),
    );
}

interface RejectFlags {
  readonly status: number;
  readonly message?: string;
}

function listed(flags: string, description: string): Option {
  const id = integerFrom(0);
  return new Option(flags, description)
    .argParser((text: string, before: readonly number[]) => [...before, id(text)])
    .default([], 'all');
}
