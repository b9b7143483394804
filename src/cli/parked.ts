import { type Command } from 'commander';
import { type CliParts, type JsonFlag, onEngines, printList, shellUser, withJson } from './settings';

const operations = async () => await import('../operations/parked.js');

export function addParked(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  const parked = affilog
    .command('parked')
    .description(
      'Documents that an event could not be folded into, and what the matcher, automations and the directory cannot ' +
        'use. Works while servers run.',
    );
  withJson(parked.command('list [projection]'))
    .description(
      'List what is parked with the error, one per line: of a projection, matcher, automations or directory.',
    )
    .action(
      onEngines(parts, async (engines, projection = 'all', flags: JsonFlag) => {
        const found = await (await operations()).parkedIn(engines, projection);
        const items = found.map(({ name, id, entry }) => ({ name, id, ...entry }));
        const textOf = ({ name, id, error }: (typeof items)[number]): string =>
          `${name} ${id}: ${error.split('\n', 1)[0] ?? ''}`;
        const printed = await printList(parts, flags, items, textOf);
        if (printed === 0 && flags.json !== true) stdout.write('nothing is parked\n');
      }),
    );
  parked
    .command('show <projection> <id>')
    .description('Show all details of a parked document or event as JSON.')
    .action(
      onEngines(parts, async (engines, projection: string, id: string) => {
        const { entry } = await (await operations()).parkedById(engines, projection, id);
        stdout.write(`${JSON.stringify(entry, null, 2)}\n`);
      }),
    );
  parked
    .command('retry [projection] [id]')
    .description('Retry what is parked. A new version of the code retries it automatically.')
    .action(
      onEngines(parts, async (engines, projection: string | undefined, id: string | undefined) => {
        const now = new Date().toISOString();
        const count = await (await operations()).retry(engines, projection ?? 'all', id, now);
        stdout.write(`retry requested for ${count} documents and events\n`);
      }),
    );
  parked
    .command('skip <projection> <id>')
    .description('Exclude the event that fails from the projection, or from matching, permanently.')
    .action(
      onEngines(
        parts,
        async (engines, name: string, id: string, { reason = '' }: { readonly reason?: string }) => {
          const decision = { reason, by: shellUser(), at: new Date().toISOString() };
          const { skip } = await operations();
          const { event, stream, isRetried } = await skip(engines, { name, id }, decision);
          stdout.write(`skipped event ${event} of ${stream}${isRetried ? '; retry requested' : ''}\n`);
        },
      ),
    );
}
