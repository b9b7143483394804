import { types } from 'node:util';
import { Command, CommanderError } from 'commander';
import { addCategories } from './categories';
import { addLog } from './log';
import { addMappings } from './mappings';
import { addNetwork } from './network';
import { addParked } from './parked';
import { addRebuild } from './rebuild';
import { addServe } from './serve';
import { addSettingsVerb } from './settings';
import { type Surroundings } from './surroundings';

/** Done, failed, wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** Each adds a group of verbs; modules are loaded when one of them runs: help comes at once. */
const VERBS = [
  addServe,
  addNetwork,
  addCategories,
  addMappings,
  addRebuild,
  addParked,
  addLog,
  addSettingsVerb,
];

/** Errors by name, so that telling them loads none of the modules they come from. */
const TOLD: Readonly<Record<string, ExitCode>> = {
  InvalidSetting: 2,
  UnknownEngine: 2,
  UnknownFeed: 2,
  UnknownProjection: 2,
  UnusableReason: 2,
  EngineUnavailable: 1,
  CategoryFaults: 1,
  UnreadableFile: 1,
  UnusableCsv: 1,
  RefusedMapping: 1,
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

function commandsOf(surroundings: Surroundings): Command {
  const { stdout, stderr } = surroundings;
  const affilog = new Command('affilog')
    .description('The back end of an affiliate network.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError('(--help tells what is accepted)');
  for (const add of VERBS) add(affilog, surroundings);
  return affilog;
}

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
