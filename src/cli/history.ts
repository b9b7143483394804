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
import { type Visibility } from '../network/visibility';
import { type ViewerIds } from '../operations/why';

const SUBJECTS = {
  product: 'a product of a feed',
  voucher: 'a voucher',
  transaction: 'a transaction',
  claim: 'a claim',
  subscription: 'a subscription to notifications',
  feed: 'a feed: its definition, source, loads, deletions, refused posts and category mappings',
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
        command
          .argument('<feed>', 'feed id; or of the product FEED-SOURCE_PRODUCT_ID, as messages have it')
          .argument('[sourceProductId]', 'the advertiser’s id'),
      ).action(shows(parts, async (...ids) => (await subjects()).productNamed(...ids)));
      continue;
    }
    const described = kind in IDS ? IDS[kind as keyof typeof IDS] : `id of the ${kind}`;
    withPoints(command.argument('<id>', described)).action(shows(parts, async (id) => ({ kind, id })));
  }
}

const subjects = async () => await import('../operations/history/subjects.js');

function withPoints(command: Command): Command {
  return command
    .option('--at <time>', 'What it was at this time; a date includes its day (UTC).')
    .option('--position <position>', 'What it was at this position of the log.')
    .option('--version <number>', 'What it was after so many of its events.', integerFrom(1))
    .option('--diff <points...>', 'What differs between two points: versions, positions (p1234), or times.')
    .option('--json', 'One JSON object a line, with the state after each event.');
}

function shows(parts: CliParts, subjectOf: (id: string, own?: string) => Promise<HistorySubject>) {
  return onDirectory(parts, async ({ log, store }, directory, ...args: readonly unknown[]) => {
    const { historyOf, historyText } = await import('../operations/history/history.js');
    const ids = args.filter((one) => typeof one === 'string');
    const { json = false, ...points } = args.at(-2) as HistoryPoints & JsonFlag;
    const { at, position, version, diff } = points;
    const subject = await subjectOf(ids[0] ?? '', ids[1]);
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
          const more = one.state === 'unfinished' ? 'in progress, or its process was killed' : one.failure;
          const how = more === undefined ? one.state : `${one.state}: ${more}`;
          const why = one.reason === undefined ? [] : [`because: ${one.reason}`];
          return [one.number, one.time, operatorText(one.by), one.action, asked.join(' '), how, ...why].join(
            '\t',
          );
        };
        const listed = await listActions(log, { actions: action, most, before });
        await printList(parts, { json }, listed, textOf, 'operators have done nothing like that');
      }),
    );
}

interface WhyFlags extends JsonFlag {
  readonly publisher?: number;
  readonly site?: number;
}

const explanations = async () => await import('../operations/why.js');

export function addWhy(affilog: Command, parts: CliParts): void {
  const why = affilog
    .command('why')
    .description('Why something is visible to publishers or not, or why a message was sent or not.');
  const print = (visibility: Visibility, { json }: WhyFlags): unknown =>
    parts.stdout.write(json === true ? `${JSON.stringify(visibility, undefined, 2)}\n` : textOf(visibility));
  withViewer(why.command('product'))
    .description('Each condition of the visibility of a product, with what it depends on, and what helps.')
    .argument('<feed>', 'its id; or of the product FEED-SOURCE_PRODUCT_ID, as messages have it')
    .argument('[sourceProductId]')
    .action(
      onDirectory(
        parts,
        async ({ log, store }, directory, feed: string, id: string | undefined, flags: WhyFlags) => {
          const { whyProduct } = await explanations();
          const { feedId, sourceProductId } = (await subjects()).productNamed(feed, id);
          const which = { feedId: Number(feedId), sourceProductId };
          print(await whyProduct({ log, store, directory }, which, viewerOf(flags)), flags);
        },
      ),
    );
  withViewer(why.command('voucher'))
    .description('The same of a voucher.')
    .argument('<id>', 'as lists have it', integerFrom(1))
    .action(
      onDirectory(parts, async ({ log, store }, directory, id: number, flags: WhyFlags) => {
        const { whyVoucher } = await explanations();
        const asked = { ...viewerOf(flags), now: new Date() };
        print(await whyVoucher({ log, store, directory }, id, asked), flags);
      }),
    );
  withExplanation(why.command('delivery'), parts);
}

/** Why messages about something were sent, or not. */
export function withExplanation(command: Command, parts: CliParts): Command {
  return command
    .description(
      'Explain why messages about a transaction, claim, voucher or product were sent, or not: for each transition and each ' +
        'subscription of its parties.',
    )
    .argument(
      '<id>',
      'transactionId, legacyTransactionId, claimId, id of a voucher, of a product (<feedId>-<sourceProductId>) or feed, ' +
        'or of a message; else an order number',
    )
    .option('--subscription <id>', 'only this subscription')
    .action(
      onEngines(parts, async (engines, id: string, flags: { readonly subscription?: string }) => {
        const { explainNotifications } = await import('../operations/explain-notifications.js');
        const options = { only: flags.subscription, now: new Date() };
        await printLines(parts, explainNotifications(engines, id, options));
      }),
    );
}

function withViewer(command: Command): Command {
  return command
    .option('--publisher <id>', 'for this publisher; by default for any', integerFrom(1))
    .option('--site <id>', 'for this site of a publisher', integerFrom(1))
    .option('--json', 'print JSON');
}

function viewerOf({ publisher, site: siteId }: WhyFlags): ViewerIds {
  return { publisher, siteId };
}

function textOf({ visible, conditions }: Visibility): string {
  const lines = conditions.map(({ condition, holds, found, remedy }) => {
    const line = `  ${holds ? 'yes' : 'NO '}  ${condition}: ${found}`;
    return remedy === undefined ? line : `${line}\n       ${remedy}`;
  });
  return `${[visible ? 'visible' : 'not visible', ...lines].join('\n')}\n`;
}
