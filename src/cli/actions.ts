import { type Command, Option } from 'commander';
import { type ListedAction, ACTIONS } from '../operations/actions';
import { type CliParts, integerFrom, type JsonFlag, onEngines, printList, withJson } from './settings';

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
