import { type Command, InvalidArgumentError } from 'commander';
import { isLanguage } from '../wire/iso-codes';
import { addChangeFlags, type ChangeFlags, changeNetwork } from './change-network';
import { addSettings, type CliContext, isOfEngines, withDirectory } from './settings';

interface ImportFlags extends ChangeFlags {
  readonly language: string;
  readonly prune?: boolean;
  readonly merge?: boolean;
}

/** `affilog categories import`. */
export function addCategories(affilog: Command, context: CliContext): void {
  const { stdout } = context;
  const categories = affilog.command('categories').description('The platform category tree.');
  const importing = addChangeFlags(
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
      { language, prune = false, merge = false, ...flags }: ImportFlags,
      command: Command,
    ) => {
      const { readCategories } = await import('../network/categories/category-file.js');
      const { planCategories } = await import('../network/categories/import-categories.js');
      const { readTextFile } = await import('./text-file.js');
      const read = readCategories(await readTextFile(file));
      await withDirectory(command, context, async ({ log }, directory) => {
        const options = { at: new Date().toISOString(), language, prune, merge };
        const plan = planCategories(directory, read, options);
        for (const { location, reason } of plan.skipped) stdout.write(`skipped: ${location}: ${reason}\n`);
        const done = await changeNetwork(context, flags, { log, directory }, plan.facts);
        if (done === undefined) return;
        const events = done.events === 0 ? 'nothing has changed' : `imported: ${done.events} events`;
        stdout.write(`${events}; ${plan.categories} categories in the file\n`);
      });
    },
  );
  addSettings(importing, isOfEngines);
}

function toCode(value: string): string {
  const code = value.toLowerCase();
  if (!isLanguage(code)) throw new InvalidArgumentError('Expected a language code of ISO 639-1 such as de.');
  return code;
}
