import { type Command, InvalidArgumentError } from 'commander';
import { isLanguage } from '../../wire/iso-codes';
import { addSettings, isOfEngines, withEngines } from './settings';
import { type Surroundings } from './surroundings';

interface ImportFlags {
  readonly language: string;
  readonly prune?: boolean;
}

/** `affilog categories import`. */
export function addCategories(affilog: Command, surroundings: Surroundings): void {
  const { stdout } = surroundings;
  const categories = affilog.command('categories').description('The tree of platform categories.');
  const importing = categories
    .command('import')
    .description('Bring the tree to what a published one says. Servers may be running.')
    .argument('<file>', 'JSON tree, or lines `id > path`; may be packed by gzip')
    .option(
      '--language <code>',
      'Language of its names (ISO 639-1); another one than English comes second.',
      toCode,
      'en',
    )
    .option('--prune', 'Remove what the file does not mention.')
    .action(async (file: string, { language, prune = false }: ImportFlags, command: Command) => {
      const { readCategories } = await import('../../categories/category-file.js');
      const { importCategories } = await import('../../categories/import-categories.js');
      const { readTextFile } = await import('./text-file.js');
      const read = readCategories(await readTextFile(file));
      await withEngines(command, surroundings, async ({ log }) => {
        const options = { at: new Date().toISOString(), language, prune };
        const done = await importCategories(log, read, options);
        for (const { place, why } of done.leftOut) stdout.write(`left out: ${place}: ${why}\n`);
        const events = done.events === 0 ? 'nothing has changed' : `imported: ${done.events} events`;
        stdout.write(`${events}; ${done.categories} categories in the file\n`);
      });
    });
  addSettings(importing, isOfEngines);
}

function toCode(value: string): string {
  const code = value.toLowerCase();
  if (!isLanguage(code)) throw new InvalidArgumentError('It is a code of ISO 639-1 such as de.');
  return code;
}
