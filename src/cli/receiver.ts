import { type Command, Option } from 'commander';
import { secretValue } from '../settings/secret-value';
import { integerFrom } from './integers';
import { type CliContext } from './settings';

interface ReceiverFlags {
  readonly host: string;
  readonly port: number;
  readonly secret?: string;
  readonly answer: number;
  readonly delay: number;
}

/** `affilog receiver`. */
export function addReceiver(affilog: Command, context: CliContext): void {
  affilog
    .command('receiver')
    .description('Receive notifications, verify their signatures and print them, until it is stopped.')
    .addOption(integer('--port <port>', 'Port to listen on; 0 is any.', 0, 65_535).default(4000))
    .option('--host <host>', 'Address to listen on.', '127.0.0.1')
    .option(
      '--secret <secret>',
      `Secret of the subscription (whsec_…), or @FILE; without it nothing is verified. \`ps\` shows it to other users: set ${SECRET} instead, or name a file.`,
    )
    .addOption(integer('--answer <status>', 'Status to answer, to see retries.', 200, 599).default(200))
    .addOption(integer('--delay <ms>', 'Time to wait before the answer.', 0, 3_600_000).default(0))
    .action(async ({ answer, secret: given, ...flags }: ReceiverFlags) => {
      const options = { ...flags, ...secretOf(given, context) };
      const signal = context.stopSignal();
      const { receive } = await import('../operations/receiver.js');
      await receive({ ...options, status: answer }, signal, (line) => context.stdout.write(`${line}\n`));
    });
}

/** The environment variable of the secret. */
const SECRET = 'WEBHOOK_SECRET';

function secretOf(given: string | undefined, { environment }: CliContext): { readonly secret?: string } {
  const set = environment[SECRET]?.trim();
  if (given !== undefined) return { secret: secretValue(given, '--secret') };
  return set === undefined || set === '' ? {} : { secret: secretValue(set, SECRET) };
}

function integer(flags: string, description: string, least: number, most: number): Option {
  return new Option(flags, description).argParser(integerFrom(least, most));
}
