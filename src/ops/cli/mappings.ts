import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Directory } from '../../directory/directory';
import { type EventLog } from '../../kernel/event-log';
import { type CountedFeeds } from '../../products/feed-counts.queries';
import { type MappingChange, type MappingLine } from '../../categories/change-mappings';
import { addSettings, isOfEngines, withEngines } from './settings';
import { type Surroundings } from './surroundings';

class UnknownFeed extends Error {
  override readonly name = 'UnknownFeed';
}

/** Lines of a change were refused: told already. */
class RefusedMapping extends Error {
  override readonly name = 'RefusedMapping';
}

/** What the verbs work with. */
interface Desk {
  readonly log: EventLog;
  readonly directory: Directory;
  readonly counted: CountedFeeds;
}

interface Flags {
  readonly feed?: number;
  readonly name?: string;
  readonly category?: string;
  readonly state?: 'mapped' | 'unmapped';
  readonly most?: number;
}

/** `affilog mappings list|map|unmap|import|suggest`. */
export function addMappings(affilog: Command, surroundings: Surroundings): void {
  const { stdout } = surroundings;
  const mappings = affilog
    .command('mappings')
    .description('What the category names of feeds mean on the platform. Servers may be running.');
  const feed = new Option('--feed <id>', 'Id of the feed.').argParser(toNumber);
  const name = new Option('--name <name>', "The advertiser's name of the category, to the letter.");
  const say = (...cells: readonly (string | number | undefined)[]): unknown =>
    stdout.write(`${cells.map((cell) => cell ?? '').join('\t')}\n`);

  const change = async (command: Command, lines: readonly MappingLine[]): Promise<void> => {
    const { changeMappings } = await import('../../categories/change-mappings.js');
    await withDesk(command, surroundings, async ({ log, directory }) => {
      const { report } = await changeMappings(log, directory, lines, new Date().toISOString());
      for (const { line, outcome, message } of report) say(`line ${line}`, outcome, message);
      const refused = report.filter(({ outcome }) => outcome === 'refused').length;
      if (refused > 0) throw new RefusedMapping(`${refused} of ${report.length} lines were refused`);
    });
  };
  const changeOne = (command: Command, one: MappingChange): Promise<void> =>
    change(command, [{ line: 1, change: one }]);

  const listing = mappings
    .command('list')
    .description('List the categories of a feed, and what each is mapped to.')
    .addOption(required(feed))
    .addOption(new Option('--state <state>', 'Only these.').choices(['mapped', 'unmapped']))
    .action(async ({ feed: feedId = NaN, state }: Flags, command: Command) => {
      const { listMappings } = await import('../../categories/list-mappings.js');
      await withDesk(command, surroundings, async ({ directory, counted }) => {
        requireFeed(directory, feedId);
        for (const mapping of listMappings(directory, await counted.of([feedId]), state))
          say(
            mapping.state,
            mapping.productCount,
            mapping.categoryName,
            mapping.tdCategoryId,
            mapping.tdCategoryName,
          );
      });
    });
  const mapping = mappings
    .command('map')
    .description('Map a name to a platform category.')
    .addOption(required(feed))
    .addOption(required(name))
    .requiredOption('--category <id>', 'Id of the platform category.')
    .action(({ feed: feedId = NaN, name: of = '', category = '' }: Flags, command: Command) =>
      changeOne(command, { feedId, name: of, categoryId: category }),
    );
  const unmapping = mappings
    .command('unmap')
    .description('Let a name mean nothing again.')
    .addOption(required(feed))
    .addOption(required(name))
    .action(({ feed: feedId = NaN, name: of = '' }: Flags, command: Command) =>
      changeOne(command, { feedId, name: of }),
    );
  const importing = mappings
    .command('import')
    .description(
      'Map by a CSV file with the columns feedId, name, categoryId; without a category a name is unmapped.',
    )
    .argument('<file>', 'CSV file; may be packed by gzip')
    .action(async (file: string, _: Flags, command: Command) => {
      const { readTextFile } = await import('./text-file.js');
      const { mappingLines } = await import('../../categories/mappings-csv.js');
      await change(command, mappingLines(await readTextFile(file)));
    });
  const suggesting = mappings
    .command('suggest')
    .description('Suggest platform categories for the unmapped names of a feed, or for a name.')
    .addOption(feed)
    .addOption(name)
    .addOption(new Option('--most <n>', 'Suggestions for each name.').default(3).argParser(toNumber))
    .action(async ({ feed: feedId, name: of, most = 3 }: Flags, command: Command) => {
      const { listMappings } = await import('../../categories/list-mappings.js');
      const { suggestMappings } = await import('../../categories/suggest-mappings.js');
      await withDesk(command, surroundings, async ({ directory, counted }) => {
        if (of === undefined) requireFeed(directory, feedId ?? NaN);
        const names =
          of === undefined
            ? listMappings(directory, await counted.of([feedId ?? NaN]), 'unmapped')
            : [{ categoryName: of }];
        for (const { categoryName, suggestions } of await suggestMappings(directory, names, most))
          for (const { score, categoryId, path } of suggestions)
            say(categoryName, score.toFixed(3), categoryId, path);
      });
    });
  for (const verb of [listing, mapping, unmapping, importing, suggesting]) addSettings(verb, isOfEngines);
}

async function withDesk(
  command: Command,
  surroundings: Surroundings,
  work: (desk: Desk) => Promise<void>,
): Promise<void> {
  const { directoryAt } = await import('../../directory/fold.js');
  const { CountedFeeds } = await import('../../products/feed-counts.queries.js');
  const { FeedStates } = await import('../../products/feed-states.queries.js');
  await withEngines(command, surroundings, async ({ log, store }) => {
    const directory = await directoryAt(log);
    // Products that are newer than the directory are counted by it all the same.
    const reachedInTime = (): Promise<void> => Promise.resolve();
    const states = new FeedStates(store, { directory, reachedInTime });
    await work({ log, directory, counted: new CountedFeeds(store, states, { directory }) });
  });
}

function requireFeed(directory: Directory, feedId: number): void {
  if (directory.feed(feedId) === undefined)
    throw new UnknownFeed(`--feed ${feedId}: there is no such feed (or none is named)`);
}

function required(option: Option): Option {
  return new Option(option.flags, option.description)
    .argParser(option.parseArg ?? String)
    .makeOptionMandatory();
}

function toNumber(value: string): number {
  if (!/^[1-9]\d{0,14}$/.test(value)) throw new InvalidArgumentError('It must be an integer of at least 1.');
  return Number(value);
}
