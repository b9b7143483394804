import { userInfo } from 'node:os';
import { type Command } from 'commander';
import { type Engines } from '../engines/open';
import { addSettings, type CliContext, isOfEngines, withEngines } from './settings';

/** `affilog parked list|show|retry|skip`. */
export function addParked(affilog: Command, context: CliContext): void {
  const { stdout } = context;
  const parked = affilog
    .command('parked')
    .description(
      'Documents that an event could not be folded into, and what the matcher, automations and the directory cannot use. Works while servers run.',
    );
  const add = (usage: string, description: string, work: Work): Command =>
    parked
      .command(usage)
      .description(description)
      .action(async (...actionArgs: readonly unknown[]) => {
        const command = actionArgs.at(-1) as Command;
        const { args } = command;
        const options = command.opts<ParkedFlags>();
        const operations = await import('../operations/parked.js');
        await withEngines(command, context, (engines) => work({ engines, args, options, operations }));
      });

  const verbs = [
    add(
      'list [projection]',
      'List what is parked with the error, one per line: of a projection, matcher, automations or directory.',
      async ({ operations, engines, args }) => {
        const found = await operations.parkedIn(engines, args[0] ?? 'all');
        for (const { name, id, entry } of found) stdout.write(`${name} ${id}: ${firstLineOf(entry.error)}\n`);
        if (found.length === 0) stdout.write('nothing is parked\n');
      },
    ),
    add(
      'show <projection> <id>',
      'Show all details of a parked document or event as JSON.',
      async ({ operations, engines, args }) => {
        const { entry } = await operations.parkedById(engines, args[0] ?? '', args[1] ?? '');
        stdout.write(`${JSON.stringify(entry, null, 2)}\n`);
      },
    ),
    add(
      'retry [projection] [id]',
      'Retry what is parked. A new version of the code retries it automatically.',
      async ({ operations, engines, args }) => {
        const count = await operations.retry(engines, args[0] ?? 'all', args[1], new Date().toISOString());
        stdout.write(`retry requested for ${count} documents and events\n`);
      },
    ),
    add(
      'skip <projection> <id>',
      'Exclude the event that fails from the projection, or from matching, permanently.',
      async ({ operations, engines, args, options }) => {
        const document = { name: args[0] ?? '', id: args[1] ?? '' };
        const decision = { reason: options.reason, by: userInfo().username, at: new Date().toISOString() };
        const { event, stream, isRetried } = await operations.skip(engines, document, decision);
        stdout.write(`skipped event ${event} of ${stream}${isRetried ? '; retry requested' : ''}\n`);
      },
    ).requiredOption('--reason <text>', 'Reason: saved in the log with your user name.'),
  ];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

interface ParkedFlags {
  readonly reason: string;
}

type Work = (run: {
  readonly engines: Engines;
  readonly args: readonly string[];
  readonly options: ParkedFlags;
  readonly operations: typeof import('../operations/parked');
}) => Promise<void>;

function firstLineOf(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
