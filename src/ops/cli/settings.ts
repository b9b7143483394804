import { type Command } from 'commander';
import { type Config } from '../../config';
import { type Engines } from '../../engines/open';
import {
  flagOf,
  type Setting,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  settingsTable,
} from '../../settings';
import { type Start } from '../../host/serve';
import { type Output } from './progress';

/** What a run of the program gets from its process or from a test. */
export interface CliContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Where answers to questions come from, if it is a terminal. */
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Once called, a stop signal aborts the result instead of ending the process. */
  readonly stopSignal: () => AbortSignal;
  readonly start: Start;
  /** Whether threads may be started, which only the compiled program can. */
  readonly threads: boolean;
}

/** `affilog settings`. */
export function addSettingsVerb(affilog: Command, { stdout }: CliContext): void {
  affilog
    .command('settings')
    .description('Print all settings and their defaults.')
    .action(() => {
      stdout.write(settingsTable());
    });
}

/** Adds a flag for each setting that applies to the command. */
export function addSettings(command: Command, applies: (setting: Setting) => boolean): void {
  command.optionsGroup('Settings, also available as environment variables:');
  for (const name of SETTING_NAMES) {
    const setting: Setting = SETTINGS[name];
    const fallback = setting.default === undefined ? '' : `, default ${setting.default}`;
    if (applies(setting))
      command.option(`${flagOf(name)} <value>`, `${setting.description} (${name}${fallback})`);
  }
}

/** Whether a setting applies to commands that only need the engines. */
export function isOfEngines({ serving }: Setting): boolean {
  return serving !== true;
}

/** The settings from flags and environment; flags win. Raises `InvalidSetting`. */
export async function configOf(command: Command, { environment }: CliContext): Promise<Config> {
  const { readConfig } = await import('../../config.js');
  const options = command.opts<Readonly<Record<string, unknown>>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const value = options[attributeOf(name)];
    if (typeof value === 'string') flags[name] = value;
  }
  return readConfig(environment, flags);
}

/** Opens the configured engines for `work` and closes them. `threads` speeds up many writes. */
export async function withEngines(
  command: Command,
  context: CliContext,
  work: (engines: Engines) => Promise<void>,
  threads = false,
): Promise<void> {
  const config = await configOf(command, context);
  const { openEngines } = await import('../../engines/open.js');
  const engines = await openEngines({ ...config, threads, readers: 0 });
  await work(engines).finally(() => engines.close());
}

/** Commander's name of the option: `dataDir` for `DATA_DIR`. */
function attributeOf(name: SettingName): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
