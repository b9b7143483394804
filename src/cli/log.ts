import { type Command, Option } from 'commander';
import { numberOf } from '../kernel/event';
import { CommandError, UsageError } from '../operations/command-error';
import { type RangeTexts } from '../operations/log-events';
import { secretValue } from '../settings/settings';
import {
  type CliParts,
  closeFolder,
  configOf,
  type JsonFlag,
  noticesOf,
  onEngines,
  printList,
  withJson,
  withProgress,
  actionOf,
  withEngines,
} from './settings';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { sizeText } from '../kernel/text';

export function addLog(affilog: Command, parts: CliParts): void {
  const { stdout, stopSignal } = parts;
  const log = affilog.command('log').description('The event log. Works while servers run.');
  log
    .command('copy')
    .description('Copy the log from one engine to another. Run it again to continue an interrupted copy.')
    .requiredOption(
      '--from <url>',
      'Source: sqlite: (in the data folder) or esdb://...; @FILE reads it from a file: `ps` shows a ' +
        'password in a flag.',
    )
    .requiredOption('--to <url>', 'Target: an empty log, or an incomplete copy of the source. @FILE too.')
    .action(async ({ from, to }: { readonly from: string; readonly to: string }, command: Command) => {
      const { dataDir } = await configOf(command, parts);
      const { copyBetween } = await import('../operations/copy-log.js');
      await closeFolder(dataDir, parts);
      const urls = { from: secretValue(from, '--from'), to: secretValue(to, '--to') };
      const { events, before, digest } = await withProgress(parts, (shown) =>
        copyBetween(urls, dataDir, shown, noticesOf(parts)),
      );
      stdout.write(`${events} events in both logs, ${before} of them copied earlier; SHA-256 ${digest}\n`);
    });
  addRange(
    log
      .command('export')
      .description(
        'Write events to files, with a manifest. Run it again to continue an interrupted export. Unlike ' +
          '/ops/1.0/log, it leaves nothing out: keep the files like the log.',
      )
      .argument('<folder>', 'an empty folder, or that of an interrupted export'),
  )
    .option('--up-to <position>', 'the last position; by default the end of the log')
    .addOption(new Option('--format <format>').choices(['ndjson', 'csv', 'parquet']).default('ndjson'))
    .option('--gzip', 'Compress the files.')
    .action(
      onEngines(parts, async (engines, folder: string, { format, gzip = false, ...flags }: ExportFlags) => {
        const { exportLog, manifestIn } = await import('../operations/export-log.js');
        const { rangeOf } = await import('../operations/log-events.js');
        const options = { format, gzip, range: rangeOf(flags) };
        const wasComplete = (await manifestIn(folder))?.isComplete === true;
        const { events, files, range } = await withProgress(parts, (shown) =>
          exportLog(engines.log, folder, { ...options, ...shown }),
        );
        const upTo = numberOf(range.upTo);
        stdout.write(
          wasComplete
            ? `${folder} was complete: ${events} events up to position ${upTo}. Export what was appended since to ` +
                `another folder, with --after ${upTo}\n`
            : `${events} events up to position ${upTo}, files: ${files.length}, listed with their SHA-256 in ` +
                'manifest.json\n',
        );
      }),
    );
  log
    .command('import')
    .description(
      'Append an export of a whole log (NDJSON) to the empty log of a new installation, while no server runs. Run it ' +
        'again to continue an interrupted import.',
    )
    .argument('<folder>', 'folder of the export')
    .action(
      onEngines(
        parts,
        async (engines, folder: string, _: unknown, command: Command) => {
          const { dataDir } = await configOf(command, parts);
          const { importLog } = await import('../operations/export-log.js');
          const { refuseServers } = await import('../operations/copy-log.js');
          await refuseServers(engines.leases);
          const { events, before, digest } = await withProgress(parts, (shown) =>
            importLog(folder, engines.log, { dataDir, ...shown }),
          );
          stdout.write(`${events} events, ${before} of them imported earlier; SHA-256 ${digest}\n`);
        },
        { importing: true },
      ),
    );
  withJson(log.command('stats'))
    .description('Print how many events and bytes the log has, by type, category of streams, and day.')
    .action(
      onEngines(parts, async ({ log: events }, flags: JsonFlag) => {
        const { logStats } = await import('../operations/inspect-log.js');
        const { total, types, categories, days } = await logStats(events, { signal: stopSignal() });
        const items = Object.entries({ total: [total], types, categories, days }).flatMap(([by, counts]) =>
          counts.map(({ name, events: count, bytes }) => ({ by, name, events: count, bytes })),
        );
        if (flags.json !== true) stdout.write(`${['by', 'name', 'events', 'bytes'].join('\t')}\n`);
        await printList(parts, flags, items, (item) => Object.values(item).join('\t'));
      }),
    );
  withJson(log.command('check'))
    .description(
      'Check positions, revisions and ids of all events, and that each is as docs/events.md describes it. Exits ' +
        'with 1 if not.',
    )
    .action(
      onEngines(parts, async ({ log: all }, flags: JsonFlag) => {
        const { checkLog } = await import('../operations/inspect-log.js');
        const { events, problems } = await checkLog(all, { signal: stopSignal() });
        await printList(parts, flags, problems, ({ type, problem, events: count, position, stream, id }) =>
          [type, problem, `${count} events`, `first at ${numberOf(position)}`, stream, id].join('\t'),
        );
        if (problems.length > 0) throw new CommandError(`${problems.length} problems in ${events} events`);
        if (flags.json !== true) stdout.write(`${events} events, no problems\n`);
      }),
    );
}

interface ExportFlags extends RangeTexts {
  readonly format: 'ndjson' | 'csv' | 'parquet';
  readonly gzip?: boolean;
}

function addRange(command: Command): Command {
  return command
    .option('--type <types>', 'only events of these types, separated by commas', listed)
    .option('--stream <beginnings>', 'only of streams whose names begin with one of these', listed)
    .option('--since <time>', 'only events from this time on, by the `at` of their data')
    .option('--until <time>', 'only events up to this time; a date includes its day')
    .option('--after <position>', 'only events after this position');
}

function listed(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim());
}

interface BackupFlags {
  readonly verify?: boolean;
  readonly withKey?: boolean;
  readonly json?: boolean;
}

export function addBackup(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  affilog
    .command('backup')
    .description(
      'Back up the event log, the delivery log, and with --with-key the key, consistently, while servers run. Repeated ' +
        'into the same folder, it adds what is new.',
    )
    .argument('<to>', 'an empty folder, or that of an earlier backup; not in DATA_DIR')
    .option('--with-key', 'Include notify.key, from which the secrets of subscriptions are derived.')
    .option(
      '--verify',
      'Only read what is in the folder, on any machine, and say up to when it is, and whether it can be restored: exits with ' +
        '1 if not.',
    )
    .option('--json', 'Print the result as JSON.')
    .action(async (to: string, flags: BackupFlags, command: Command) => {
      const { withKey = false, json = false, verify = false } = flags;
      const { backUp } = await import('../operations/backup.js');
      if (verify && withKey) throw new UsageError('--verify: cannot be combined with --with-key');
      if (verify) {
        await verifyIn(to, json, parts);
        return;
      }
      const config = await configOf(command, parts);
      await withEngines(command, parts, async (engines, begin) => {
        const options = { withKey, clock: SYSTEM_CLOCK, begin };
        const done = await withProgress(parts, (shown) =>
          backUp(engines, config, to, { ...options, ...shown }),
        );
        const { events, added, position, hasDeliveries, hasKey } = done;
        stdout.write(
          json
            ? `${JSON.stringify(done)}\n`
            : `${events} events up to position ${numberOf(position)}, ${added} of them new; ` +
                `${hasDeliveries ? 'with' : 'without'} the delivery log, ${hasKey ? 'with' : 'without'} the key\n`,
        );
      });
    });
  affilog
    .command('restore')
    .description(
      'Restore a backup to an empty data folder, or to empty servers, while no server runs. Run it again to continue an ' +
        'interrupted restore.',
    )
    .argument('<from>', 'folder of the backup')
    .action(async (from: string, _: unknown, command: Command) => {
      const { acting } = await import('../operations/actions.js');
      const { restoreBackup } = await import('../operations/backup.js');
      const config = await configOf(command, parts);
      const restore = async (engines: Parameters<Parameters<typeof withEngines>[2]>[0]): Promise<void> => {
        const done = await withProgress(parts, (shown) => restoreBackup(from, engines, config, shown));
        const action = actionOf(command);
        if (action !== undefined)
          await acting(SYSTEM_CLOCK, engines, action, async (_engines, begin) => await begin());
        stdout.write(
          `${done.events} events of the backup of ${done.at}, ${done.before} of them restored earlier; ` +
            `${done.hasDeliveries ? 'with' : 'without'} the delivery log, ${done.hasKey ? 'with' : 'without'} the key; ` +
            `SHA-256 ${done.digest}\n`,
        );
        if (!done.hasKey)
          stdout.write(
            'Before a server starts, put the old notify.key into the data folder, or set NOTIFY_KEY: ' +
              'otherwise it makes a new key, and every receiver needs a new secret.\n',
          );
      };
      await withEngines(command, parts, restore, { importing: true });
    });
}

async function verifyIn(folder: string, json: boolean, parts: CliParts): Promise<void> {
  const { verifyBackup } = await import('../operations/backup.js');
  const found = await withProgress(parts, (shown) => verifyBackup(folder, shown));
  const { at, events, position, bytes, until, sha256 = '', hasDeliveries, hasKey, problems } = found;
  const last = until === undefined ? '' : `, the last one of ${until}`;
  const lines = [
    `a backup of ${at}, ${sizeText(bytes)}: ${events} events up to position ${numberOf(position)}${last}`,
    `SHA-256 ${sha256}, as of a restore of it`,
    hasDeliveries ? 'with the delivery log, which fits to it' : 'without a delivery log',
    hasKey ? 'with the key' : 'without the key: NOTIFY_KEY, or notify.key, is to be kept elsewhere',
    'all of it can be read: `affilog restore` restores it',
  ];
  const shown = problems.length === 0 ? lines : [lines[0], ...problems.map((one) => `  ${one}`)];
  parts.stdout.write(json ? `${JSON.stringify(found)}\n` : `${shown.join('\n')}\n`);
  if (problems.length > 0)
    throw new CommandError(
      'the backup cannot be restored: make another one in an empty folder, and find out what its disk does',
    );
}

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
    .argument('[id]', 'id of the document; of a product also FEED-SOURCE_PRODUCT_ID')
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
          await printList(
            parts,
            flags,
            found,
            (one) =>
              [
                one.readModel,
                one.id,
                one.document === undefined ? 'none' : JSON.stringify(one.document),
              ].join('\t'),
            'no read model has a document of this event',
          );
        },
      ),
    );
}

/** Of the largest ones. */
const FILES = 10;
