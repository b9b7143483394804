import { readFile } from 'node:fs/promises';
import { types } from 'node:util';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type Config } from '../config';
import { type Engines } from '../engines/open';
import { flagOf, type Setting, SETTING_NAMES, type SettingName, SETTINGS, settingsTable } from '../settings';
import { type Output } from './progress';
import { type Role, ROLES, serve, type Start } from './serve';

/** What a run of the program is given. Modules are loaded when a verb needs them: help comes at once. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** From the call on, being asked to end aborts this instead of ending the process. */
  readonly stopSignal: () => AbortSignal;
  readonly start: Start;
}

/** Done, failed, wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** Runs `affilog <args>`. What is not a bug of ours is told on stderr, a line each. */
export async function runCli(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  try {
    await commandsOf(surroundings).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { text, code } = told(error);
    surroundings.stderr.write(`${text.replace(/^/gm, 'affilog: ')}\n`);
    return code;
  }
}

/** Errors by name, so that telling them loads none of the modules they come from. */
const TOLD: Readonly<Record<string, ExitCode>> = {
  InvalidSetting: 2,
  UnknownEngine: 2,
  UnknownProjection: 2,
  UnusableAddress: 2,
  UnusableUrl: 2,
  EngineUnavailable: 1,
  NetworkFaults: 1,
  NotJson: 1,
  AbortError: 1,
  IncompleteDemo: 1,
  LogsDiffer: 1,
  RebuildRefused: 1,
  RebuildUnderWay: 1,
};

function told(error: unknown): { readonly text: string; readonly code: ExitCode } {
  if (!isError(error)) return { text: String(error), code: 1 };
  const code = TOLD[error.name];
  if (code !== undefined) return { text: error.message, code };
  // The system's own words name the port, the file or the folder.
  return { text: 'syscall' in error ? error.message : (error.stack ?? error.message), code: 1 };
}

/** Also of another realm; what is raised by an aborted signal is no native one. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

interface ServeFlags {
  readonly demo?: boolean;
  readonly roles: readonly Role[];
}

class NotJson extends Error {
  override readonly name = 'NotJson';
}

function commandsOf(surroundings: Surroundings): Command {
  const { stdout, stderr, stopSignal, start } = surroundings;
  const affilog = new Command('affilog')
    .description('The back end of an affiliate network.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError('(--help tells what is accepted)');

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

  const network = affilog
    .command('network')
    .description('Reference data: organisations, programs, feeds ...');
  const importing = network
    .command('import')
    .description('Bring the network to what a file says; what has not changed stays. Servers may be running.')
    .argument('<file>', 'network file (JSON, see `affilog network schema`)')
    .option('--prune', 'Remove what the file does not mention.')
    .action(async (file: string, { prune = false }: { readonly prune?: boolean }, command: Command) => {
      const json = await readJson(file);
      const { importNetwork } = await import('./import-network.js');
      await withEngines(command, surroundings, async ({ log }) => {
        const at = new Date().toISOString();
        const onToken = (token: object): unknown => stdout.write(`new token: ${JSON.stringify(token)}\n`);
        const { events } = await importNetwork(log, json, { at, prune, onToken });
        stdout.write(events === 0 ? 'nothing has changed\n' : `imported: ${events} events\n`);
      });
    });
  addSettings(importing, ({ serving: isServing }) => isServing !== true);
  network
    .command('schema')
    .description('Print the JSON Schema of network files.')
    .action(async () => {
      const { networkSchema } = await import('../directory/network-file.js');
      stdout.write(networkSchema());
    });

  const rebuilding = affilog
    .command('rebuild')
    .description('Build a read model anew from the log, beside the live one, and swap it in.')
    .argument('<projection>', 'its name, or all')
    .option('--force', 'Swap in spite of differences.')
    .action(async (name: string, { force = false }: { readonly force?: boolean }, command: Command) => {
      const { rebuildProjections } = await import('./rebuild.js');
      const { progressOn } = await import('./progress.js');
      await withEngines(command, surroundings, async (engines) => {
        const display = await progressOn(stderr);
        const onProgress = display.show.bind(display);
        const options = { force, onProgress, signal: stopSignal() };
        const rebuilt = await rebuildProjections(engines, name, options).finally(() => display.end());
        for (const { generation, documents } of rebuilt)
          stdout.write(`${generation.collection}: generation ${generation.number}, ${documents} documents\n`);
      });
    });
  addSettings(rebuilding, ({ serving: isServing }) => isServing !== true);

  const copying = affilog
    .command('log')
    .description('The event log.')
    .command('copy')
    .description('Copy the log from one engine to another; the same command again goes on where it ended.')
    .requiredOption('--from <url>', 'Log to be copied: sqlite: (in the data folder) or esdb://...')
    .requiredOption('--to <url>', 'Where to: an empty log, or one that an earlier copy has begun.')
    .action(async ({ from, to }: { readonly from: string; readonly to: string }, command: Command) => {
      const { dataDir } = await configOf(command, surroundings);
      const { openLogAt } = await import('../engines/open.js');
      const { copyLog } = await import('./copy-log.js');
      const { progressOn } = await import('./progress.js');
      const source = await openLogAt(from, dataDir);
      const target = await openLogAt(to, dataDir);
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

  affilog
    .command('settings')
    .description('Print every setting with its default.')
    .action(() => {
      stdout.write(settingsTable());
    });
  return affilog;
}

function addSettings(command: Command, isOf: (setting: Setting) => boolean): void {
  command.optionsGroup('Settings, each an environment variable too:');
  for (const name of SETTING_NAMES) {
    const setting: Setting = SETTINGS[name];
    const fallback = setting.default === undefined ? '' : `, default ${setting.default}`;
    if (isOf(setting)) command.option(`${flagOf(name)} <value>`, `${setting.says} (${name}${fallback})`);
  }
}

async function configOf(command: Command, { environment }: Surroundings): Promise<Config> {
  const { readConfig } = await import('../config.js');
  const options = command.opts<Readonly<Record<string, unknown>>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const value = options[attributeOf(name)];
    if (typeof value === 'string') flags[name] = value;
  }
  return readConfig(environment, flags);
}

/** `dataDir` for `DATA_DIR`, as commander names it. */
function attributeOf(name: SettingName): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

async function withEngines(
  command: Command,
  surroundings: Surroundings,
  work: (engines: Engines) => Promise<void>,
): Promise<void> {
  const config = await configOf(command, surroundings);
  const { openEngines } = await import('../engines/open.js');
  const engines = await openEngines({ ...config, threads: false });
  await work(engines).finally(() => engines.close());
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NotJson(`${file} is not JSON: ${isError(error) ? error.message : ''}`);
  }
}

function toRoles(value: string): readonly Role[] {
  return value.split(',').map((name) => {
    const role = ROLES.find((known) => known === name.trim());
    if (role === undefined) throw new InvalidArgumentError(`Roles are: ${ROLES.join(', ')}.`);
    return role;
  });
}
