import { type Command } from 'commander';
import { type Engines } from '../engines/open';
import { addSettings, type CliContext, configOf, isOfEngines, withEngines } from './settings';

/** `affilog rebuild`. */
export function addRebuild(affilog: Command, context: CliContext): void {
  const { stdout, stderr, stopSignal, threads } = context;
  const rebuilding = affilog
    .command('rebuild')
    .description('Rebuild a read model from the log and swap it in.')
    .argument('<projection>', 'name of the projection, or all')
    .option('--force', 'Swap in despite differences and parked documents.')
    .action(async (name: string, { force = false }: { readonly force?: boolean }, command: Command) => {
      const { rebuildProjections } = await import('../operations/rebuild.js');
      const { progressOn } = await import('./progress.js');
      const { notifyKeep: keepMs } = await configOf(command, context);
      const work = async (engines: Engines): Promise<void> => {
        const display = await progressOn(stderr);
        const onProgress = display.show.bind(display);
        const options = { force, onProgress, signal: stopSignal(), keepMs };
        const rebuilt = await rebuildProjections(engines, name, options).finally(() => display.end());
        for (const { generation, documents } of rebuilt)
          stdout.write(`${generation.collection}: generation ${generation.number}, ${documents} documents\n`);
      };
      await withEngines(command, context, work, threads);
    });
  addSettings(rebuilding, isOfEngines);
}
