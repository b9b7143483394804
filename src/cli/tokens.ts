import { type Command, Option } from 'commander';
import { type System, SYSTEMS } from '../network/events';
import { addChangeFlags, type ChangeFlags, changeNetwork } from './network';
import {
  type CliParts,
  integerFrom,
  type JsonFlag,
  onDirectory,
  printList,
  withDirectory,
  withJson,
} from './settings';
import { defined } from '../kernel/without';

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
