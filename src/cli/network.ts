import { readFile } from 'node:fs/promises';
import { type Command } from 'commander';
import { type EventLog } from '../kernel/event-log';
import { type NetworkChange } from '../network/changes';
import { type AppendedFacts, type Fact } from '../network/decider';
import { type Directory } from '../network/directory';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type CliParts, confirm, onDirectory, withDirectory } from './settings';
import { CommandError } from '../operations/command-error';

interface ImportFlags extends ChangeFlags {
  readonly prune?: boolean;
}

export function addNetwork(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  const network = affilog
    .command('network')
    .description('Reference data: organisations, programs, feeds and more.');
  addChangeFlags(
    network
      .command('import')
      .description('Import a network file; appends only what has changed. Works while servers run.')
      .argument('<file>', 'network file (JSON, see `affilog network schema`)')
      .option(
        '--prune',
        'Remove everything that the file does not contain; tokens only if it has a list of them.',
      ),
  ).action(async (file: string, { prune = false, ...flags }: ImportFlags, command: Command) => {
    const json = await readJson(file);
    const { planNetwork } = await import('../operations/import-network.js');
    await withDirectory(command, parts, async ({ log }, directory) => {
      const { facts, tokens } = planNetwork(directory, json, { at: new Date().toISOString(), prune });
      const onAppended = (fact: Fact): void => {
        const token = tokens.get(fact);
        if (token !== undefined) stdout.write(`new token: ${JSON.stringify(token)}\n`);
      };
      const done = await changeNetwork(parts, flags, { log, directory }, facts, { onAppended });
      if (done === undefined) return;
      stdout.write(done.events === 0 ? 'nothing has changed\n' : `imported: ${done.events} events\n`);
    });
  });
  network
    .command('export')
    .description('Print the reference data as a network file, without tokens. Importing it changes nothing.')
    .action(
      onDirectory(parts, async (_engines, directory) => {
        const { exportNetwork } = await import('../network/network-file.js');
        stdout.write(`${JSON.stringify(exportNetwork(directory), null, 2)}\n`);
      }),
    );
  network
    .command('schema')
    .description('Print the JSON Schema of network files.')
    .action(async () => {
      const { networkSchema } = await import('../network/network-file.js');
      stdout.write(networkSchema());
    });
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${file}: expected JSON: ${String(error)}`);
  }
}

export interface ChangeFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function addChangeFlags(command: Command): Command {
  return command
    .option('--dry-run', 'Show what would change, and change nothing.')
    .option('--yes', 'Remove without asking. Required for removals where there is no terminal.');
}

/** How many changes of each sort are printed in full. */
const IN_FULL = 20;

/** What the user is asked before: by default removals. */
type Asks = (change: NetworkChange) => boolean;

/**
 * Prints what the facts change in the reference data, asks before something is removed, and appends them
 * (`docs/decisions.md#x93`). Undefined for a dry run. Raises `CommandError`; nothing has been appended then.
 */
export async function changeNetwork(
  parts: CliParts,
  { dryRun = false, yes = false }: ChangeFlags,
  { log, directory }: { readonly log: EventLog; readonly directory: Directory },
  facts: readonly Fact[],
  { onAppended, asks = isRemoval }: { readonly onAppended?: (fact: Fact) => void; readonly asks?: Asks } = {},
): Promise<AppendedFacts | undefined> {
  const { changesOf } = await import('../network/changes.js');
  const { appendFacts } = await import('../network/decider.js');
  const changes = changesOf(facts, directory);
  parts.stdout.write(textOf(changes));
  if (dryRun) {
    parts.stdout.write('dry run: nothing has been changed\n');
    return undefined;
  }
  const asked = changes.filter(asks).length;
  if (asked > 0 && !yes) await confirm(parts, `${asked} to be removed or replaced, see above`);
  return await appendFacts(SYSTEM_CLOCK, log, facts, directory, onAppended);
}

function isRemoval({ does }: NetworkChange): boolean {
  return does === 'removed';
}

/** `created`, `changed` and `removed`, each with its numbers by kind, and its first changes in full. */
function textOf(changes: readonly NetworkChange[]): string {
  return (['created', 'changed', 'removed'] as const)
    .map((does) => {
      const some = changes.filter((change) => change.does === does);
      if (some.length === 0) return '';
      const lines = some
        .slice(0, IN_FULL)
        .map(({ kind, id, details }) => `  ${[kind, id, details].filter((part) => part !== '').join(' ')}\n`);
      const more = some.length > IN_FULL ? `  and ${some.length - IN_FULL} more\n` : '';
      return `${does}: ${countsOf(some)}\n${lines.join('')}${more}`;
    })
    .join('');
}

function countsOf(changes: readonly NetworkChange[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of changes) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${count === 1 ? kind : pluralOf(kind)}`).join(', ');
}

function pluralOf(kind: string): string {
  return kind === 'category' ? 'categories' : `${kind}s`;
}
