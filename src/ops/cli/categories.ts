import { type Command, InvalidArgumentError } from 'commander';
import { isLanguage } from '../../wire/iso-codes';
import { addSettings, type CliContext, isOfEngines, withEngines } from './settings';

interface ImportFlags {
  readonly language: string;
  readonly prune?: boolean;
}

/** `affilog categories import`. */
export function addCategories(affilog: Command, context: CliContext): void {
  const { stdout } = context;
  const categories = affilog.command('categories').description('The platform category tree.');
  const importing = categories
    .command('import')
    .description('Import a published category tree; appends only what has changed. Works while servers run.')
    .argument('<file>', 'JSON tree, or lines `id > path`; may be gzip-compressed')
    .option(
      '--language <code>',
      'Language of the names (ISO 639-1). Import the English file first.',
      toCode,
      'en',
    )
    .option('--prune', 'Remove everything that the file does not contain.')
    .action(async (file: string, { language, prune = false }: ImportFlags, command: Command) => {
      const { readCategories } = await import('../../categories/category-file.js');
      const { importCategories } = await import('../../categories/import-categories.js');
      const { readTextFile } = await import('./text-file.js');
      const read = readCategories(await readTextFile(file));
      await withEngines(command, context, async ({ log }) => {
        const options = { at: new Date().toISOString(), language, prune };
        const done = await importCategories(log, read, options);
        for (const { location, reason } of done.skipped) stdout.write(`skipped: ${location}: ${reason}\n`);
        const events = done.events === 0 ? 'nothing has changed' : `imported: ${done.events} events`;
        stdout.write(`${events}; ${done.categories} categories in the file\n`);
      });
    });
  addSettings(importing, isOfEngines);
}

function toCode(value: string): string {
  const code = value.toLowerCase();
  if (!isLanguage(code)) throw new InvalidArgumentError('Expected a language code of ISO 639-1 such as de.');
  return code;
}
