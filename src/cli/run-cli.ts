import { types } from 'node:util';
import { version } from '../../package.json';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type Role, ROLES, serve } from '../app/serve';
import { type ReceiverOptions } from '../operations/receiver';
import { numberOf } from '../kernel/event';
import { codeOf, without } from '../kernel/values';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { isAbort } from '../runtime/unavailable';
import {
  flagOf,
  namesFile,
  secretValue,
  type Setting,
  SETTING_NAMES,
  settingInForce,
  SETTINGS,
  settingsTable,
  withoutPassword,
} from '../settings/settings';
import { addCategories, addMappings } from './categories';
import { addClaims, addTransactions } from './transactions';
import { addFeeds, addProducts } from './feeds';
import { addHistory, addActions, addWhy } from './history';
import { addLog, addBackup, addServer } from './log';
import { addNetwork, addTokens } from './network';
import { addNotifications } from './notifications';
import { addProjections, addRebuild, addParked } from './projections';
import {
  addReasons,
  addSettings,
  type CliParts,
  configOf,
  flagsOf,
  integerFrom,
  type JsonFlag,
  onEngines,
  printList,
  type SettingFlags,
  withJson,
} from './settings';
import { addSql } from './sql';

/** Success, failure, wrong usage. */
type ExitCode = 0 | 1 | 2;

/** Each adds a group of commands. Their modules are loaded when a command runs, so help appears at once. */
const COMMANDS = [
  addServe,
  addNetwork,
  addCategories,
  addMappings,
  addTokens,
  addFeeds,
  addProducts,
  addTransactions,
  addClaims,
  addNotifications,
  addRebuild,
  addAsOf,
  addProjections,
  addParked,
  addActions,
  addBackup,
  addWhy,
  addLog,
  addSql,
  addHistory,
  addServer,
  addReceiver,
  addSettingsVerb,
];

/** Exit codes of expected errors: by name, so that none of their modules is loaded. */
const EXPECTED: Readonly<Record<string, ExitCode>> = {
  UsageError: 2,
  InvalidSetting: 2,
  UnusableFile: 2,
  UnknownEngine: 2,
  UnfinishedImport: 1,
  CommandError: 1,
  EngineUnavailable: 1,
  CategoryFaults: 1,
  UnusableCsv: 1,
  NetworkFaults: 1,
  OtherLog: 1,
  RebuildRefused: 1,
  AsOfRefused: 1,
  UnknownAsOf: 1,
  RebuildUnderWay: 1,
  SwapRefused: 1,
  PauseNotSeen: 1,
};

/** What helps against an expected error whose message does not say it. */
const REMEDIES: Readonly<Record<string, string>> = {
  NoGeneration: 'a server builds missing read models when it starts, and so does `affilog rebuild all`',
};

/** What helps when a port cannot be listened on, by the code of the system. */
const LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'choose another port with',
  EACCES: 'choose a port from 1024 with',
  EADDRNOTAVAIL: 'choose an address of this machine with',
};

/** Runs `affilog <args>`. Prints expected errors without a stack trace. */
export async function runCli(args: readonly string[], parts: CliParts): Promise<ExitCode> {
  try {
    await commandsOf(parts).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { text, code } = describe(error);
    parts.stderr.write(`${text.replace(/^/gm, 'affilog: ')}\n`);
    return code;
  }
}

/** All commands: tests compare them with `ACTIONS`. */
export function commandsOf(parts: CliParts): Command {
  const { stdout, stderr } = parts;
  const affilog = new Command('affilog')
    .description('The back end of an affiliate network.')
    .version(version, '-V, --version', 'Print the version.')
    // `affilog history … --version 3` is not a question for the version of the program.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError('(--help lists what is expected)');
  for (const add of COMMANDS) add(affilog, parts);
  addReasons(affilog);
  addSettings(affilog);
  return affilog;
}

function describe(error: unknown): { readonly text: string; readonly code: ExitCode } {
  if (isAbort(error)) return { text: 'interrupted', code: 1 };
  if (!isError(error)) return { text: String(error), code: 1 };
  const code = EXPECTED[error.name];
  const remedy = REMEDIES[error.name];
  if (remedy !== undefined) return { text: `${error.message}: ${remedy}`, code: 1 };
  if (code !== undefined) return { text: withPath(error), code };
  if (!('syscall' in error)) return { text: error.stack ?? error.message, code: 1 };
  // System errors name the port, the file or the folder.
  const listening = error.syscall === 'listen' && 'code' in error ? LISTENING[String(error.code)] : undefined;
  if (listening === undefined) return { text: error.message, code: 1 };
  const usual = 'code' in error && error.code === 'EADDRNOTAVAIL' ? '--host' : '--port';
  const flag = 'flag' in error ? String(error.flag) : usual;
  return { text: `${error.message}: ${listening} ${flag}`, code: 1 };
}

/** The message, with the file or library that is the cause: messages contain no path, since HTTP answers them too. */
function withPath({ message, cause }: Error): string {
  const namesPath = isError(cause) && ('path' in cause || codeOf(cause) === 'ERR_DLOPEN_FAILED');
  return namesPath ? `${message}: ${cause.message}` : message;
}

/** Accepts errors of other realms too; the reason of an aborted signal is not a native error. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

interface ServeFlags {
  readonly demo?: boolean;
  readonly roles: readonly Role[];
}

function addServe(affilog: Command, parts: CliParts): void {
  const { stdout, stderr, stopSignal, start } = parts;
  affilog
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
      const config = await configOf(command, parts);
      await serve(start, config, { demo, roles }, signal, {
        say: (line) => stdout.write(`${line}\n`),
        warn: (line) => stderr.write(`affilog: ${line}\n`),
      });
    });
}

function toRoles(value: string): readonly Role[] {
  return value.split(',').map((name) => {
    const role = ROLES.find((one) => one === name.trim());
    if (role === undefined) throw new InvalidArgumentError(`Expected roles: ${ROLES.join(', ')}.`);
    return role;
  });
}

function addAsOf(affilog: Command, parts: CliParts): void {
  const asOf = affilog
    .command('as-of')
    .description('Read models as of a time (`affilog rebuild … --as NAME`).');
  withJson(asOf.command('list'))
    .description('List them: name, time, log position, when they are dropped, complete read models.')
    .action(
      onEngines(parts, async ({ store }, flags: JsonFlag) => {
        const { documentsOf } = await import('../operations/as-of.js');
        const { listAsOf } = await import('../projector/as-of.js');
        const all = await Promise.all(
          (await listAsOf(store)).map(async (one) => ({
            ...without(one, 'models'),
            complete: await documentsOf(store, one),
          })),
        );
        const textOf = ({ name, time, position, expires, complete }: (typeof all)[number]): string => {
          const models = complete.map((model) => `${model.name} (${model.documents})`);
          return [name, time, numberOf(position), expires, models.join(', ')].join('\t');
        };
        await printList(parts, flags, all, textOf, 'there are no read models as of a time');
      }),
    );
  asOf
    .command('drop')
    .description('Drop them, and free their disk space.')
    .argument('<name>', 'their name')
    .action(
      onEngines(parts, async ({ store }, name: string) => {
        const { dropAsOf } = await import('../projector/as-of.js');
        const options = { clock: SYSTEM_CLOCK, owner: SYSTEM_CLOCK.uuid(), signal: parts.stopSignal() };
        await dropAsOf(store, name, options);
        parts.stdout.write(`${name} is dropped\n`);
      }),
    );
}

interface ReceiverFlags extends Omit<ReceiverOptions, 'status'> {
  readonly answer: number;
}

function addReceiver(affilog: Command, parts: CliParts): void {
  affilog
    .command('receiver')
    .description('Receive notifications, verify their signatures and print them, until it is stopped.')
    .option('--port <port>', 'Port to listen on; 0 is any.', integerFrom(0, 65_535), 4000)
    .option('--host <host>', 'Address to listen on.', '127.0.0.1')
    .option(
      '--secret <secret>',
      `Secret of the subscription (whsec_…), or @FILE; without it nothing is verified. \`ps\` shows it to other ` +
        `users: set ${SECRET} instead, or name a file.`,
    )
    .option('--answer <status>', 'Status to answer, to see retries.', integerFrom(200, 599), 200)
    .option('--delay <ms>', 'Time to wait before the answer.', integerFrom(0, 3_600_000), 0)
    .action(async ({ answer, secret: given, ...flags }: ReceiverFlags) => {
      const options = { ...flags, ...secretOf(given, parts) };
      const signal = parts.stopSignal();
      const { receive } = await import('../operations/receiver.js');
      await receive({ ...options, status: answer }, signal, (line) => parts.stdout.write(`${line}\n`));
    });
}

const SECRET = 'WEBHOOK_SECRET';

function secretOf(given: string | undefined, { environment }: CliParts): { readonly secret?: string } {
  const set = environment[SECRET]?.trim();
  if (given !== undefined) return { secret: secretValue(given, '--secret') };
  return set === undefined || set === '' ? {} : { secret: secretValue(set, SECRET) };
}

function addSettingsVerb(affilog: Command, parts: CliParts): void {
  const { stdout, stderr } = parts;
  affilog
    .command('settings')
    .description('Print the settings in force and where each comes from: flag, environment or default.')
    .option('--markdown', 'Print the table of all settings with their descriptions instead.')
    .option('--json', 'One JSON object a line.')
    .action(async ({ markdown = false, json = false }: SettingsFlags, command: Command) => {
      stdout.write(markdown ? settingsTable() : settingsInForce(parts, flagsOf(command), json));
      if (markdown) return;
      const config = await configOf(command, parts);
      const { warningsOf } = await import('../settings/config.js');
      for (const line of warningsOf(config)) stderr.write(`affilog: ${line}\n`);
    });
}

interface SettingsFlags extends JsonFlag {
  readonly markdown?: boolean;
}

function settingsInForce({ environment }: CliParts, flags: SettingFlags, json: boolean): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting: Setting = SETTINGS[name];
    const { value, source } = settingInForce(name, environment, flags);
    const isFile = setting.fromFile === true && namesFile(value?.trim() ?? '');
    const shown = setting.secret === true && !isFile ? '(hidden)' : withoutPassword(value ?? '');
    return [name, value === undefined ? '(not set)' : shown, source === 'flag' ? flagOf(name) : source];
  });
  if (json)
    return rows.map(([name, value, source]) => `${JSON.stringify({ name, value, source })}\n`).join('');
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => `${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}\n`).join('');
}
