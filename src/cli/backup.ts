import { type Command } from 'commander';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { actionOf, type CliParts, configOf, withEngines, withProgress } from './settings';

interface BackupFlags {
  readonly withKey?: boolean;
  readonly json?: boolean;
}

export function addBackup(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  affilog
    .command('backup')
    .description(
      'Back up the event log, the delivery log, and with --with-key the key, consistently, while servers run. Repeated ' +
        'into the same folder, it adds what is new.',
    )
    .argument('<to>', 'an empty folder, or that of an earlier backup')
    .option('--with-key', 'Include notify.key, from which the secrets of subscriptions are derived.')
    .option('--json', 'Print the result as JSON.')
    .action(async (to: string, { withKey = false, json = false }: BackupFlags, command: Command) => {
      const { backUp } = await import('../operations/backup.js');
      const config = await configOf(command, parts);
      await withEngines(command, parts, async (engines, begin) => {
        const options = { withKey, clock: SYSTEM_CLOCK, begin };
        const done = await withProgress(parts, (shown) =>
          backUp(engines, config, to, { ...options, ...shown }),
        );
        const { events, added, position, hasDeliveries, hasKey } = done;
        stdout.write(
          json
            ? `${JSON.stringify(done)}\n`
            : `${events} events up to position ${position}, ${added} of them new; ` +
                `${hasDeliveries ? 'with' : 'without'} the delivery log, ${hasKey ? 'with' : 'without'} the key\n`,
        );
      });
    });
  affilog
    .command('restore')
    .description(
      'Restore a backup to an empty data folder, or to empty servers, while no server runs. Run it again to continue an ' +
        'interrupted restore.',
    )
    .argument('<from>', 'folder of the backup')
    .action(async (from: string, _: unknown, command: Command) => {
      const { acting } = await import('../operations/actions.js');
      const { restoreBackup } = await import('../operations/backup.js');
      const config = await configOf(command, parts);
      const restore = async (engines: Parameters<Parameters<typeof withEngines>[2]>[0]): Promise<void> => {
        const done = await withProgress(parts, (shown) => restoreBackup(from, engines, config, shown));
        const action = actionOf(command);
        if (action !== undefined)
          await acting(SYSTEM_CLOCK, engines, action, async (_engines, begin) => await begin());
        stdout.write(
          `${done.events} events of the backup of ${done.at}, ${done.before} of them restored earlier; ` +
            `${done.hasDeliveries ? 'with' : 'without'} the delivery log, ${done.hasKey ? 'with' : 'without'} the key; ` +
            `SHA-256 ${done.digest}\n`,
        );
      };
      await withEngines(command, parts, restore, { importing: true });
    });
}
