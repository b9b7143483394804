import { type Command, InvalidArgumentError, Option } from 'commander';
import { type EventLog } from '../kernel/event-log';
import { type MappingChange, type MappingLine } from '../network/categories/change-mappings';
import { type Fact } from '../network/decider';
import { type Directory } from '../network/directory';
import { CommandError, UsageError } from '../operations/command-error';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type CountedFeeds } from '../services/products/feed.queries';
import { isLanguage } from '../wire/iso-codes';
import { addChangeFlags, type ChangeFlags, changeNetwork } from './network';
import { type CliParts, integerFrom, printList, withDirectory, withJson } from './settings';

interface CategoryFlags extends ChangeFlags {
  readonly language: string;
  readonly prune?: boolean;
  readonly merge?: boolean;
}

export function addCategories(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  const categories = affilog.command('categories').description('The platform category tree.');
  addChangeFlags(
    categories
      .command('import')
      .description(
        'Import a published category tree; appends only what has changed. Works while servers run.',
      )
      .argument('<file>', 'JSON tree, or lines `id > path`; may be gzip-compressed')
      .option(
        '--language <code>',
        'Language of the names (ISO 639-1). Import the English file first.',
        toCode,
        'en',
      )
      .option('--merge', 'Rename categories whose id has another name in the file.')
      .option('--prune', 'Remove everything that the file does not contain.'),
  ).action(
    async (
      file: string,
      { language, prune = false, merge = false, ...flags }: CategoryFlags,
      command: Command,
    ) => {
      const { planCategories, readCategories } = await import('../network/categories/category-file.js');
      const { readTextFile } = await import('../operations/text-files.js');
      const read = readCategories(await readTextFile(file));
      await withDirectory(command, parts, async ({ log }, directory) => {
        const options = { at: new Date().toISOString(), language, prune, merge };
        const plan = planCategories(directory, read, options);
        for (const { location, reason } of plan.skipped) stdout.write(`skipped: ${location}: ${reason}\n`);
        const done = await changeNetwork(parts, flags, { log, directory }, plan.facts);
        if (done === undefined) return;
        const events = done.events === 0 ? 'nothing has changed' : `imported: ${done.events} events`;
        stdout.write(`${events}; ${plan.categories} categories in the file\n`);
      });
    },
  );
}

function toCode(value: string): string {
  const code = value.toLowerCase();
  if (!isLanguage(code)) throw new InvalidArgumentError('Expected a language code of ISO 639-1 such as de.');
  return code;
}

interface MappingTools {
  readonly log: EventLog;
  readonly directory: Directory;
  readonly counted: CountedFeeds;
}

interface MappingFlags {
  readonly feed?: number;
  readonly name?: string;
  readonly category?: string;
  readonly state?: 'mapped' | 'unmapped';
  readonly most?: number;
  readonly json?: boolean;
}

export function addMappings(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  const mappings = affilog
    .command('mappings')
    .description('Mappings from category names in feeds to platform categories. Works while servers run.');
  const feed = ['--feed <id>', 'Feed id.', integerFrom(1)] as const;
  const name = ['--name <name>', 'Category name in the feed, exactly as posted.'] as const;
  const textOf = (...cells: readonly (string | number | undefined)[]): string =>
    cells.map((cell) => cell ?? '').join('\t');
  const printRow = (...cells: readonly (string | number | undefined)[]): unknown =>
    stdout.write(`${textOf(...cells)}\n`);

  const change = async (
    command: Command,
    lines: readonly MappingLine[],
    apply: (tools: Pick<MappingTools, 'log' | 'directory'>, facts: readonly Fact[]) => Promise<unknown>,
  ): Promise<void> => {
    const { notingUnused, planMappings } = await import('../network/categories/change-mappings.js');
    await withTools(command, parts, async ({ log, directory, counted }) => {
      const plan = planMappings(directory, lines, new Date().toISOString());
      const report = await notingUnused(plan.report, lines, (feedIds) => counted.of(feedIds));
      for (const { line, outcome, message } of report) printRow(`line ${line}`, outcome, message);
      await apply({ log, directory }, plan.facts);
      const refused = report.filter(({ outcome }) => outcome === 'refused').length;
      if (refused > 0) throw new CommandError(`${refused} of ${report.length} lines were refused`);
    });
  };
  const changeOne = (command: Command, one: MappingChange): Promise<void> =>
    change(command, [{ line: 1, change: one }], async ({ log, directory }, facts) => {
      const { appendFacts } = await import('../network/decider.js');
      await appendFacts(SYSTEM_CLOCK, log, facts, directory);
    });

  withJson(mappings.command('list'))
    .description('List the category names of a feed and what each is mapped to.')
    .requiredOption(...feed)
    .addOption(new Option('--state <state>', 'Only names in this state.').choices(['mapped', 'unmapped']))
    .action(async ({ feed: feedId = NaN, state, ...flags }: MappingFlags, command: Command) => {
      const { listMappings } = await import('../network/categories/category-counts.js');
      await withTools(command, parts, async ({ directory, counted }) => {
        requireFeed(directory, feedId);
        const listed = listMappings(directory, await counted.of([feedId]), state);
        await printList(parts, flags, listed, (one) =>
          textOf(one.state, one.productCount, one.categoryName, one.tdCategoryId, one.tdCategoryName),
        );
      });
    });
  mappings
    .command('map')
    .description('Map a name to a platform category.')
    .requiredOption(...feed)
    .requiredOption(...name)
    .requiredOption('--category <id>', 'Platform category id.')
    .action(({ feed: feedId = NaN, name: value = '', category = '' }: MappingFlags, command: Command) =>
      changeOne(command, { feedId, name: value, categoryId: category }),
    );
  mappings
    .command('unmap')
    .description('Remove the mapping of a name.')
    .requiredOption(...feed)
    .requiredOption(...name)
    .action(({ feed: feedId = NaN, name: value = '' }: MappingFlags, command: Command) =>
      changeOne(command, { feedId, name: value }),
    );
  addChangeFlags(
    mappings
      .command('import')
      .description(
        'Import a CSV file with the columns feedId, name and categoryId. An empty categoryId unmaps the name.',
      )
      .argument('<file>', 'CSV file; may be gzip-compressed'),
  ).action(async (file: string, flags: ChangeFlags, command: Command) => {
    const { readTextFile } = await import('../operations/text-files.js');
    const { mappingLines } = await import('../network/categories/change-mappings.js');
    const lines = mappingLines(await readTextFile(file));
    await change(command, lines, (tools, facts) => changeNetwork(parts, flags, tools, facts));
  });
  withJson(mappings.command('suggest'))
    .description('Suggest platform categories for the unmapped names of a feed, or for a name.')
    .option(...feed)
    .option(...name)
    .option('--most <n>', 'Suggestions for each name.', integerFrom(1), 3)
    .action(
      async ({ feed: feedId = NaN, name: value, most = 3, ...flags }: MappingFlags, command: Command) => {
        const { listMappings } = await import('../network/categories/category-counts.js');
        const { suggestMappings } = await import('../network/categories/suggest-mappings.js');
        await withTools(command, parts, async ({ directory, counted }) => {
          if (value === undefined) requireFeed(directory, feedId);
          const names =
            value === undefined
              ? listMappings(directory, await counted.of([feedId]), 'unmapped')
              : [{ categoryName: value }];
          const suggested = (await suggestMappings(directory, names, most)).flatMap(
            ({ categoryName, suggestions }) => suggestions.map((one) => ({ categoryName, ...one })),
          );
          await printList(parts, flags, suggested, ({ categoryName, score, categoryId, path }) =>
            textOf(categoryName, score.toFixed(3), categoryId, path),
          );
        });
      },
    );
}

/** With what counts the products of feeds by their category names. */
export async function withTools(
  command: Command,
  parts: CliParts,
  work: (tools: MappingTools) => Promise<void>,
): Promise<void> {
  const { CountedFeeds, FeedStates } = await import('../services/products/feed.queries.js');
  await withDirectory(command, parts, async ({ log, store }, directory) => {
    // Products that are newer than the directory are counted by it all the same.
    const reachedInTime = (): Promise<void> => Promise.resolve();
    const states = new FeedStates(SYSTEM_CLOCK, store, { directory, reachedInTime });
    await work({ log, directory, counted: new CountedFeeds(store, states, { directory }) });
  });
}

function requireFeed(directory: Directory, feedId: number): void {
  if (directory.feed(feedId) === undefined)
    throw new UsageError(
      Number.isNaN(feedId) ? '--feed or --name is missing' : `--feed ${feedId}: expected the id of a feed`,
    );
}
