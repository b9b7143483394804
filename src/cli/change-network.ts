import { type Command } from 'commander';
import { type Appended } from '../network/append-facts';
import { type Change } from '../network/changes';
import { type Fact } from '../network/decider';
import { type Directory } from '../network/directory';
import { type EventLog } from '../kernel/event-log';
import { confirm } from './confirm';
import { type CliContext } from './settings';

export interface ChangeFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Adds `--dry-run` and `--yes`. */
export function addChangeFlags(command: Command): Command {
  return command
    .option('--dry-run', 'Show what would change, and change nothing.')
    .option('--yes', 'Remove without asking. Required for removals where there is no terminal.');
}

/** How many changes of each sort are printed in full. */
const IN_FULL = 20;

/** What the user is asked before: by default removals. */
type Asks = (change: Change) => boolean;

/**
 * Prints what the facts change in the reference data, asks before something is removed, and appends them
 * (`docs/decisions.md#x93`). Undefined for a dry run. Raises `NotConfirmed`, `Declined`; nothing has been appended then.
 */
export async function changeNetwork(
  context: CliContext,
  { dryRun = false, yes = false }: ChangeFlags,
  { log, directory }: { readonly log: EventLog; readonly directory: Directory },
  facts: readonly Fact[],
  { onAppended, asks = isRemoval }: { readonly onAppended?: (fact: Fact) => void; readonly asks?: Asks } = {},
): Promise<Appended | undefined> {
  const { changesOf } = await import('../network/changes.js');
  const { appendFacts } = await import('../network/append-facts.js');
  const changes = changesOf(facts, directory);
  context.stdout.write(textOf(changes));
  if (dryRun) {
    context.stdout.write('dry run: nothing has been changed\n');
    return undefined;
  }
  const asked = changes.filter(asks).length;
  if (asked > 0 && !yes) await confirm(context, `${asked} to be removed or replaced, see above`);
  return await appendFacts(log, facts, directory, onAppended);
}

function isRemoval({ does }: Change): boolean {
  return does === 'removed';
}

/** `created`, `changed` and `removed`, each with its numbers by kind, and its first changes in full. */
function textOf(changes: readonly Change[]): string {
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

function countsOf(changes: readonly Change[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of changes) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${count === 1 ? kind : pluralOf(kind)}`).join(', ');
}

function pluralOf(kind: string): string {
  return kind === 'category' ? 'categories' : `${kind}s`;
}
