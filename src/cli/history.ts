import { type Command, Option } from 'commander';
import { type HistoryPoints } from '../operations/history/history';
import { type HistorySubject } from '../operations/history/subjects';
import {
  type CliParts,
  integerFrom,
  type JsonFlag,
  onDirectory,
  printLines,
  onEngines,
  printList,
  withJson,
} from './settings';
import { type ListedAction, ACTIONS } from '../operations/actions';

const SUBJECTS = {
  product: 'a product of a feed',
  voucher: 'a voucher',
  transaction: 'a transaction',
  claim: 'a claim',
  subscription: 'a subscription to notifications',
  feed: 'a feed: its definition, loads, deletions, refused posts and category mappings',
  program: 'a program',
} as const;

const IDS = {
  transaction: 'transactionId, legacyTransactionId or order number',
  claim: 'claimId or order number',
  subscription: 'subscriptionId',
} as const satisfies Partial<Record<keyof typeof SUBJECTS, string>>;

export function addHistory(affilog: Command, parts: CliParts): void {
  const history = affilog
    .command('history')
    .description(
      'What has happened to something: when, by whom, and what has changed; what it was at a time. Works while servers run.',
    );
  for (const [kind, what] of Object.entries(SUBJECTS) as [keyof typeof SUBJECTS, string][]) {
    const command = history.command(kind).description(`The history of ${what}.`);
    if (kind === 'product') {
      withPoints(
        command.argument('<feed>', 'feed id').argument('<sourceProductId>', 'the advertiser’s id'),
      ).action(shows(parts, (feedId, sourceProductId) => ({ kind, feedId, sourceProductId })));
      continue;
    }
    const described = kind in IDS ? IDS[kind as keyof typeof IDS] : `id of the ${kind}`;
    withPoints(command.argument('<id>', described)).action(shows(parts, (id) => ({ kind, id })));
  }
}

function withPoints(command: Command): Command {
  return command
    .option('--at <time>', 'What it was at this time; a date includes its day (UTC).')
    .option('--position <position>', 'What it was at this position of the log.')
    .option('--version <number>', 'What it was after so many of its events.', integerFrom(1))
    .option(
      '--diff <points...>',
      'What differs between two points: versions, positions of 19 digits, or times.',
    )
    .option('--json', 'One JSON object a line, with the state after each event.');
}

function shows(parts: CliParts, subjectOf: (...ids: readonly [string, string]) => HistorySubject) {
  return onDirectory(parts, async ({ log, store }, directory, ...args: readonly unknown[]) => {
    const { historyOf, historyText } = await import('../operations/history/history.js');
    const ids = args.filter((one) => typeof one === 'string');
    const { json = false, ...points } = args.at(-2) as HistoryPoints & JsonFlag;
    const { at, position, version, diff } = points;
    const subject = subjectOf(ids[0] ?? '', ids[1] ?? '');
    const sources = { log, store, directory };
    const found = await historyOf(sources, subject, { at, position, version, diff }, parts.stopSignal());
    const isPoint = (at ?? position ?? version) !== undefined;
    const lines = async function* () {
      for await (const one of found) {
        if (json) yield JSON.stringify(one);
        else yield* historyText(one, isPoint);
      }
    };
    await printLines(parts, lines());
  });
}

interface ActionFlags extends JsonFlag {
  readonly action?: readonly string[];
  readonly most: number;
  readonly before?: number;
}

export function addActions(affilog: Command, parts: CliParts): void {
  withJson(affilog.command('actions'))
    .description(
      'List what operators have done, the last first: when, who, what, and why. Works while servers run.',
    )
    .addOption(new Option('--action <name...>', 'only these').choices(Object.keys(ACTIONS)))
    .option('--most <number>', 'how many', integerFrom(1), 100)
    .option('--before <number>', 'only those before this one', integerFrom(0))
    .action(
      onEngines(parts, async ({ log }, { action = [], most, before, json = false }: ActionFlags) => {
        const { listActions, operatorText } = await import('../operations/actions.js');
        const textOf = (one: ListedAction): string => {
          const asked = Object.entries(one.asked).map(([name, value]) => `${name}=${value}`);
          const how = one.failure === undefined ? one.state : `${one.state}: ${one.failure}`;
          const why = one.reason === undefined ? [] : [`because: ${one.reason}`];
          return [one.number, one.time, operatorText(one.by), one.action, asked.join(' '), how, ...why].join(
            '\t',
          );
        };
        const listed = await listActions(log, { actions: action, most, before });
        await printList(parts, { json }, listed, textOf);
      }),
    );
}
