import { type Command } from 'commander';
import { numberOf } from '../kernel/event';
import { sizeText } from '../kernel/text';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { UsageError } from '../operations/command-error';
import {
  type CliParts,
  configOf,
  type JsonFlag,
  onEngines,
  printList,
  withEngines,
  withJson,
} from './settings';

interface DocumentFlags extends JsonFlag {
  readonly position?: string;
}

/** What servers run on, and what their read models have. */
export function addServer(affilog: Command, parts: CliParts): void {
  affilog
    .command('server')
    .description(
      'Show what servers run on: engines, disk space, the largest files, the rate of events, who leads what.',
    )
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag, command: Command) => {
      const { serverState } = await import('../operations/server-state.js');
      const config = await configOf(command, parts);
      await withEngines(command, parts, async ({ log, store, leases }) => {
        const state = await serverState({ clock: SYSTEM_CLOCK, log, store, leases, config });
        const { free, total, used, files } = state.disk;
        const lines = [
          `affilog ${state.version}, Node.js ${state.node}; event log: ${state.eventLog}, read models: ${state.readStore}`,
          `the log ends at position ${numberOf(state.position)}; ${state.lastMinute} events in the last minute`,
          `${sizeText(free)} of ${sizeText(total)} are free where the data folder is, which has ${sizeText(used)}`,
          ...files.slice(0, FILES).map(({ name, bytes }) => `  ${name}: ${sizeText(bytes)}`),
          ...state.leases.map(({ work, owner = 'nobody' }) => `${work}: ${owner}`),
        ];
        parts.stdout.write(json ? `${JSON.stringify(state)}\n` : `${lines.join('\n')}\n`);
      });
    });
  withJson(affilog.command('documents'))
    .description(
      'List the documents that an event is folded into, as the live read models have them now, or one by its id.',
    )
    .argument('[readModel]', 'read model, such as products')
    .argument('[id]', 'id of the document')
    .option('--position <position>', 'those of the event at this log position')
    .action(
      onEngines(
        parts,
        async (
          { log, store },
          readModel: string | undefined,
          id: string | undefined,
          flags: DocumentFlags,
        ) => {
          const { documentNamed, documentsOfEvent } = await import('../operations/inspect-log.js');
          const { position } = flags;
          if ((position === undefined) === (readModel === undefined || id === undefined))
            throw new UsageError('expected either the name of a read model and an id, or --position');
          const found =
            position === undefined
              ? [await documentNamed(store, readModel ?? '', id ?? '')]
              : await documentsOfEvent(log, store, position);
          await printList(parts, flags, found, (one) =>
            [one.readModel, one.id, one.document === undefined ? 'none' : JSON.stringify(one.document)].join(
              '\t',
            ),
          );
        },
      ),
    );
}

/** Of the largest ones. */
const FILES = 10;
