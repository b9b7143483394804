import { userInfo } from 'node:os';
import { type Command } from 'commander';
import { type Engines } from '../../engines/open';
import { addSettings, type CliContext, isOfEngines, withEngines } from './settings';

/** `affilog parked list|show|retry|skip`. */
export function addParked(affilog: Command, context: CliContext): void {
  const { stdout } = context;
  const parked = affilog
    .command('parked')
    .description('Documents that an event could not be folded into. Works while servers run.');
  const add = (usage: string, description: string, work: Work): Command =>
    parked
      .command(usage)
      .description(description)
      .action(async (...actionArgs: readonly unknown[]) => {
        const command = actionArgs.at(-1) as Command;
        const { args } = command;
        const options = command.opts<Options>();
        const operations = await import('../parked.js');
        await withEngines(command, context, (engines) => work({ engines, args, options, operations }));
      });

  const verbs = [
    add(
      'list [projection]',
      'List parked documents with the error, one per line.',
      async ({ operations, engines, args }) => {
        const found = await operations.parkedIn(engines.store, args[0] ?? 'all');
        for (const { projection, id, entry } of found)
          stdout.write(`${projection} ${id}: ${firstLineOf(entry.error)}\n`);
        if (found.length === 0) stdout.write('nothing is parked\n');
      },
    ),
    add(
      'show <projection> <id>',
      'Show all details of a parked document as JSON.',
      async ({ operations, engines, args }) => {
        const { entry } = await operations.parkedById(engines.store, args[0] ?? '', args[1] ?? '');
        stdout.write(`${JSON.stringify(entry, null, 2)}\n`);
      },
    ),
    add(
      'retry [projection] [id]',
      'Retry parked documents. A new version of the code retries them automatically.',
      async ({ operations, engines, args }) => {
        const count = await operations.retry(engines.store, args[0] ?? 'all', args[1]);
        stdout.write(`retry requested for ${count} documents\n`);
      },
    ),
    add(
      'skip <projection> <id>',
      'Exclude the event that fails from the projection permanently, and retry the document.',
      async ({ operations, engines, args, options }) => {
        const document = { projection: args[0] ?? '', id: args[1] ?? '' };
        const decision = { reason: options.reason, by: userInfo().username, at: new Date().toISOString() };
        const { event, stream } = await operations.skip(engines, document, decision);
        stdout.write(`skipped event ${event} of ${stream}; retry requested\n`);
      },
    ).requiredOption('--reason <text>', 'Reason: saved in the log with your user name.'),
  ];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

interface Options {
  readonly reason: string;
}

type Work = (run: {
  readonly engines: Engines;
  readonly args: readonly string[];
  readonly options: Options;
  readonly operations: typeof import('../parked');
}) => Promise<void>;

function firstLineOf(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
