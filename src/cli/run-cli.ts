import { types } from 'node:util';
import { Command, CommanderError } from 'commander';
import { version } from '../../package.json';
import { addCategories } from './categories';
import { addClaims } from './claims';
import { addFeeds } from './feeds';
import { addLog } from './log';
import { addMappings } from './mappings';
import { addNetwork } from './network';
import { addNotifications } from './notifications';
import { addParked } from './parked';
import { addRebuild } from './rebuild';
import { addReceiver } from './receiver';
import { addServe } from './serve';
import { addTokens } from './tokens';
import { addTransactions } from './transactions';
import { addSettingsVerb, type CliContext } from './settings';

/** Success, failure, wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** Each adds a group of commands. Their modules are loaded when a command runs, so help appears at once. */
const COMMANDS = [
  addServe,
  addNetwork,
  addCategories,
  addMappings,
  addTokens,
  addFeeds,
  addTransactions,
  addClaims,
  addNotifications,
  addRebuild,
  addParked,
  addLog,
  addReceiver,
  addSettingsVerb,
];

/** Exit codes of expected errors: by name, so that none of their modules is loaded. */
const EXPECTED: Readonly<Record<string, ExitCode>> = {
  InvalidSetting: 2,
  UnusableSecret: 2,
  UnusableFile: 2,
  UnknownEngine: 2,
  UnknownFeed: 2,
  UnknownLoad: 2,
  UnknownMessage: 2,
  UnknownProjection: 2,
  UnknownSubject: 2,
  UnknownTransaction: 2,
  RefusedReceiver: 2,
  UnusableReason: 2,
  NotConfirmed: 2,
  UnusableToken: 2,
  Declined: 1,
  EngineUnavailable: 1,
  CategoryFaults: 1,
  UndeliveredTest: 1,
  UnreadableFile: 1,
  UnusableCsv: 1,
  RefusedMapping: 1,
  RefusedReview: 1,
  RefusedTransactions: 1,
  NetworkFaults: 1,
  NotJson: 1,
  AbortError: 1,
  IncompleteDemo: 1,
  LogsDiffer: 1,
  NotParked: 1,
  NothingToSkip: 1,
  OtherLog: 1,
  RebuildRefused: 1,
  RebuildUnderWay: 1,
};

/** What helps against an expected error whose message does not say it. */
const REMEDIES: Readonly<Record<string, string>> = {
  NoGeneration: 'a server builds missing read models when it starts, and so does `affilog rebuild all`',
};

/** What helps when a port cannot be listened on, by the code of the system. */
const LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'choose another port with --port',
  EACCES: 'choose a port from 1024 with --port',
  EADDRNOTAVAIL: 'choose an address of this machine with --host',
};

/** Runs `affilog <args>`. Prints expected errors without a stack trace. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitCode> {
  try {
    await commandsOf(context).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { text, code } = describe(error);
    context.stderr.write(`${text.replace(/^/gm, 'affilog: ')}\n`);
    return code;
  }
}

function commandsOf(context: CliContext): Command {
  const { stdout, stderr } = context;
  const affilog = new Command('affilog')
    .description('The back end of an affiliate network.')
    .version(version, '-V, --version', 'Print the version.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError('(--help lists what is expected)');
  for (const add of COMMANDS) add(affilog, context);
  return affilog;
}

function describe(error: unknown): { readonly text: string; readonly code: ExitCode } {
  if (!isError(error)) return { text: String(error), code: 1 };
  const code = EXPECTED[error.name];
  const remedy = REMEDIES[error.name];
  if (remedy !== undefined) return { text: `${error.message}: ${remedy}`, code: 1 };
  if (code !== undefined) return { text: withPath(error), code };
  if (!('syscall' in error)) return { text: error.stack ?? error.message, code: 1 };
  // System errors name the port, the file or the folder.
  const listening = error.syscall === 'listen' && 'code' in error ? LISTENING[String(error.code)] : undefined;
  return { text: listening === undefined ? error.message : `${error.message}: ${listening}`, code: 1 };
}

/** The message, with the file or folder that is the cause: messages themselves contain no path, since HTTP answers them too. */
function withPath({ message, cause }: Error): string {
  return isError(cause) && 'path' in cause ? `${message}: ${cause.message}` : message;
}

/** Accepts errors of other realms too; the reason of an aborted signal is not a native error. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}
