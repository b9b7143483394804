import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bulkCsv, bulkJson, bulkXml, since } from './bulk';
import { claimsCreate } from './claims-create';
import { claimsList } from './claims-list';
import { cursor } from './cursor';
import { deliveries, deliveriesDue, deliveriesHung } from './deliveries';
import { deliveriesRestart } from './deliveries-restart';
import { esdbAppend, esdbAppend64 } from './esdb-append';
import { esdbFollow } from './esdb-follow';
import { esdbHttp } from './esdb-http';
import { esdbStart } from './esdb-start';
import { esdbSubscribe } from './esdb-subscribe';
import { esProject } from './es-project';
import { esSearch } from './es-search';
import { fanOut } from './fan-out';
import { feedRestart } from './feed-restart';
import { firstAttempt } from './first-attempt';
import { Bench, type Figure } from './harness';
import { history } from './history';
import { loadJson } from './load-json';
import { loadCsv, loadGoogle, loadXml } from './load-xml';
import { logExport } from './log-export';
import { manyFeeds } from './many-feeds';
import { memory } from './memory';
import { metrics, traces } from './metrics';
import { million } from './million';
import { notifierStart } from './notifier-start';
import { productSubscriptions } from './product-subscriptions';
import { project } from './project';
import { rebuild } from './rebuild';
import { reloadUnchanged } from './reload-unchanged';
import { HEADING, lineOf } from './report';
import { search } from './search';
import { search200Feeds, search20Feeds, searchMillion } from './search-million';
import { small } from './small';
import { smallWhileLarge } from './small-while-large';
import { sql } from './sql';
import { start } from './start';
import { esSwap, swap } from './swap';
import { transactionsDue } from './transactions-due';
import { transactionsList } from './transactions-list';
import { transactionsReport } from './transactions-report';
import { voucherCreate } from './voucher-create';
import { voucherList } from './voucher-list';
import { wal } from './wal';

const FIGURES = {
  'load-json': loadJson,
  'load-xml': loadXml,
  'load-csv': loadCsv,
  'load-google': loadGoogle,
  'reload-unchanged': reloadUnchanged,
  'product-subscriptions': productSubscriptions,
  project,
  rebuild,
  swap,
  search,
  memory,
  small,
  'voucher-create': voucherCreate,
  'voucher-list': voucherList,
  'transactions-report': transactionsReport,
  'transactions-list': transactionsList,
  'transactions-due': transactionsDue,
  'claims-create': claimsCreate,
  'claims-list': claimsList,
  deliveries,
  'deliveries-due': deliveriesDue,
  'deliveries-hung': deliveriesHung,
  'deliveries-restart': deliveriesRestart,
  'notifier-start': notifierStart,
  'first-attempt': firstAttempt,
  million,
  'small-while-large': smallWhileLarge,
  'search-million': searchMillion,
  'search-20-feeds': search20Feeds,
  'search-200-feeds': search200Feeds,
  'many-feeds': manyFeeds,
  wal,
  start,
  'feed-restart': feedRestart,
  'log-export': logExport,
  history,
  sql,
  'bulk-json': bulkJson,
  'bulk-xml': bulkXml,
  'bulk-csv': bulkCsv,
  since,
  cursor,
  metrics,
  traces,
  'fan-out': fanOut,
  'esdb-append': esdbAppend,
  'esdb-append-64': esdbAppend64,
  'esdb-http': esdbHttp,
  'esdb-follow': esdbFollow,
  'esdb-start': esdbStart,
  'esdb-subscribe': esdbSubscribe,
  'es-project': esProject,
  'es-search': esSearch,
  'es-swap': esSwap,
} as const satisfies Readonly<
  Record<string, (bench: Bench) => Promise<readonly Figure[]> | AsyncIterable<Figure>>
>;

const USAGE = `npm run bench -- <name>… [--count N] [--keep FOLDER] [--json]
names: all, ${Object.keys(FIGURES).join(', ')}
       es-… need an Elasticsearch: npm run elasticsearch -- npm run bench -- all
       log-export and sql need DuckDB, which npm installs where it is available
--count N  products, vouchers, transactions or messages to measure with (100,000; memory, million, small-while-large, swap (events), history, search-million, sql (events), wal and deliveries-restart have ten times as many,
           search-20-feeds twenty times, search-200-feeds 25 times,
           many-feeds has a tenth as many feeds, of 20 products each,
           transactions-list has ten times as many, esdb-start ten times, and feed-restart a hundred times as many events, notifier-start has twice as many messages, metrics and traces have 5,000 products at most)
--keep FOLDER  search-million, search-20-feeds and search-200-feeds keep their data there, and use what is there, since filling it takes minutes
--json     one JSON object a line instead of a table
Measured in a temporary folder of ${tmpdir()} (TMPDIR), which is removed afterwards.
`;

type Name = keyof typeof FIGURES;

/** Runs the named benchmarks and prints their figures. Exits with 1 only on failures, not for slow results. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '100000' },
      json: { type: 'boolean', default: false },
      keep: { type: 'string' },
    },
  });
  const names = positionals.flatMap((name) => (name === 'all' ? allNames() : [name]));
  const count = Number(values.count);
  if (names.length === 0 || !names.every(isName) || !Number.isSafeInteger(count) || count < 1) {
    process.stderr.write(USAGE);
    process.exitCode = 2;
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'affilog-bench-'));
  try {
    const bench = new Bench(count, folder, values.keep);
    if (!values.json) process.stdout.write(`${HEADING}\n`);
    for (const name of names) {
      for await (const figure of await FIGURES[name](bench)) {
        process.stdout.write(`${values.json ? JSON.stringify(figure) : lineOf(figure)}\n`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** All benchmarks; those with Elasticsearch are skipped, with a message, unless a server is configured. */
function allNames(): readonly string[] {
  const names = Object.keys(FIGURES);
  if ((process.env['TEST_READ_STORE'] ?? '') !== '') return names;
  process.stderr.write('skipped, since TEST_READ_STORE is not set: es-project, es-search, es-swap\n');
  return names.filter((name) => !name.startsWith('es-'));
}

function isName(name: string): name is Name {
  return Object.hasOwn(FIGURES, name);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
