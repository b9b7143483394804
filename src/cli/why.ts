import { type Command } from 'commander';
import { type Visibility } from '../network/visibility';
import { type ViewerIds } from '../operations/why';
import { type CliParts, integerFrom, type JsonFlag, onDirectory, onEngines, printLines } from './settings';

interface WhyFlags extends JsonFlag {
  readonly publisher?: number;
  readonly site?: number;
}

const operations = async () => await import('../operations/why.js');

export function addWhy(affilog: Command, parts: CliParts): void {
  const why = affilog
    .command('why')
    .description('Why something is visible to publishers or not, or why a message was sent or not.');
  const print = (visibility: Visibility, { json }: WhyFlags): unknown =>
    parts.stdout.write(json === true ? `${JSON.stringify(visibility, undefined, 2)}\n` : textOf(visibility));
  withViewer(why.command('product'))
    .description('Each condition of the visibility of a product, with what it depends on, and what helps.')
    .argument('<feed>', 'its id', integerFrom(1))
    .argument('<sourceProductId>')
    .action(
      onDirectory(parts, async ({ log, store }, directory, feedId: number, id: string, flags: WhyFlags) => {
        const { whyProduct } = await operations();
        const which = { feedId, sourceProductId: id };
        print(await whyProduct({ log, store, directory }, which, viewerOf(flags)), flags);
      }),
    );
  withViewer(why.command('voucher'))
    .description('The same of a voucher.')
    .argument('<id>', 'as lists have it', integerFrom(1))
    .action(
      onDirectory(parts, async ({ log, store }, directory, id: number, flags: WhyFlags) => {
        const { whyVoucher } = await operations();
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
      'Explain why messages about a transaction or claim were sent, or not: for each transition and each ' +
        'subscription of its parties.',
    )
    .argument('<id>', 'transactionId, legacyTransactionId, claimId, or the id of a message')
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
