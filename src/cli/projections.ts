import { type Command } from 'commander';
import { type Engines } from '../engines/open';
import { type ReadModelState } from '../operations/projections';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type CliParts, onEngines } from './settings';

const operations = async () => await import('../operations/projections.js');

interface ListFlags {
  readonly json?: boolean;
}

/** `affilog projections …`. */
export function addProjections(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  const projections = affilog
    .command('projections')
    .description('Read models: how they do, and what to do with them. Works while servers run.');
  projections
    .command('list [names...]', { isDefault: true })
    .description('List the read models: state, generation, position, lag, rate, size, parked documents.')
    .option('--json', 'print JSON')
    .action(
      onEngines(parts, async (engines: Engines, names: readonly string[], { json }: ListFlags) => {
        const { readModelStates } = await operations();
        const states = await readModelStates(engines, SYSTEM_CLOCK, names.length === 0 ? ['all'] : names);
        stdout.write(json === true ? `${JSON.stringify(states, undefined, 2)}\n` : tableOf(states));
      }),
    );
  projections
    .command('pause <names...>')
    .description(
      'Leave read models as they are until they are resumed, also after restarts. Searches continue with what is there.',
    )
    .action(
      onEngines(parts, async (engines: Engines, names: readonly string[]) => {
        const { pauseReadModels } = await operations();
        const paused = await pauseReadModels(engines, names, SYSTEM_CLOCK);
        stdout.write(paused.length === 0 ? 'nothing to pause\n' : `paused: ${paused.join(', ')}\n`);
      }),
    );
  projections
    .command('resume <names...>')
    .description('Let paused read models follow the log again.')
    .action(
      onEngines(parts, async (engines: Engines, names: readonly string[]) => {
        const { resumeReadModels } = await operations();
        const resumed = await resumeReadModels(engines, names);
        stdout.write(resumed.length === 0 ? 'nothing was paused\n' : `resumed: ${resumed.join(', ')}\n`);
      }),
    );
}

const HEAD = ['name', 'state', 'generation', 'position', 'lag', 'events/s', 'end', 'size', 'parked'];

/** A line for each, and lines below it with what is to be said about it. */
function tableOf(states: readonly ReadModelState[]): string {
  const rows = [HEAD, ...states.map(rowOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const lines = states.flatMap((state) => [
    line(rowOf(state)),
    ...remarksOn(state).map((text) => `    ${text}`),
  ]);
  return `${[line(HEAD), ...lines].join('\n')}\n`;
}

function rowOf(one: ReadModelState): readonly string[] {
  const { lagEvents, lagSeconds } = one;
  const lag = lagEvents === undefined ? '-' : `${lagEvents} events, ${lagSeconds ?? 0} s`;
  const generation = one.generation === undefined ? '-' : String(one.generation);
  const ends = one.end ?? '-';
  const rest = [String(Math.round(one.rate)), ends, sizeOf(one.bytes), String(one.parked)];
  return [one.name, one.state, generation, one.position ?? '-', lag, ...rest];
}

function remarksOn({ reason, rebuild, generations }: ReadModelState): readonly string[] {
  const remarks = reason === undefined ? [] : [reason];
  if (rebuild !== undefined) {
    const { purpose, generation, phase, events, total, end, isRunning } = rebuild;
    const until = isRunning ? `expected to end at ${end}` : 'interrupted: the same command continues it';
    remarks.push(`${purpose}: generation ${generation}, ${phase}, ${events} of ${total} events, ${until}`);
  }
  for (const { number, state, until, bytes } of generations)
    if (until !== undefined)
      remarks.push(
        `generation ${number} is ${state === 'kept' ? 'kept for a rollback' : 'ready to be swapped in'} until ${until}, ` +
          sizeOf(bytes),
      );
  return remarks;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

function sizeOf(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${at === 0 ? bytes : (bytes / 1024 ** at).toFixed(1)} ${UNITS[at] ?? ''}`;
}
