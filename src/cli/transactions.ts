import { type Command } from 'commander';
import { CommandError } from '../operations/command-error';
import { type ReviewRequest } from '../operations/network-claims';
import {
  addedId,
  type CliParts,
  type JsonFlag,
  integerFrom,
  onDirectory,
  onEngines,
  printLines,
  withJson,
  withProgress,
} from './settings';

export function addTransactions(affilog: Command, parts: CliParts): void {
  const { stdout, threads } = parts;
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
          const onRefused = (line: number, message: string): unknown =>
            stdout.write(`line ${line}\trefused\t${message}\n`);
          const { created, known, refused } = await withProgress(parts, (shown) =>
            importTransactions(log, file, { onRefused, ...shown }),
          );
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

interface ClaimFlags extends JsonFlag {
  readonly status?: readonly number[];
  readonly program?: readonly number[];
  readonly most: number;
}

export function addClaims(affilog: Command, parts: CliParts): void {
  const claims = affilog
    .command('claims')
    .description('Claims that are pending at the network: statuses 100 and 105. Works while servers run.');
  withJson(claims.command('list'))
    .description('List claims, one per line, the oldest first.')
    .option('--status <id...>', 'only in these statuses; by default 100 and 105', addedId)
    .option('--program <id...>', 'only of these programs; by default of all', addedId)
    .option('--most <number>', 'how many', integerFrom(1, 1000), 100)
    .action(
      onDirectory(parts, async ({ store }, directory, flags: ClaimFlags) => {
        const { claimLines } = await import('../operations/network-claims.js');
        const { status: statusId = [], program: programId = [] } = flags;
        const pending = { store, directory, now: new Date() };
        const { lines, total } = await claimLines(pending, { statusId, programId, claimId: [] }, flags);
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
    .requiredOption('--status <id>', 'the status that it gets: one that rejects, such as 211', integerFrom(0))
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
