import { type Command, InvalidArgumentError, Option } from 'commander';
import { type OutputTotal } from '../domain/transactions/transaction-fields';
import { Fault } from '../kernel/fault';
import { tableLines } from '../kernel/text';
import { without } from '../kernel/values';
import { CommandError, UsageError } from '../operations/command-error';
import { type ReviewRequest } from '../operations/network-claims';
import { totalsKeys } from '../services/transactions/api';
import { csvRows } from '../wire/csv/rows';
import { type Keys, type KeyTable, listed } from '../wire/keys/keys';
import {
  addedId,
  type CliParts,
  type JsonFlag,
  integerFrom,
  onDirectory,
  onEngines,
  printLines,
  printList,
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
  addTotals(transactions, parts);
}

const KEYS = without(totalsKeys, 'format');

interface TotalsFlags extends JsonFlag {
  readonly format: 'table' | 'csv' | 'json';
  readonly publisher?: number;
  readonly advertiser?: number;
  readonly asOf?: string;
}

function addTotals(transactions: Command, parts: CliParts): void {
  const command = transactions
    .command('totals')
    .description(
      'Count and sum up transactions by period, program, site, event and state, with approval rate and time to ' +
        'approval. Values are separated by commas.',
    )
    .option('--publisher <id>', 'as this publisher sees them; by default those of all', integerFrom(1))
    .option('--advertiser <id>', 'as this advertiser sees them', integerFrom(1))
    .option('--as-of <name>', 'as of a time (affilog rebuild transactions --at TIME --as NAME)');
  withJson(withKeys(command, KEYS))
    .addOption(new Option('--format <format>').choices(['table', 'csv', 'json']).default('table'))
    .action(
      onDirectory(parts, async ({ log, store }, directory, flags: TotalsFlags) => {
        const { NETWORK, PastViews, viewerAmong } = await import('../operations/as-of.js');
        const { TransactionQueries } = await import('../services/transactions/transaction.queries.js');
        const { asOf } = flags;
        const view =
          asOf === undefined
            ? { store, directory }
            : await new PastViews(log, store).of(asOf, 'transactions');
        const viewer = viewerAmong(flags, view.directory, 'CONVERSIONS', NETWORK);
        const queries = new TransactionQueries(view.store, log, view);
        const { items } = await queries
          .totals({ ...keysIn(KEYS, { ...flags }), format: undefined }, viewer)
          .catch((error: unknown) => {
            throw error instanceof Fault ? new UsageError(error.message) : error;
          });
        for await (const totals of items) await printTotals(parts, flags, [...totals]);
      }),
    );
}

/** CSV has the bytes that HTTP answers. A table has no columns without values. */
async function printTotals(
  parts: CliParts,
  { format, json }: TotalsFlags,
  totals: readonly OutputTotal[],
): Promise<void> {
  if (json === true || format === 'json') {
    await printList(parts, { json: true }, totals, String);
    return;
  }
  const { transactionApi } = await import('../services/transactions/api.js');
  const { listWriter } = await import('../wire/record/list.js');
  const { head, item } = listWriter(transactionApi.totalTransactions.answer)({
    format: 'csv',
    pretty: false,
  });
  const csv = [head, ...totals.map((one) => item(one, false))].join('');
  if (format === 'csv') {
    parts.stdout.write(csv);
    return;
  }
  const [names = [], ...rows] = [...csvRows(csv, ',')].map(({ cells }) => cells);
  const columns = names.flatMap((_, at) => (rows.some((row) => row[at] !== '') ? [at] : []));
  const cellsOf = (row: readonly string[]): string[] => columns.map((at) => row[at] ?? '');
  await printLines(parts, [
    ...tableLines(cellsOf(names), rows.map(cellsOf)),
    `${rows.length} ${rows.length === 1 ? 'line' : 'lines'}`,
  ]);
}

/** Adds an option for each key of an operation: `--group-by` for `groupBy`. */
function withKeys(command: Command, table: KeyTable): Command {
  for (const [name, { type, multiple = false, description = '' }] of Object.entries(table)) {
    const read = (text: string): unknown => {
      const value = type.read(text);
      if (value !== undefined) return value;
      throw new InvalidArgumentError(`Expected ${type.expectedOf?.(text) ?? type.expected}.`);
    };
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const option = new Option(`${flag} <${multiple ? 'values' : 'value'}>`, description);
    const several = (text: string, before: readonly unknown[] = []) => [...before, ...listed(text).map(read)];
    command.addOption(multiple ? option.argParser(several) : option.argParser(read));
  }
  return command;
}

/** What `withKeys` has read. */
function keysIn<Table extends KeyTable>(table: Table, flags: Readonly<Record<string, unknown>>): Keys<Table> {
  const all = Object.entries(table).map(([name, { multiple }]) => [
    name,
    flags[name] ?? (multiple === true ? [] : undefined),
  ]);
  return Object.fromEntries(all) as Keys<Table>;
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
