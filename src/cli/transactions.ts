import { type Command } from 'commander';
import { type Engines } from '../engines/open';
import { addSettings, type CliContext, isOfEngines, withEngines } from './settings';

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
