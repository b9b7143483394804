import { type Command } from 'commander';
import { secretValue } from '../settings/secret-value';
import { SETTINGS } from '../settings/settings';
import { addSettings, type CliContext, closeFolder, configOf, noticesOf } from './settings';

interface CopyFlags {
  readonly from: string;
  readonly to: string;
}

/** `affilog log copy`. */
export function addLog(affilog: Command, context: CliContext): void {
  const { stdout, stderr, stopSignal } = context;
  const log = affilog.command('log').description('The event log.');
  const copying = log
    .command('copy')
    .description('Copy the log from one engine to another. Run it again to continue an interrupted copy.')
    .requiredOption(
      '--from <url>',
      'Source: sqlite: (in the data folder) or esdb://...; @FILE reads it from a file: `ps` shows a password in a flag.',
    )
    .requiredOption('--to <url>', 'Target: an empty log, or an incomplete copy of the source. @FILE too.')
    .action(async ({ from, to }: CopyFlags, command: Command) => {
      const { dataDir } = await configOf(command, context);
      const { openLogAt } = await import('../engines/open.js');
      const { copyLog } = await import('../operations/copy-log.js');
      const { progressOn } = await import('./progress.js');
      await closeFolder(dataDir, context);
      const urls = { from: secretValue(from, '--from'), to: secretValue(to, '--to') };
      const source = await openLogAt(urls.from, dataDir, '--from', noticesOf(context));
      const target = await openLogAt(urls.to, dataDir, '--to', noticesOf(context));
      const display = await progressOn(stderr);
      const options = { onProgress: display.show.bind(display), signal: stopSignal() };
      const { events, before, digest } = await copyLog(source, target, options).finally(async () => {
        display.end();
        await target.close();
        await source.close();
      });
      stdout.write(`${events} events in both logs, ${before} of them copied earlier; SHA-256 ${digest}\n`);
    });
  addSettings(copying, (setting) => setting === SETTINGS.DATA_DIR);
}
