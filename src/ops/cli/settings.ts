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
import { type Surroundings } from './surroundings';

/** `affilog settings`. */
export function addSettingsVerb(affilog: Command, { stdout }: Surroundings): void {
  affilog
    .command('settings')
    .description('Print every setting with its default.')
    .action(() => {
      stdout.write(settingsTable());
    });
}

/** Gives a verb a flag for each setting that `isOf` it. */
export function addSettings(command: Command, isOf: (setting: Setting) => boolean): void {
  command.optionsGroup('Settings, each an environment variable too:');
  for (const name of SETTING_NAMES) {
    const setting: Setting = SETTINGS[name];
    const fallback = setting.default === undefined ? '' : `, default ${setting.default}`;
    if (isOf(setting))
      command.option(`${flagOf(name)} <value>`, `${setting.description} (${name}${fallback})`);
  }
}

/** Settings of verbs that only need the engines. */
export function isOfEngines({ serving }: Setting): boolean {
  return serving !== true;
}

/** The environment, overruled by the verb's flags. Raises `InvalidSetting`. */
export async function configOf(command: Command, { environment }: Surroundings): Promise<Config> {
  const { readConfig } = await import('../../config.js');
  const options = command.opts<Readonly<Record<string, unknown>>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const value = options[attributeOf(name)];
    if (typeof value === 'string') flags[name] = value;
  }
  return readConfig(environment, flags);
}

/** Does `work` with the engines that the settings name, open; with `threads` they are for writing much. */
export async function withEngines(
  command: Command,
  surroundings: Surroundings,
  work: (engines: Engines) => Promise<void>,
  threads = false,
): Promise<void> {
  const config = await configOf(command, surroundings);
  const { openEngines } = await import('../../engines/open.js');
  const engines = await openEngines({ ...config, threads, readers: 0 });
  await work(engines).finally(() => engines.close());
}

/** `dataDir` for `DATA_DIR`, as commander names it. */
function attributeOf(name: SettingName): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}
