import { type Command, Option } from 'commander';
import { type DeliveryState } from '../../projections/deliveries';
import { STATES } from '../domain/deliveries/stored-delivery';
import {
  addSettings,
  type CliContext,
  configOf,
  confirm,
  integerFrom,
  isOfEngines,
  withEngines,
} from './settings';

/** `affilog notifications receivers|test|enable|deliveries|redeliver|explain|own`. */
export function addNotifications(affilog: Command, context: CliContext): void {
  const notifications = affilog
    .command('notifications')
    .description('Notifications of transactions and claims, for operators. Works while servers run.');
  const verbs = [
    addReceivers(notifications, context),
    addTest(notifications, context),
    addEnable(notifications, context),
    addDeliveries(notifications, context),
    addRedeliver(notifications, context),
    addExplain(notifications, context),
    addOwn(notifications, context),
  ];
  for (const verb of verbs) addSettings(verb, isOfEngines);
}

interface DeliveryFlags {
  readonly organisation?: readonly number[];
  readonly subscription?: readonly string[];
  readonly receiver?: readonly string[];
  readonly transaction?: readonly string[];
  readonly claim?: readonly string[];
  readonly state?: readonly DeliveryState[];
  readonly most: number;
}

function addReceivers(notifications: Command, context: CliContext): Command {
  return whose(notifications.command('receivers'))
    .description(
      'List receivers, those that were used last first: counts, since when they fail, until when they rest, and whether they are disabled.',
    )
    .action(async ({ organisation, subscription }: DeliveryFlags, command: Command) => {
      const { receiverLines } = await import('../operations/notifications.js');
      await withEngines(command, context, async (engines) => {
        const criteria = { organisationId: organisation, subscriptionId: subscription };
        const printed = await print(context, receiverLines(engines, criteria, new Date()));
        if (printed === 0) note(context, 'nothing has been sent to any such receiver');
      });
    });
}

/** A test was not delivered, or has no outcome yet. */
class UndeliveredTest extends Error {
  override readonly name = 'UndeliveredTest';
}

function addTest(notifications: Command, { stdout, stopSignal, ...context }: CliContext): Command {
  return ofReceiver(notifications.command('test'))
    .description(
      'Send a message with example values to a receiver at once, even if it rests, and print the outcome as JSON, as the API answers it. Exits with 1 unless it is delivered.',
    )
    .addOption(
      new Option('--state <id>', 'state of the example; by default the first one of the filter').argParser(
        anyId,
      ),
    )
    .addOption(
      new Option('--wait <seconds>', 'how long to wait for the outcome')
        .argParser(integerFrom(0, 600))
        .default(15),
    )
    .action(
      async (
        subscriptionId: string,
        receiverId: string,
        { state: stateId, wait }: { readonly state?: number; readonly wait: number },
        command: Command,
      ) => {
        const { testReceiver } = await import('../operations/notifications.js');
        await withEngines(command, { stdout, stopSignal, ...context }, async (engines) => {
          const options = { stateId, within: wait * 1000, signal: stopSignal() };
          const { answer, isOver } = await testReceiver(engines, { subscriptionId, receiverId }, options);
          stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
          if (answer.state === 'held')
            throw new UndeliveredTest(
              'the system has disabled the receiver: the test is sent when it is enabled',
            );
          if (!isOver) throw new UndeliveredTest(`the test has no outcome after ${wait} s`);
          if (answer.state !== 'delivered') throw new UndeliveredTest('the test was not delivered');
        });
      },
    );
}

function addEnable(notifications: Command, { stdout, ...context }: CliContext): Command {
  return ofReceiver(notifications.command('enable'))
    .description(
      'Enable a receiver that the system has disabled, or have one that rests tried at once. What its owner has disabled stays so.',
    )
    .action(async (subscriptionId: string, receiverId: string, _: object, command: Command) => {
      const { enableReceiver } = await import('../operations/notifications.js');
      await withEngines(command, { stdout, ...context }, async (engines) => {
        const isEnabled = await enableReceiver(engines, { subscriptionId, receiverId });
        stdout.write(
          isEnabled
            ? `${receiverId} is enabled: what waits for it is sent\n`
            : `${receiverId} is disabled by its owner, which stays so: set disabled to false with a PUT\n`,
        );
      });
    });
}

function ofReceiver(command: Command): Command {
  return command
    .argument('<subscription>', 'its id')
    .argument('<receiver>', 'its id, as receivers and deliveries list it');
}

function addDeliveries(notifications: Command, context: CliContext): Command {
  return whose(notifications.command('deliveries'))
    .description('List messages, newest first: what has become of each.')
    .option('--receiver <id...>', 'only to these receivers')
    .option('--transaction <id...>', 'only about these transactions: transactionId or legacyTransactionId')
    .option('--claim <id...>', 'only about these claims')
    .addOption(new Option('--state <state...>', 'only in these states').choices(STATES))
    .addOption(new Option('--most <number>', 'how many').argParser(integerFrom(1)).default(100))
    .action(async (options: DeliveryFlags, command: Command) => {
      const { deliveryLines, subjectsOf } = await import('../operations/notifications.js');
      const { organisation, subscription, receiver, transaction, claim, state, most } = options;
      await withEngines(command, context, async (engines) => {
        const criteria = {
          ...{ organisationId: organisation, subscriptionId: subscription, receiver },
          subject: await subjectsOf(engines.log, transaction, claim),
          states: state?.map((one) => ({ state: one })),
          at: {},
        };
        let total = 0;
        const count = (all: number): unknown => (total = all);
        const printed = await print(
          context,
          deliveryLines(engines, criteria, { most, now: new Date(), count }),
        );
        if (total === 0) note(context, 'no messages found');
        else if (printed < total) note(context, `${printed} of ${total} messages; --most lists more`);
      });
    });
}

function addRedeliver(notifications: Command, { stdout, ...context }: CliContext): Command {
  return notifications
    .command('redeliver')
    .description(
      'Send a message again, with the same id and bytes: one attempt, in addition to the schedule, at once even if its receiver rests.',
    )
    .argument('<messageId>', 'as deliveries and explain list it')
    .action(async (messageId: string, _: object, command: Command) => {
      const { redeliver } = await import('../operations/notifications.js');
      await withEngines(command, { stdout, ...context }, async (engines) => {
        const { nextAttempt } = await redeliver(engines, messageId, new Date());
        const when =
          nextAttempt === undefined
            ? 'when its receiver is enabled'
            : `at once: next attempt at ${nextAttempt}`;
        stdout.write(`${messageId} will be sent again ${when}\n`);
      });
    });
}

function addExplain(notifications: Command, { stdout, ...context }: CliContext): Command {
  return notifications
    .command('explain')
    .description(
      'Explain why messages about a transaction or claim were sent, or not: for each transition and each subscription of its parties.',
    )
    .argument('<id>', 'transactionId, legacyTransactionId or claimId')
    .option('--subscription <id>', 'only this subscription')
    .action(async (id: string, { subscription }: { readonly subscription?: string }, command: Command) => {
      const { explainNotifications } = await import('../operations/explain-notifications.js');
      await withEngines(command, { stdout, ...context }, async (engines) => {
        for await (const line of explainNotifications(engines, id, { only: subscription, now: new Date() }))
          stdout.write(`${line}\n`);
      });
    });
}

function addOwn(notifications: Command, context: CliContext): Command {
  return notifications
    .command('own')
    .description(
      'Make this installation the one that sends, after a backup was restored or a log was copied. No other installation may send for the same receivers.',
    )
    .option('--yes', 'do not ask')
    .action(async ({ yes }: { readonly yes?: true }, command: Command) => {
      const { ownDeliveries } = await import('../operations/notifications.js');
      if (yes !== true) await confirm(context, 'notifications will be sent from here', false);
      const config = await configOf(command, context);
      await withEngines(command, context, async (engines) => {
        const isNew = await ownDeliveries(engines, config, new Date());
        context.stdout.write(
          isNew
            ? 'notifications are sent from here now\n'
            : 'notifications are sent from here already: nothing has been changed\n',
        );
      });
    });
}

function whose(command: Command): Command {
  return command
    .addOption(
      new Option('--organisation <id...>', 'only of these organisations').argParser(
        (text: string, before: readonly number[] | undefined) => [...(before ?? []), anyId(text)],
      ),
    )
    .option('--subscription <id...>', 'only of these subscriptions');
}

/** Returns the number of lines. */
async function print({ stdout }: CliContext, lines: AsyncIterable<string>): Promise<number> {
  let printed = 0;
  for await (const line of lines) {
    stdout.write(`${line}\n`);
    printed += 1;
  }
  return printed;
}

/** What is no line of a list. */
function note({ stderr }: CliContext, text: string): void {
  stderr.write(`affilog: ${text}\n`);
}

const anyId = integerFrom(0);
