import { userInfo } from 'node:os';
import { type Command } from 'commander';
import { type Engines } from '../../engines/open';
import { addSettings, isOfEngines, withEngines } from './settings';
import { type Surroundings } from './surroundings';

/** `affilog parked list|show|retry|skip`. */
export function addParked(affilog: Command, surroundings: Surroundings): void {
  const { stdout } = surroundings;
  const parked = affilog
    .command('parked')
    .description('Documents that an event could not be folded into. Servers may be running.');
  const add = (usage: string, description: string, work: Work): Command =>
    parked
      .command(usage)
      .description(description)
      .action(async (...given: readonly unknown[]) => {
        const command = given.at(-1) as Command;
        const { args } = command;
        const options = command.opts<Options>();
        const operations = await import('../parked.js');
        await withEngines(command, surroundings, (engines) => work({ engines, args, options, operations }));
      });

  const verbs = [
    add('list [projection]', 'Name them, one a line, with the reason.', async (given) => {
      const { operations, engines, args } = given;
      const found = await operations.parkedIn(engines.store, args[0] ?? 'all');
      for (const { projection, id, entry } of found)
        stdout.write(`${projection} ${id}: ${firstLineOf(entry.error)}\n`);
      if (found.length === 0) stdout.write('nothing is parked\n');
    }),
    add('show <projection> <id>', 'All that is known of one of them, as JSON.', async (given) => {
      const { operations, engines, args } = given;
      const { entry } = await operations.parkedAs(engines.store, args[0] ?? '', args[1] ?? '');
      stdout.write(`${JSON.stringify(entry, null, 2)}\n`);
    }),
    add(
      'retry [projection] [id]',
      'Have them folded again; by itself other code does that.',
      async (given) => {
        const { operations, engines, args } = given;
        const count = await operations.retry(engines.store, args[0] ?? 'all', args[1]);
        stdout.write(`${count} to be folded again by the projector\n`);
      },
    ),
    add('skip <projection> <id>', 'Leave the event that it fails at out of it for ever.', async (given) => {
      const { operations, engines, args, options } = given;
      const what = { projection: args[0] ?? '', id: args[1] ?? '' };
      const why = { reason: options.reason, by: userInfo().username, at: new Date().toISOString() };
      const { event, stream } = await operations.skip(engines, what, why);
      stdout.write(`event ${event} of ${stream} is left out; to be folded again by the projector\n`);
    }).requiredOption('--reason <text>', 'Why: kept in the log, with who did it.'),
  ];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

interface Options {
  readonly reason: string;
}

type Work = (given: {
  readonly engines: Engines;
  readonly args: readonly string[];
  readonly options: Options;
  readonly operations: typeof import('../parked');
}) => Promise<void>;

function firstLineOf(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
