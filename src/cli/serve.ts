import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Role, ROLES, serve } from '../app/serve';
import { addSettings, type CliContext, configOf } from './settings';

interface ServeFlags {
  readonly demo?: boolean;
  readonly roles: readonly Role[];
}

/** `affilog serve`. */
export function addServe(affilog: Command, context: CliContext): void {
  const { stdout, stopSignal, start } = context;
  const serving = affilog
    .command('serve')
    .description('Run the server until it is stopped (SIGTERM, SIGINT).')
    .option('--demo', 'Fill an empty data folder with a demo network.')
    .addOption(
      new Option('--roles <roles>', 'Roles of this process, separated by commas.')
        .default(ROLES, ROLES.join(','))
        .argParser(toRoles),
    )
    .action(async ({ demo = false, roles }: ServeFlags, command: Command) => {
      const signal = stopSignal();
      const config = await configOf(command, context);
      await serve(start, config, { demo, roles }, signal, (line) => stdout.write(`${line}\n`));
    });
  addSettings(serving, () => true);
}

function toRoles(value: string): readonly Role[] {
  return value.split(',').map((name) => {
    const role = ROLES.find((one) => one === name.trim());
    if (role === undefined) throw new InvalidArgumentError(`Expected roles: ${ROLES.join(', ')}.`);
    return role;
  });
}
