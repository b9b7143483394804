import { type Command, InvalidArgumentError, Option } from 'commander';
import { type System, SYSTEMS } from '../network/events';
import { addChangeFlags, type ChangeFlags, changeNetwork } from './network';
import { addSettings, type CliContext, isOfEngines, withDirectory } from './settings';

interface IssueFlags extends ChangeFlags {
  readonly organisation: number;
  readonly system: System;
  readonly site?: number;
  readonly expires?: string;
}

/** `affilog tokens list|issue|revoke`. */
export function addTokens(affilog: Command, context: CliContext): void {
  const tokens = affilog
    .command('tokens')
    .description('Tokens of organisations. Works while servers run, which apply changes within a second.');
  const verbs = [addList(tokens, context), addIssue(tokens, context), addRevoke(tokens, context)];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

function addList(tokens: Command, context: CliContext): Command {
  return tokens
    .command('list')
    .description(
      'List tokens: holder, fingerprint, expiry and the day of the last use. No token itself is stored.',
    )
    .addOption(new Option('--organisation <id>', 'Only tokens of this organisation.').argParser(toId))
    .action(async ({ organisation }: { readonly organisation?: number }, command: Command) => {
      const { listTokens } = await import('../operations/tokens.js');
      await withDirectory(command, context, async ({ store }, directory) => {
        const rows = (await listTokens(directory, store, new Date(), organisation)).map((token) => [
          token.fingerprint,
          `${token.organisationId}`,
          token.organisation,
          token.system,
          token.siteId === undefined ? 'all sites' : `site ${token.siteId}`,
          token.expires === undefined
            ? 'does not expire'
            : `${token.isExpired ? 'expired' : 'expires'} ${token.expires}`,
          token.lastUsed === undefined ? 'never used' : `used ${token.lastUsed}`,
        ]);
        for (const row of rows) context.stdout.write(`${row.join('\t')}\n`);
      });
    });
}

function addIssue(tokens: Command, context: CliContext): Command {
  const issuing = tokens
    .command('issue')
    .description(
      'Issue a token and print it, once. It replaces the present token for the same system and site.',
    )
    .addOption(new Option('--organisation <id>', 'Organisation id.').argParser(toId).makeOptionMandatory())
    .addOption(new Option('--system <system>', 'What it is for.').choices(SYSTEMS).makeOptionMandatory())
    .addOption(new Option('--site <id>', 'Limit it to this site of a publisher.').argParser(toId))
    .option('--expires <time>', 'When it becomes invalid: 2030-01-31, 2030-01-31T12:00:00Z or 90d.');
  return addChangeFlags(issuing).action(
    async ({ organisation, system, site, expires, ...flags }: IssueFlags, command: Command) => {
      const { issueToken, readExpiry } = await import('../operations/tokens.js');
      const { stdout, stderr } = context;
      const now = new Date();
      const options = {
        at: now.toISOString(),
        ...(expires === undefined ? {} : { expires: readExpiry(expires, now) }),
      };
      const holder = {
        organisationId: organisation,
        system,
        ...(site === undefined ? {} : { siteId: site }),
      };
      await withDirectory(command, context, async ({ log }, directory) => {
        const { token, fact } = issueToken(directory, holder, options);
        // Standard output has the token alone, so that a script can store it.
        const asks = { asks: ({ does }: { readonly does: string }) => does !== 'created' };
        const done = await changeNetwork(
          { ...context, stdout: stderr },
          flags,
          { log, directory },
          [fact],
          asks,
        );
        if (done === undefined) return;
        stdout.write(`${token}\n`);
        stderr.write('This token is not shown again.\n');
      });
    },
  );
}

function addRevoke(tokens: Command, context: CliContext): Command {
  const revoking = tokens
    .command('revoke')
    .description('Revoke a token.')
    .argument('<fingerprint>', 'fingerprint as listed, or its first digits');
  return addChangeFlags(revoking).action(
    async (fingerprint: string, flags: ChangeFlags, command: Command) => {
      const { revokeToken } = await import('../operations/tokens.js');
      await withDirectory(command, context, async ({ log }, directory) => {
        const fact = revokeToken(directory, fingerprint, new Date().toISOString());
        const done = await changeNetwork(context, flags, { log, directory }, [fact]);
        if (done !== undefined) context.stdout.write('revoked\n');
      });
    },
  );
}

function toId(value: string): number {
  if (!/^[1-9]\d{0,14}$/.test(value)) throw new InvalidArgumentError('Expected an integer of at least 1.');
  return Number(value);
}
