import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { type EventLog } from '../kernel/event-log';
import { type NetworkChange } from '../network/changes';
import { type AppendedFacts, type Fact } from '../network/decider';
import { type Directory } from '../network/directory';
import { SYSTEM_CLOCK } from '../runtime/clock';
import {
  type CliParts,
  confirm,
  onDirectory,
  withDirectory,
  integerFrom,
  type JsonFlag,
  printList,
  withJson,
} from './settings';
import { CommandError } from '../operations/command-error';
import { type System, SYSTEMS } from '../network/events';
import { defined } from '../kernel/values';

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

interface IssueFlags extends ChangeFlags {
  readonly organisation: number;
  readonly system: System;
  readonly site?: number;
  readonly expires?: string;
}

interface TokenFlags extends JsonFlag {
  readonly organisation?: number;
}

export function addTokens(affilog: Command, parts: CliParts): void {
  const { stdout, stderr } = parts;
  const tokens = affilog
    .command('tokens')
    .description('Tokens of organisations. Works while servers run, which apply changes within a second.');
  withJson(tokens.command('list'))
    .description(
      'List tokens: holder, fingerprint, expiry and the day of the last use. No token itself is stored.',
    )
    .option('--organisation <id>', 'Only tokens of this organisation.', toId)
    .action(
      onDirectory(parts, async ({ store }, directory, flags: TokenFlags) => {
        const { listTokens } = await import('../operations/tokens.js');
        const listed = await listTokens(directory, store, new Date(), flags.organisation);
        await printList(parts, flags, listed, (token) =>
          [
            token.fingerprint,
            `${token.organisationId}`,
            token.organisation,
            token.system,
            token.siteId === undefined ? 'all sites' : `site ${token.siteId}`,
            token.expires === undefined
              ? 'does not expire'
              : `${token.isExpired ? 'expired' : 'expires'} ${token.expires}`,
            token.lastUsed === undefined ? 'never used' : `used ${token.lastUsed}`,
          ].join('\t'),
        );
      }),
    );
  const issuing = tokens
    .command('issue')
    .description(
      'Issue a token and print it, once. It replaces the present token for the same system and site.',
    )
    .requiredOption('--organisation <id>', 'Organisation id.', toId)
    .addOption(new Option('--system <system>', 'What it is for.').choices(SYSTEMS).makeOptionMandatory())
    .option('--site <id>', 'Limit it to this site of a publisher.', toId)
    .option('--expires <time>', 'When it becomes invalid: 2030-01-31, 2030-01-31T12:00:00Z or 90d.');
  addChangeFlags(issuing).action(
    async ({ organisation, system, site, expires, ...flags }: IssueFlags, command: Command) => {
      const { issueToken, readExpiry } = await import('../operations/tokens.js');
      const now = new Date();
      const at = now.toISOString();
      const options = expires === undefined ? { at } : { at, expires: readExpiry(expires, now) };
      const holder = defined({ organisationId: organisation, system, siteId: site });
      await withDirectory(command, parts, async ({ log }, directory) => {
        const { token, fact } = issueToken(directory, holder, options);
        // Standard output has the token alone, so that a script can store it.
        const onStderr = { ...parts, stdout: stderr };
        const asks = ({ does }: { readonly does: string }) => does !== 'created';
        const done = await changeNetwork(onStderr, flags, { log, directory }, [fact], { asks });
        if (done === undefined) return;
        stdout.write(`${token}\n`);
        stderr.write('This token is not shown again.\n');
      });
    },
  );
  const revoking = tokens
    .command('revoke')
    .description('Revoke a token.')
    .argument('<fingerprint>', 'fingerprint as listed, or its first digits');
  addChangeFlags(revoking).action(
    onDirectory(parts, async ({ log }, directory, fingerprint: string, flags: ChangeFlags) => {
      const { revokeToken } = await import('../operations/tokens.js');
      const fact = revokeToken(directory, fingerprint, new Date().toISOString());
      const done = await changeNetwork(parts, flags, { log, directory }, [fact]);
      if (done !== undefined) stdout.write('revoked\n');
    }),
  );
}

const toId = integerFrom(1);
