import { type Command, Option } from 'commander';
import { type DeliveryState } from '../../projections/deliveries';
import { STATES } from '../domain/deliveries/stored-delivery';
import { TOPIC_NAMES, type TopicName } from '../domain/subscriptions/subscription';
import { CommandError } from '../operations/command-error';
import { type AnySubscription } from '../operations/notifications';
import { SYSTEM_CLOCK } from '../runtime/clock';
import {
  addedId,
  type CliParts,
  type JsonFlag,
  configOf,
  confirm,
  integerFrom,
  onEngines,
  printLines,
  printList,
  withEngines,
  withJson,
} from './settings';
import { withExplanation } from './history';

interface WhoseFlags extends JsonFlag {
  readonly organisation?: readonly number[];
  readonly subscription?: readonly string[];
}

interface SubscriptionFlags extends WhoseFlags {
  readonly topic?: TopicName;
}

interface DeliveryFlags extends WhoseFlags {
  readonly receiver?: readonly string[];
  readonly transaction?: readonly string[];
  readonly claim?: readonly string[];
  readonly voucher?: readonly string[];
  readonly product?: readonly string[];
  readonly state?: readonly DeliveryState[];
  readonly most: number;
}

const operations = async () => await import('../operations/notifications.js');

export function addNotifications(affilog: Command, parts: CliParts): void {
  const { stdout, stopSignal } = parts;
  const note = (text: string): unknown => parts.stderr.write(`affilog: ${text}\n`);
  const notifications = affilog
    .command('notifications')
    .description(
      'Notifications of transactions, claims, vouchers and products, for operators. Works while servers run.',
    );
  withJson(whose(notifications.command('receivers')))
    .description(
      'List receivers with their hosts, those that were used last first: counts, since when they fail, until when they rest, ' +
        'whether they are disabled, and how many messages are held then.',
    )
    .action(
      onEngines(parts, async (engines, { organisation, subscription, json }: WhoseFlags) => {
        const { receiverLines } = await operations();
        const criteria = { organisationId: organisation, subscriptionId: subscription };
        const printed = await printLines(parts, receiverLines(engines, criteria, { now: new Date(), json }));
        if (printed === 0) note('nothing has been sent to any such receiver');
      }),
    );
  withJson(whose(notifications.command('subscriptions')))
    .description(
      'List the subscriptions of all organisations, the oldest first, each with its receivers below it.',
    )
    .addOption(new Option('--topic <topic>', 'only to this topic').choices(TOPIC_NAMES))
    .action(
      onEngines(
        parts,
        async (engines, { organisation, subscription, topic, ...flags }: SubscriptionFlags) => {
          const { anySubscriptions } = await operations();
          const isAsked = (id: string): boolean => subscription?.includes(id) !== false;
          let found = 0;
          for (const organisationId of organisation ?? [undefined]) {
            const all = await anySubscriptions(
              { ...engines, clock: SYSTEM_CLOCK },
              { organisationId, topic },
            );
            for await (const some of all.items) {
              const listed = some.filter(({ subscriptionId }) => isAsked(subscriptionId));
              found += await printList(parts, flags, listed, subscriptionText);
            }
          }
          if (found === 0) note('there are no such subscriptions');
        },
      ),
    );
  notifications
    .command('show')
    .description(
      'Show a message as JSON: its state, the exact request, and the answers to the last attempts.',
    )
    .argument('<messageId>', 'as deliveries and explain list it')
    .action(
      onEngines(parts, async (engines, messageId: string) => {
        const { anyMessage } = await operations();
        const found = await anyMessage({ ...engines, clock: SYSTEM_CLOCK }, messageId);
        stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
      }),
    );
  ofReceiver(notifications.command('test'))
    .description(
      'Send a message with example values to a receiver at once, even if it rests, and print the outcome as JSON, ' +
        'as the API answers it. Exits with 1 unless it is delivered.',
    )
    .option('--state <id>', 'state of the example; by default the first one of the filter', integerFrom(0))
    .option('--wait <seconds>', 'how long to wait for the outcome', integerFrom(0, 600), 15)
    .action(
      onEngines(parts, async (engines, subscriptionId: string, receiverId: string, flags: TestFlags) => {
        const { testReceiver } = await operations();
        const options = { stateId: flags.state, within: flags.wait * 1000, signal: stopSignal() };
        const { answer, isOver } = await testReceiver(engines, { subscriptionId, receiverId }, options);
        stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
        if (answer.state === 'held')
          throw new CommandError('the system has disabled the receiver: the test is sent when it is enabled');
        if (!isOver) throw new CommandError(`the test has no outcome after ${flags.wait} s`);
        if (answer.state !== 'delivered') throw new CommandError('the test was not delivered');
      }),
    );
  ofReceiver(notifications.command('enable'))
    .description(
      'Enable a receiver that the system has disabled, or have one that rests tried at once. What its owner has ' +
        'disabled stays so.',
    )
    .action(
      onEngines(parts, async (engines, subscriptionId: string, receiverId: string) => {
        const { enableReceiver } = await operations();
        const isEnabled = await enableReceiver(engines, { subscriptionId, receiverId });
        stdout.write(
          isEnabled
            ? `${receiverId} is enabled: what waits for it is sent, what has failed before at its next attempt\n`
            : `${receiverId} is disabled by its owner, which stays so: set disabled to false with a PUT\n`,
        );
      }),
    );
  withJson(whose(notifications.command('deliveries')))
    .description('List messages with their states, newest first.')
    .option('--receiver <id...>', 'only to these receivers')
    .option('--transaction <id...>', 'only about these transactions: transactionId or legacyTransactionId')
    .option('--claim <id...>', 'only about these claims')
    .option('--voucher <id...>', 'only about these vouchers')
    .option('--product <id...>', 'only about these products, <feedId>-<sourceProductId>, or feeds')
    .addOption(new Option('--state <state...>', 'only in these states').choices(STATES))
    .option('--most <number>', 'how many', integerFrom(1), 100)
    .action(
      onEngines(parts, async (engines, flags: DeliveryFlags) => {
        const { aboutSubjects, deliveryLines } = await operations();
        const criteria = {
          organisationId: flags.organisation,
          subscriptionId: flags.subscription,
          receiver: flags.receiver,
          ...(await aboutSubjects(engines.log, flags)),
          states: flags.state?.map((state) => ({ state })),
          at: {},
        };
        let total = 0;
        const { most, json } = flags;
        const options = { most, json, now: new Date(), count: (all: number): unknown => (total = all) };
        const printed = await printLines(parts, deliveryLines(engines, criteria, options));
        if (total === 0) note('no messages found');
        else if (printed < total) note(`${printed} of ${total} messages; --most lists more`);
      }),
    );
  notifications
    .command('redeliver')
    .description(
      'Send a message again, with the same id and bytes: one attempt, in addition to the schedule, at once even if ' +
        'its receiver rests.',
    )
    .argument('<messageId>', 'as deliveries and explain list it')
    .action(
      onEngines(parts, async (engines, messageId: string) => {
        const { redeliver } = await operations();
        const { nextAttempt } = await redeliver(engines, messageId, new Date());
        const when =
          nextAttempt === undefined
            ? 'when its receiver is enabled'
            : `at once: next attempt at ${nextAttempt}`;
        stdout.write(`${messageId} will be sent again ${when}\n`);
      }),
    );
  withJson(notifications.command('redeliver-all'))
    .description(
      'Send all messages of a subscription that were given up again, at most 10,000, the oldest first: those about what ' +
        'happened in a time, without those that are asked for already. Counts them, and asks before.',
    )
    .argument('<subscription>', 'its id')
    .requiredOption('--since <time>', 'about what happened at this time or later; 2026-11-01')
    .requiredOption('--until <time>', 'about what happened at this time or earlier; a date includes its day')
    .option('--receiver <id>', 'only of this receiver')
    .addOption(
      new Option('--state <state>', 'messages in this state')
        .choices(['dead', 'delivered', 'cancelled', 'retrying'])
        .default('dead'),
    )
    .option('--cursor <cursor>', 'go on after those of an earlier run, which has printed it')
    .option('--dry-run', 'only count them')
    .option('--yes', 'do not ask')
    .action(
      onEngines(parts, async (engines, subscriptionId: string, flags: RedeliverFlags) => {
        const { redeliverAll } = await operations();
        const { since: minTime, until: maxTime, receiver: receiverId, state, cursor } = flags;
        const period = { minTime, maxTime, receiverId, state, cursor };
        const { dryRun, yes, json } = flags;
        const withClock = { ...engines, clock: SYSTEM_CLOCK };
        const print = (found: Awaited<ReturnType<typeof redeliverAll>>, text: string): void => {
          const { remaining, cursor: next } = found;
          const left = next === undefined ? '' : `; ${remaining} are left: --cursor ${next}`;
          stdout.write(json === true ? `${JSON.stringify(found)}\n` : `${text}${left}\n`);
        };
        const counted = await redeliverAll(withClock, subscriptionId, { ...period, dryRun: true });
        if (dryRun === true || counted.requested === 0) {
          print(counted, `${counted.requested} messages would be sent again`);
          return;
        }
        if (yes !== true) await confirm(parts, `${counted.requested} messages will be sent again`);
        const done = await redeliverAll(withClock, subscriptionId, period);
        print(done, `${done.requested} messages will be sent again`);
      }),
    );
  withExplanation(notifications.command('explain'), parts);
  notifications
    .command('own')
    .description(
      'Make this installation the one that sends, after a backup was restored or a log was copied. No other ' +
        'installation may send for the same receivers.',
    )
    .option('--yes', 'do not ask')
    .action(async ({ yes }: { readonly yes?: true }, command: Command) => {
      const { ownDeliveries } = await operations();
      if (yes !== true) await confirm(parts, 'notifications will be sent from here', false);
      const config = await configOf(command, parts);
      await withEngines(command, parts, async (engines) => {
        const isNew = await ownDeliveries(engines, config);
        const when = isNew ? 'now' : 'already: nothing has been changed';
        stdout.write(`notifications are sent from here ${when}\n`);
      });
    });
}

interface RedeliverFlags extends JsonFlag {
  readonly since: string;
  readonly until: string;
  readonly receiver?: string;
  readonly state: string;
  readonly cursor?: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

function subscriptionText(one: AnySubscription): string {
  const { organisationId, topic, subscriptionId, subscriptionName = '', disabled, filter, receivers } = one;
  const state = disabled ? 'disabled by its owner' : 'enabled';
  const head = [subscriptionId, `organisation ${organisationId}`, topic, subscriptionName, state];
  const lines = receivers.map(({ receiverId, state: is, httpMethod, receiverUrl }) =>
    [`    ${receiverId}`, is, `${httpMethod} ${receiverUrl}`].join('\t'),
  );
  return [[...head, JSON.stringify(filter)].join('\t'), ...lines].join('\n');
}

interface TestFlags {
  readonly state?: number;
  readonly wait: number;
}

function ofReceiver(command: Command): Command {
  return command
    .argument('<subscription>', 'its id')
    .argument('<receiver>', 'its id, as receivers and deliveries list it; the two ids in either order')
    .hook('preAction', (_, { processedArgs }) => {
      // Ids of subscriptions are twice as long. In this order they are also recorded.
      const [one, other] = processedArgs as [string, string];
      if (isSubscriptionId(other) && !isSubscriptionId(one)) processedArgs.splice(0, 2, other, one);
    });
}

const isSubscriptionId = (id: string): boolean => /^\w{32}$/.test(id);

function whose(command: Command): Command {
  return command
    .option('--organisation <id...>', 'only of these organisations', addedId)
    .option('--subscription <id...>', 'only of these subscriptions');
}
