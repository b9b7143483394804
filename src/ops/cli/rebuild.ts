import { type Command } from 'commander';
import { type Engines } from '../../engines/open';
import { addSettings, isOfEngines, withEngines } from './settings';
import { type Surroundings } from './surroundings';

/** `affilog rebuild`. */
export function addRebuild(affilog: Command, surroundings: Surroundings): void {
  const { stdout, stderr, stopSignal, threads } = surroundings;
  const rebuilding = affilog
    .command('rebuild')
    .description('Build a read model anew from the log, beside the live one, and swap it in.')
    .argument('<projection>', 'its name, or all')
    .option('--force', 'Swap in spite of differences.')
    .action(async (name: string, { force = false }: { readonly force?: boolean }, command: Command) => {
      const { rebuildProjections } = await import('../rebuild.js');
      const { progressOn } = await import('./progress.js');
      const work = async (engines: Engines): Promise<void> => {
        const display = await progressOn(stderr);
        const onProgress = display.show.bind(display);
        const options = { force, onProgress, signal: stopSignal() };
        const rebuilt = await rebuildProjections(engines, name, options).finally(() => display.end());
        for (const { generation, documents } of rebuilt)
          stdout.write(`${generation.collection}: generation ${generation.number}, ${documents} documents\n`);
      };
      await withEngines(command, surroundings, work, threads);
    });
  addSettings(rebuilding, isOfEngines);
}
