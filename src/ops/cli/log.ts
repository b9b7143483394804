import { type Command } from 'commander';
import { SETTINGS } from '../../settings';
import { addSettings, configOf } from './settings';
import { type Surroundings } from './surroundings';

interface CopyFlags {
  readonly from: string;
  readonly to: string;
}

/** `affilog log copy`. */
export function addLog(affilog: Command, surroundings: Surroundings): void {
  const { stdout, stderr, stopSignal } = surroundings;
  const log = affilog.command('log').description('The event log.');
  const copying = log
    .command('copy')
    .description('Copy the log from one engine to another; the same command again goes on where it ended.')
    .requiredOption('--from <url>', 'Log to be copied: sqlite: (in the data folder) or esdb://...')
    .requiredOption('--to <url>', 'Where to: an empty log, or one that an earlier copy has begun.')
    .action(async ({ from, to }: CopyFlags, command: Command) => {
      const { dataDir } = await configOf(command, surroundings);
      const { openLogAt } = await import('../../engines/open.js');
      const { copyLog } = await import('../copy-log.js');
      const { progressOn } = await import('./progress.js');
      const source = await openLogAt(from, dataDir, '--from');
      const target = await openLogAt(to, dataDir, '--to');
      const display = await progressOn(stderr);
      const options = { onProgress: display.show.bind(display), signal: stopSignal() };
      const { events, before, digest } = await copyLog(source, target, options).finally(async () => {
        display.end();
        await target.close();
        await source.close();
      });
      stdout.write(`${events} events in both logs, ${before} of them before; SHA-256 ${digest}\n`);
    });
  addSettings(copying, (setting) => setting === SETTINGS.DATA_DIR);
}
