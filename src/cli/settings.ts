import { constants, getPriority, setPriority, userInfo } from 'node:os';
import { basename, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type Command, InvalidArgumentError } from 'commander';
import { type StartProcess } from '../app/serve';
import { type Engines, type EngineSettings } from '../engines/open';
import { START } from '../kernel/event';
import { type Directory } from '../network/directory';
import { type Action, GRAVE, isAction } from '../operations/actions';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { isAbort, type OnRetry, retryNotices } from '../runtime/unavailable';
import { type Config } from '../settings/config';
import {
  camelCase,
  describedSetting,
  flagOf,
  type Setting,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  withoutPassword,
} from '../settings/settings';
import { CommandError, UsageError } from '../operations/command-error';
import { type SingleBar } from 'cli-progress';
import { type RebuildProgress } from '../projector/rebuild';
import { type CheckProgress } from '../operations/backup';
import { type CopyProgress } from '../operations/copy-log';
import { type ExportProgress } from '../operations/export-log';
import { type ImportProgress } from '../operations/import-transactions';
import { type SendProgress } from '../operations/send-feed';
import { type SnapshotProgress } from '../operations/sql/snapshot';

/** What a run of the program gets from its process or from a test. */
export interface CliParts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Where answers to questions come from, if it is a terminal. */
  readonly stdin?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** Once called, a stop signal aborts the result instead of ending the process. */
  readonly stopSignal: () => AbortSignal;
  readonly start: StartProcess;
  /** Whether threads may be started, which only the compiled program can. */
  readonly threads: boolean;
}

export type SettingFlags = Readonly<Partial<Record<SettingName, string>>>;

/** Commands that do not have the settings of the engines, and the settings that they have. */
const OTHER_SETTINGS: Readonly<Record<string, (setting: Setting) => boolean>> = {
  serve: () => true,
  settings: () => true,
  'log copy': (setting) => setting === SETTINGS.DATA_DIR,
  'network schema': () => false,
  'products import': () => false,
  receiver: () => false,
};

/** Adds a flag to each command for each setting that applies to it. */
export function addSettings(command: Command, path = ''): void {
  for (const sub of command.commands) addSettings(sub, `${path} ${sub.name()}`.trim());
  if (command.commands.length > 0) return;
  const applies = OTHER_SETTINGS[path] ?? (({ serving }) => serving !== true);
  const settings = SETTING_NAMES.filter((name) => applies(SETTINGS[name]));
  if (settings.length === 0) return;
  command.optionsGroup(
    'Settings, also available as environment variables. `ps` shows flags to other users: give secrets by the ' +
      'environment or @FILE.',
  );
  for (const name of settings) {
    const { default: value }: Setting = SETTINGS[name];
    const fallback = value === undefined ? '' : `, default ${value}`;
    command.option(`${flagOf(name)} <value>`, `${describedSetting(name)} (${name}${fallback})`);
  }
}

/** Adds `--reason` to each command that is recorded. */
export function addReasons(command: Command, path = ''): void {
  for (const sub of command.commands) addReasons(sub, `${path} ${sub.name()}`.trim());
  if (isAction(path))
    command.option(
      '--reason <text>',
      `Why: recorded in the log with your user name (affilog actions).${GRAVE.has(path) ? ' Required.' : ''}`,
    );
}

/** Options that say how something is done, not what. */
const HOW = new Set(['yes', 'json', 'reason', ...SETTING_NAMES.map(camelCase)]);

/** Arguments that are files or folders: their last name is recorded, since the log is read over HTTP too. */
const PATHS = new Set(['file', 'from', 'to']);

/** Digits of the hash of a token that may be shown. */
const FINGERPRINT = 12;

/** What is recorded of a command; undefined of one that changes nothing, such as a dry run. */
export function actionOf(command: Command): Action | undefined {
  let name = command.name();
  for (let above = command.parent; above !== null && above.parent !== null; above = above.parent)
    name = `${above.name()} ${name}`;
  const options = command.opts<Readonly<Record<string, unknown>>>();
  if (!isAction(name) || options['dryRun'] === true) return undefined;
  const given = Object.entries(options).filter(
    ([option]) => !HOW.has(option) && command.getOptionValueSource(option) === 'cli',
  );
  const args = command.registeredArguments.map((one, at) => {
    const value: unknown = command.processedArgs[at];
    return [
      one.name(),
      PATHS.has(one.name()) && typeof value === 'string' ? basename(resolve(value)) : value,
    ] as const;
  });
  const asked = [...args, ...given]
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => {
      const text = withoutPassword(Array.isArray(value) ? value.join(',') : String(value));
      return [key, key === 'fingerprint' ? text.slice(0, FINGERPRINT) : text];
    });
  const reason = options['reason'];
  return {
    name,
    by: { user: shellUser() },
    ...(typeof reason === 'string' ? { reason } : {}),
    asked: Object.fromEntries(asked) as Action['asked'],
  };
}

/** A user without an entry in the system's list, as in a container, by number. */
export function shellUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** The settings from flags and environment; flags win. Raises `InvalidSetting`. */
export async function configOf(command: Command, { environment }: CliParts): Promise<Config> {
  const { readConfig } = await import('../settings/config.js');
  return readConfig(environment, flagsOf(command));
}

export function flagsOf(command: Command): SettingFlags {
  const options = command.opts<Readonly<Record<string, unknown>>>();
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of SETTING_NAMES) {
    const value = options[camelCase(name)];
    if (typeof value === 'string') flags[name] = value;
  }
  return flags;
}

/** `threads` speeds up many writes. */
type OpenOptions = Partial<Pick<EngineSettings, 'threads' | 'importing'>>;

/**
 * Opens the configured engines for `work`; reports an empty log. What a command does that is listed in `ACTIONS`
 * is recorded, where it changes neither log nor store from when it calls `begin`; the log of any other refuses to
 * append, unless it is imported.
 */
export async function withEngines(
  command: Command,
  parts: CliParts,
  work: (engines: Engines, begin: () => Promise<void>) => Promise<void>,
  { threads = false, importing = false }: OpenOptions = {},
): Promise<void> {
  const config = await configOf(command, parts);
  const { openEngines } = await import('../engines/open.js');
  const { acting, readOnly } = await import('../operations/actions.js');
  await closeFolder(config.dataDir, parts);
  const engines = await openEngines({ ...config, threads, importing, readers: 0 }, noticesOf(parts));
  const action = actionOf(command);
  try {
    if (importing) await work(engines, noAction);
    else if (action === undefined) await work(readOnly(engines), noAction);
    else await acting(SYSTEM_CLOCK, engines, action, work);
    // A mistyped folder is created like a new one.
    if (config.eventLog === 'sqlite:' && (await engines.log.head()) === START)
      parts.stderr.write(`affilog: the event log is empty: DATA_DIR is ${resolve(config.dataDir)}\n`);
  } finally {
    await engines.close();
  }
}

const noAction = (): Promise<void> => Promise.resolve();

/** Closes the data folder to other users, and prints what is left open. */
export async function closeFolder(dataDir: string, { stderr }: CliParts): Promise<void> {
  const { closeToOthers } = await import('../app/private-folder.js');
  for (const line of await closeToOthers(dataDir)) stderr.write(`affilog: ${line}\n`);
}

/**
 * As `withEngines`, with the directory as of the end of the log. A failure to read it ends the command instead of being
 * retried.
 */
export async function withDirectory(
  command: Command,
  parts: CliParts,
  work: (engines: Engines, directory: Directory) => Promise<void>,
): Promise<void> {
  await onDirectory(parts, work)(command);
}

/** The action of a command that works with the engines: `work` gets them, and the arguments and options as parsed. */
export function onEngines(
  parts: CliParts,
  work: (engines: Engines, ...args: never[]) => Promise<void>,
  options: OpenOptions = {},
): (...args: readonly unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.at(-1) as Command;
    await withEngines(command, parts, (engines) => work(engines, ...(args as never[])), options);
  };
}

/** The same with the directory, as `withDirectory`. */
export function onDirectory(
  parts: CliParts,
  work: (engines: Engines, directory: Directory, ...args: never[]) => Promise<void>,
): (...args: readonly unknown[]) => Promise<void> {
  return onEngines(parts, async (engines: Engines, ...args: never[]) => {
    const { directoryAt } = await import('../network/directory.js');
    await work(engines, await directoryAt(engines.log), ...args);
  });
}

/** Gives this process, if it is a program, and the threads that it starts from now on a lower priority than servers. */
export function letServersPass({ threads }: CliParts): void {
  if (threads && getPriority() < BELOW_SERVERS) setPriority(BELOW_SERVERS);
}

const BELOW_SERVERS = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Runs `work`, which continues what was interrupted, with a display of its progress on standard error, and with the
 * stop signal.
 */
export async function withProgress<Result>(
  { stderr, stopSignal }: CliParts,
  work: (shown: {
    readonly onProgress: ProgressDisplay['show'];
    readonly signal: AbortSignal;
  }) => Promise<Result>,
): Promise<Result> {
  const { show: onProgress, end } = await progressOn(stderr);
  const signal = stopSignal();
  try {
    return await work({ onProgress, signal });
  } catch (error) {
    throw signal.aborted && isAbort(error)
      ? new CommandError('interrupted: run the command again to continue')
      : error;
  } finally {
    end();
  }
}

/** Prints lines, and returns their number. */
export async function printLines(
  { stdout }: CliParts,
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<number> {
  let printed = 0;
  for await (const line of lines) {
    stdout.write(`${line}\n`);
    printed += 1;
  }
  return printed;
}

export interface JsonFlag {
  readonly json?: boolean;
}

export function withJson(command: Command): Command {
  return command.option('--json', 'One JSON object a line.');
}

/**
 * Prints a list, a line for each item: text, or a JSON object; `none` says that there are none. Returns their number.
 */
export async function printList<Item>(
  parts: CliParts,
  { json = false }: JsonFlag,
  items: Iterable<Item>,
  textOf: (item: Item) => string,
  none?: string,
): Promise<number> {
  const printed = await printLines(parts, [...items].map(json ? (item) => JSON.stringify(item) : textOf));
  if (printed === 0 && !json && none !== undefined) parts.stdout.write(`${none}\n`);
  return printed;
}

/** Prints failures of engines that are retried. */
export function noticesOf({ stderr }: CliParts): OnRetry {
  return retryNotices(SYSTEM_CLOCK, (line) => stderr.write(`affilog: ${line}\n`));
}

export function integerFrom(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected an integer ${range}.`);
  };
}

/** Parses a value of an option that takes several ids. */
export function addedId(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, integerFrom(0)(text)];
}

/**
 * Asks on the terminal whether to continue. For commands with `--yes`, and `--dry-run` unless said otherwise, before
 * they have changed anything. `what` will happen: "2 to be removed". Raises `CommandError`, and without a terminal
 * `UsageError`.
 */
export async function confirm(
  { stdin, stderr, stopSignal }: CliParts,
  what: string,
  hasDryRun = true,
): Promise<void> {
  if (stdin?.isTTY !== true) {
    const dryRun = hasDryRun ? ', or --dry-run to only see it' : '';
    throw new UsageError(`${what}: nothing has been changed; add --yes to confirm${dryRun}`);
  }
  const terminal = createInterface({ input: stdin, output: stderr });
  const answer = await new Promise<string>((resolve) => {
    terminal.once('line', resolve);
    terminal.once('close', () => resolve(''));
    stopSignal().addEventListener('abort', () => terminal.close(), { once: true });
    terminal.setPrompt(`${what}. Continue? [y/N] `);
    terminal.prompt();
  }).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('nothing has been changed');
}

export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean };

type ShownProgress =
  | CheckProgress
  | CopyProgress
  | ExportProgress
  | ImportProgress
  | RebuildProgress
  | SendProgress
  | SnapshotProgress;

/** Shows the progress of a rebuild, a copy or an import: a bar in a terminal, otherwise a line every few seconds. */
export interface ProgressDisplay {
  readonly show: (progress: ShownProgress) => void;
  readonly end: () => void;
}

const PHASES: Readonly<Record<ShownProgress['phase'], string>> = {
  copy: 'copying the log',
  verify: 'comparing the copy',
  check: 'reading the backup',
  export: 'exporting the log',
  project: 'projecting the log',
  index: 'building indexes',
  compare: 'comparing with the live generation',
  swap: 'completing the new generation',
  import: 'importing transactions',
  send: 'sending the products',
  store: 'waiting for the server',
  snapshot: 'reading the log for SQL',
};

const UNITS: Readonly<Partial<Record<ShownProgress['phase'], string>>> = {
  ...{ import: 'lines', send: 'KB', store: 'KB' },
};

function unitOf(phase: ShownProgress['phase']): string {
  return UNITS[phase] ?? 'events';
}

/** What is done, and at which of several read models a step is that is not about events. */
function describedWork({
  phase,
  readModels: all = 1,
  readModel,
  part,
}: Pick<ShownProgress, 'phase'> &
  Partial<Pick<RebuildProgress, 'part' | 'readModel' | 'readModels'>>): readonly [
  string,
  { readonly text: string; readonly share: number }?,
] {
  const many = all > 1 && readModel === undefined ? ` for ${all} read models` : '';
  const what = `${part === undefined ? '' : `${part}: `}${PHASES[phase]}${many}`;
  if (readModel === undefined) return [what];
  const { name, number } = readModel;
  return [what, { text: `${name}, ${number} of ${all} read models`, share: (number - 1) / all }];
}

export async function progressOn(output: Output, now: () => number = Date.now): Promise<ProgressDisplay> {
  return output.isTTY === true ? await barOn(output) : linesOn(output, now);
}

async function barOn(output: Output): Promise<ProgressDisplay> {
  const { SingleBar: Bar, Presets } = await import('cli-progress');
  const format = '{phase} [{bar}] {percentage}% | {done} {unit} | {rate}/s | {left} s left';
  const bar: SingleBar = new Bar({ format, stream: output, hideCursor: true }, Presets.legacy);
  bar.start(1, 0, { phase: PHASES.project, done: '0', unit: unitOf('project'), rate: 0, left: '?' });
  return {
    show(progress) {
      const { phase, events, total, share, rate, secondsLeft } = progress;
      const [what, step] = describedWork(progress);
      const left = secondsLeft === undefined ? '?' : Math.ceil(secondsLeft);
      const shown = { phase: what, rate: Math.round(rate), left };
      if (step !== undefined) bar.update(step.share, { ...shown, done: step.text, unit: '' });
      else
        bar.update(share, { ...shown, done: total === 0 ? 'no' : `${events}/${total}`, unit: unitOf(phase) });
    },
    end: () => bar.stop(),
  };
}

/** A line is printed when the phase changes, and at this interval. */
const LINE_MS = 5_000;

function linesOn(output: Output, now: () => number): ProgressDisplay {
  let last: { readonly what: string; readonly at: number } | undefined;
  return {
    show(progress) {
      const { phase, events, total, share, rate, secondsLeft } = progress;
      const [what, step] = describedWork(progress);
      if (last?.what === what && now() - last.at < LINE_MS) return;
      last = { what, at: now() };
      const done =
        total === 0
          ? `${Math.round(share * 100)} %, no ${unitOf(phase)} yet`
          : `${events} of ${total} ${unitOf(phase)}`;
      const shown = step === undefined ? `${done}, ${Math.round(rate)}/s` : step.text;
      const left = secondsLeft === undefined ? 'time left not known yet' : `${Math.ceil(secondsLeft)} s left`;
      output.write(`${what}: ${shown}, ${left}\n`);
    },
    end: () => undefined,
  };
}
