import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Role, ROLES, serve } from '../../host/serve';
import { addSettings, configOf } from './settings';
import { type Surroundings } from './surroundings';

interface ServeFlags {
  readonly demo?: boolean;
  readonly roles: readonly Role[];
}

/** `affilog serve`. */
export function addServe(affilog: Command, surroundings: Surroundings): void {
  const { stdout, stopSignal, start } = surroundings;
  const serving = affilog
    .command('serve')
    .description('Serve until told to stop (SIGTERM, SIGINT).')
    .option('--demo', 'Fill an empty data folder with a demonstration network.')
    .addOption(
      new Option('--roles <roles>', 'What this process does.')
        .default(ROLES, ROLES.join(','))
        .argParser(toRoles),
    )
    .action(async ({ demo = false, roles }: ServeFlags, command: Command) => {
      const signal = stopSignal();
      const config = await configOf(command, surroundings);
      await serve(start, config, { demo, roles }, signal, (line) => stdout.write(`${line}\n`));
    });
  addSettings(serving, () => true);
}

function toRoles(value: string): readonly Role[] {
  return value.split(',').map((name) => {
    const role = ROLES.find((known) => known === name.trim());
    if (role === undefined) throw new InvalidArgumentError(`Roles are: ${ROLES.join(', ')}.`);
    return role;
  });
}
