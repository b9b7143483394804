import { Readable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { productFaults } from '../domain/products/feed';
import { Faults } from '../kernel/fault';
import { defined, without } from '../kernel/values';
import { type Directory } from '../network/directory';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type UndoPlan } from '../operations/undo-load';
import { type ReportedImport } from '../domain/products/import-report';
import { CommandError, UsageError } from '../operations/command-error';
import { type SentFeed, type SentFormat } from '../operations/send-feed';
import { type ListedSource } from '../services/products/sources';
import { secretValue } from '../settings/settings';
import { encodingNamed } from '../wire/bytes';
import { withTools } from './categories';
import {
  type CliParts,
  configOf,
  confirm,
  integerFrom,
  type JsonFlag,
  onDirectory,
  printList,
  withDirectory,
  withEngines,
  withJson,
  withProgress,
} from './settings';

interface RestoreFlags {
  readonly before: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const VERBS = {
  new: 'list again',
  revised: 'change back',
  repriced: 'change the price back',
  removed: 'remove',
};

export function addFeeds(affilog: Command, parts: CliParts): void {
  const { stdout, stopSignal } = parts;
  const feeds = affilog.command('feeds').description('Product feeds. Works while servers run.');
  withJson(feeds.command('list'))
    .description(
      'List all feeds with the numbers of their products and of category names that nobody has mapped.',
    )
    .action(async (flags: JsonFlag, command: Command) => {
      const { listedFeeds } = await import('../services/products/feed.queries.js');
      await withTools(command, parts, async ({ counted, directory }) => {
        const all = [...directory.programs.allFeeds()].sort((one, other) => one.id - other.id);
        const listed = await listedFeeds(all, counted, directory);
        await printList(parts, flags, listed.feeds, (one) =>
          [
            one.feedId,
            one.name,
            one.active ? 'active' : 'inactive',
            one.visible ? 'visible' : 'not visible',
            `${one.numberOfProducts} products`,
            `${one.numberOfUnmappedCategories} names unmapped`,
            one.lastModifiedTime ?? 'never loaded',
          ].join('\t'),
        );
      });
    });
  withJson(feeds.command('loads'))
    .description('List the last loads of a feed, the newest first, each with its faults in lines below it.')
    .argument('<feed>', 'feed id', integerFrom(1))
    .action(
      onDirectory(parts, async ({ store }, directory, feedId: number, flags: JsonFlag) => {
        requireFeed(directory, feedId);
        const { lastImports } = await import('../../projections/imports.js');
        let found = 0;
        for await (const some of await lastImports(store, feedId))
          found += await printList(parts, flags, some, loadText);
        if (found === 0) await printList(parts, flags, [], loadText, 'the feed has no loads');
      }),
    );
  addSources(feeds, parts);
  feeds
    .command('restore')
    .description('Undo a load or a deletion: bring back what was in the feed before it.')
    .argument('<feed>', 'feed id', integerFrom(1))
    .requiredOption('--before <load>', 'Load id: X-Load-Id of the answer, importId of the load report.')
    .option('--dry-run', 'Show what would change, and change nothing.')
    .option('--yes', 'Do not ask.')
    .action(async (feedId: number, { before, dryRun, yes = false }: RestoreFlags, command: Command) => {
      const { loadHistory, undoLoad, undoPlan } = await import('../operations/undo-load.js');
      const { dataDir } = await configOf(command, parts);
      await withEngines(command, parts, async (engines) => {
        const load = { feedId, loadId: before };
        const history = await loadHistory(SYSTEM_CLOCK, engines, load);
        const count = describe(feedId, await undoPlan(SYSTEM_CLOCK, history), (line) =>
          stdout.write(`${line}\n`),
        );
        if (count === 0 || dryRun === true) return;
        if (!yes) await confirm(parts, `${count} products will change`);
        const options = { clock: SYSTEM_CLOCK, dataDir, signal: stopSignal() };
        const { loadId, tally } = await undoLoad(engines, load, history, options);
        stdout.write(
          loadId === undefined
            ? 'nothing was left to undo\n'
            : `restored by load ${loadId}: ${listed(tally)}\n`,
        );
      });
    });
}

interface SourceFlags {
  readonly url: string;
  readonly every: string;
  readonly format?: string;
  readonly map?: readonly string[];
  readonly charset?: string;
}

const FEED = ['<feed>', 'feed id', integerFrom(1)] as const;
const MAP = [
  '--map <name=column...>',
  'Read columns of CSV as if they had other names: name=title,price=Preis.',
  addedMappings,
] as const;
const CHARSET = [
  '--charset <name>',
  'Encoding of rows or XML, such as windows-1252; by default that of its byte order mark, its XML declaration or its ' +
    'server, or UTF-8.',
  encodingFrom,
] as const;

function addSources(feeds: Command, parts: CliParts): void {
  const source = feeds
    .command('source')
    .description('Files that the system fetches by itself, and replaces feeds by. Works while servers run.');
  source
    .command('set', { isDefault: true })
    .description('Have a feed fetched: now, and then regularly. A server with the role `api` fetches it.')
    .argument(...FEED)
    .requiredOption('--url <url>', 'Address of the file, http or https, without user and password.')
    .requiredOption('--every <time>', 'From one fetch to the next, from 15m to 7d: 30m, 6h, 1d.')
    .option('--format <format>', 'Format of the file; by default it is recognised.')
    .option(...MAP)
    .option(...CHARSET)
    .action(async (feedId: number, { url, every, format, map, charset }: SourceFlags, command: Command) => {
      const { addressProblem } = await import('../delivery/sending/addresses.js');
      const { allowedBy } = await import('../operations/installation.js');
      const { changeSource, settingIn } = await import('../services/products/sources.js');
      const allowed = allowedBy(await configOf(command, parts));
      await withDirectory(command, parts, async ({ log }, directory) => {
        requireFeed(directory, feedId);
        const posted = defined({ feedId, url, every, format, map: map?.join(','), charset });
        const set = settingOr(() =>
          settingIn(posted, { unusable: productFaults.illegalValue }, (address) =>
            addressProblem(address, allowed),
          ),
        );
        const at = SYSTEM_CLOCK.now().toISOString();
        await changeSource(SYSTEM_CLOCK, log, feedId, { do: 'set', at, setting: without(set, 'feedId') });
      });
    });
  withJson(source.command('list'))
    .description('List the sources of feeds: whether they could be fetched, when, and why not.')
    .argument('[feed]', 'feed id', integerFrom(1))
    .action(
      onDirectory(parts, async ({ log, store }, directory, feedId: number | undefined, flags: JsonFlag) => {
        if (feedId !== undefined) requireFeed(directory, feedId);
        const { listedSources, sourcesIn } = await import('../services/products/sources.js');
        const sources = await sourcesIn(log);
        const wanted = feedId === undefined ? sources.keys() : [feedId];
        await printList(
          parts,
          flags,
          await listedSources(sources, store, wanted),
          sourceText,
          'no feed is fetched',
        );
      }),
    );
  const verbs = [
    ['remove', 'remove', 'Have a feed no longer fetched. Its products stay.'],
    ['fetch', 'request', 'Have a feed fetched now, whether or not the file has changed.'],
    ['accept', 'accept', 'Accept that the file that was held removes more than half of its feed.'],
  ] as const;
  for (const [name, verb, description] of verbs)
    source
      .command(name)
      .description(description)
      .argument(...FEED)
      .action(
        onDirectory(parts, async ({ log }, directory, feedId: number) => {
          requireFeed(directory, feedId);
          const { changeSource } = await import('../services/products/sources.js');
          const usage = (message: string): Error => new UsageError(`feed ${feedId}: ${message}`);
          const at = SYSTEM_CLOCK.now().toISOString();
          const faults = { notThere: usage, notHeld: usage };
          await changeSource(SYSTEM_CLOCK, log, feedId, { do: verb, at }, faults);
        }),
      );
}

interface SendFlags {
  readonly feed: number;
  readonly server?: string;
  readonly format?: SentFormat;
  readonly map?: readonly string[];
  readonly separator?: string;
  readonly charset?: string;
  readonly replace?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

const SERVER = { name: 'AFFILOG_SERVER', default: 'http://127.0.0.1:3000' } as const;
const TOKEN = 'AFFILOG_TOKEN';
const FORMATS: readonly SentFormat[] = ['json', 'xml', 'csv', 'tsv', 'google'];

export function addProducts(affilog: Command, parts: CliParts): void {
  const products = affilog
    .command('products')
    .description(
      'Products of an advertiser, over HTTP: for whoever has a token, and no access to the server.',
    );
  withJson(products.command('import'))
    .description(
      'Send a file of products to a feed, and print what became of it. Sending it again continues, and repeats nothing. ' +
        `The advertiser’s token is in the environment variable ${TOKEN}, or @FILE names the file that has it.`,
    )
    .argument('<source>', 'file, http or https URL, or - for standard input; may be gzip-compressed')
    .requiredOption('--feed <id>', 'Feed id.', integerFrom(1))
    .option('--server <url>', `Address of the API (${SERVER.name}, default ${SERVER.default}).`)
    .addOption(new Option('--format <format>', 'By default it is recognised.').choices(FORMATS))
    .option(...MAP)
    .option(
      '--separator <character>',
      'Between columns of CSV; by default the comma, semicolon or tab of its header.',
    )
    .option(...CHARSET)
    .option('--replace', 'Remove what the file does not have.')
    .option('--dry-run', 'Check everything, and store nothing.')
    .action(async (source: string, { feed: feedId, json = false, ...flags }: SendFlags) => {
      const { environment, stdin, stdout, stderr } = parts;
      const { replace = false, dryRun = false, format, map = [], separator, charset } = flags;
      const server = flags.server ?? environment[SERVER.name] ?? SERVER.default;
      const token = secretValue(environment[TOKEN]?.trim() ?? '', TOKEN);
      if (token === '')
        throw new UsageError(`${TOKEN} is not set: expected the advertiser’s token, or @FILE`);
      const { sendFeed } = await import('../operations/send-feed.js');
      const sent = await withProgress(parts, (shown) =>
        sendFeed(
          source,
          { server, token, feedId, format, map, separator, charset, replace, dryRun },
          {
            clock: SYSTEM_CLOCK,
            stdin: stdin ?? Readable.from([]),
            onRetry: (message) => stderr.write(`affilog: ${message}\n`),
            ...shown,
          },
        ),
      );
      const { faults, counts, ...others } = sent;
      await printList(parts, { json }, faults, ({ code, sourceProductId = '-', message }) =>
        [code, sourceProductId, message].join('\t'),
      );
      stdout.write(json ? `${JSON.stringify({ ...others, dryRun, counts })}\n` : sentText(sent, dryRun));
      const { refused = 0 } = counts;
      const what = refused === 1 ? '1 product was' : `${refused} products were`;
      if (refused > 0)
        throw new CommandError(`${what} refused, the others ${dryRun ? 'would be' : 'are'} stored`);
    });
}

function addedMappings(text: string, before: readonly string[] = []): readonly string[] {
  const added = text.split(',').map((one) => {
    const [, name = '', column = ''] = /^([^=]+)=(.+)$/.exec(one) ?? [];
    if (name === '') throw new InvalidArgumentError('Expected name=column, such as name=title.');
    return `${name}:${column}`;
  });
  return [...before, ...added];
}

function encodingFrom(name: string): string {
  if (encodingNamed(name) === undefined)
    throw new InvalidArgumentError('Expected an encoding that is known, such as windows-1252.');
  return name;
}

function sentText({ loadId, counts, ignoredFields }: SentFeed, dryRun: boolean): string {
  const what = dryRun ? 'dry run, nothing was stored' : `load ${loadId ?? ''}`;
  const numbers = Object.entries(counts).map(([name, number]) => `${name}=${number}`);
  const ignored = ignoredFields === undefined ? '' : `not read: ${ignoredFields}\n`;
  return `${ignored}${what}: ${numbers.join(', ')}\n`;
}

/** What was posted is what was given as options. */
function settingOr<Setting>(read: () => Setting): Setting {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Faults)) throw error;
    throw new UsageError(error.faults.map(({ message }) => `--${message}`).join('; '));
  }
}

function requireFeed(directory: Directory, feedId: number): void {
  if (directory.feed(feedId) === undefined) throw new UsageError(`${feedId}: expected the id of a feed`);
}

function sourceText(source: ListedSource): string {
  const { feedId, url, every, state, fetched, next, reason, listed: had, removed } = source;
  const held =
    removed === undefined
      ? ''
      : `the file does not have ${removed} of ${had ?? 0} products: affilog feeds source accept ${feedId} --reason TEXT`;
  const remarks = [reason ?? '', held].filter((one) => one !== '');
  const when = [`fetched ${fetched ?? 'never'}`, next === undefined ? 'due now' : `next ${next}`];
  return [
    [feedId, state, `every ${every}`, ...when, url].join('\t'),
    ...remarks.map((one) => `    ${one}`),
  ].join('\n');
}

function loadText(load: ReportedImport): string {
  const { importId, time, mode, status, unchanged, refused, faults, moreFaults = 0 } = load;
  const counts = `${listed(load)}, unchanged=${unchanged}, refused=${refused}, unmapped=${load.unmapped ?? 0}`;
  const remarks = [
    ...(load.restores === undefined ? [] : [`has undone ${load.restores}`]),
    ...(load.fetched === true ? ['fetched from the source of the feed'] : []),
    ...(load.largeRemoval === true ? ['has removed more than half of the feed'] : []),
    ...faults.map(({ code, sourceProductId, message }) => [code, sourceProductId ?? '-', message].join(' ')),
    ...(moreFaults > 0 ? [`and ${moreFaults} more faults`] : []),
  ];
  return [[importId, time, mode, status, counts].join('\t'), ...remarks.map((one) => `    ${one}`)].join(
    '\n',
  );
}

function listed(counts: Pick<UndoPlan, keyof typeof VERBS>): string {
  const { new: created, revised, repriced, removed } = counts;
  return `new=${created}, revised=${revised}, repriced=${repriced}, removed=${removed}`;
}

/** Prints what would be done, and returns for how many products. */
function describe(feedId: number, plan: UndoPlan, print: (line: string) => void): number {
  print(`load ${plan.loadId} of feed ${feedId} (${plan.what}, ${plan.at})`);
  const count = plan.new + plan.revised + plan.repriced + plan.removed;
  for (const { change, sourceProductId } of plan.products) print(`${VERBS[change]}: ${sourceProductId}`);
  if (count > plan.products.length) print(`… and ${count - plan.products.length} more`);
  print(count === 0 ? 'there is nothing to undo' : `to undo it: ${listed(plan)}`);
  const { changedAgain, leftAlone } = plan;
  const more = changedAgain > leftAlone.length ? ', …' : '';
  if (changedAgain > 0)
    print(`changed since by later loads, left alone: ${changedAgain} (${leftAlone.join(', ')}${more})`);
  return count;
}
