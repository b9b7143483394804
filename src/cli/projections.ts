import { type Command } from 'commander';
import { numberOf } from '../kernel/event';
import { sizeText } from '../kernel/text';
import { type Engines } from '../engines/open';
import { type ReadModelState } from '../operations/projections';
import { type Verified } from '../operations/rebuild';
import { CommandError, UsageError } from '../operations/command-error';
import { type RebuildProgress } from '../projector/rebuild';
import { SYSTEM_CLOCK } from '../runtime/clock';
import {
  type CliParts,
  configOf,
  integerFrom,
  type JsonFlag,
  onEngines,
  letServersPass,
  printLines,
  withEngines,
  withProgress,
  printList,
  shellUser,
  withJson,
} from './settings';

const operations = async () => await import('../operations/projections.js');
const rebuilding = async () => await import('../operations/rebuild.js');

interface ForceFlags {
  readonly force?: boolean;
}

export function addProjections(affilog: Command, parts: CliParts): void {
  const { stdout } = parts;
  const projections = affilog
    .command('projections')
    .description('Read models: how they do, and what to do with them. Works while servers run.');
  projections
    .command('list [names...]', { isDefault: true })
    .description('List the read models: state, generation, position, lag, rate, size, parked documents.')
    .option('--json', 'One JSON object a line.')
    .action(
      onEngines(parts, async (engines, names: readonly string[], { json }: JsonFlag) => {
        const states = await (await operations()).readModelStates(engines, SYSTEM_CLOCK, names);
        stdout.write(
          json === true ? states.map((one) => `${JSON.stringify(one)}\n`).join('') : tableOf(states),
        );
      }),
    );
  const changing = (
    command: Command,
    [done, nothing]: readonly [string, string],
    change: (engines: Engines, names: readonly string[]) => Promise<readonly string[]>,
  ): unknown =>
    command.action(
      onEngines(parts, async (engines, names: readonly string[]) => {
        const changed = await change(engines, names);
        stdout.write(changed.length === 0 ? `${nothing}\n` : `${done}: ${changed.join(', ')}\n`);
      }),
    );
  changing(
    projections
      .command('pause <names...>')
      .description(
        'Leave read models as they are until they are resumed, also after restarts. Searches continue with what is there.',
      ),
    ['paused', 'nothing to pause'],
    async (engines, names) => {
      const { operatorText } = await import('../operations/actions.js');
      const by = operatorText({ user: shellUser() });
      return await (await operations()).pauseReadModels(engines, names, SYSTEM_CLOCK, by);
    },
  );
  changing(
    projections.command('resume <names...>').description('Let paused read models follow the log again.'),
    ['resumed', 'nothing was paused'],
    async (engines, names) => await (await operations()).resumeReadModels(engines, names),
  );
  projections
    .command('verification <name>')
    .description('Print what the last comparison of a read model has found, by verify or a rebuild, as JSON.')
    .option('--sample', 'what the last one of a sample has found')
    .action(
      onEngines(parts, async (engines, name: string, flags: { readonly sample?: true }) => {
        const found = await (await rebuilding()).lastVerification(engines, name, flags.sample);
        stdout.write(`${JSON.stringify(found, undefined, 2)}\n`);
      }),
    );
  projections
    .command('verify <names...>')
    .description(
      'Project the log again and compare each document with the live read model, at the same position. Exits with 1 if any ' +
        'differ or could not be folded, and prints both of the first 100.',
    )
    .option('--sample <documents>', 'only about so many documents of each', sample)
    .option('--json', 'print JSON')
    .action(async (names: readonly string[], flags: VerifyFlags, command: Command) => {
      await verify(names, flags, command, parts);
    });
  for (const [verb, kind, description] of SWAPS)
    projections
      .command(`${verb} <names...>`)
      .description(description)
      .option('--force', 'Also if documents are parked.')
      .action(
        onEngines(parts, async (engines, names: readonly string[], flags: ForceFlags, command: Command) => {
          const { rollbackWithin: retainMs } = await configOf(command, parts);
          const { swapProjections } = await rebuilding();
          const options = { force: flags.force, retainMs, signal: parts.stopSignal() };
          for (const { collection, generation, replaced } of await swapProjections(
            engines,
            names,
            kind,
            options,
          )) {
            const instead = replaced === undefined ? '' : ` in place of ${replaced}`;
            stdout.write(`${collection}: generation ${generation} is live${instead}\n`);
          }
        }),
      );
  changing(
    projections
      .command('discard <names...>')
      .description(
        'Drop what is beside the live generations: former ones, those that are ready, and what interrupted rebuilds have left.',
      ),
    ['dropped', 'nothing to drop'],
    async (engines, names) => await (await rebuilding()).discardGenerations(engines, names),
  );
}

const SWAPS = [
  ['swap', 'ready', 'Make the generations live that `affilog rebuild … --no-swap` has built.'],
  [
    'rollback',
    'kept',
    'Make the former generations live again, which were followed since they were replaced.',
  ],
] as const;

interface RebuildFlags extends ForceFlags {
  readonly swap: boolean;
  readonly dryRun?: boolean;
  readonly sample?: number;
  readonly as?: string;
  readonly at?: string;
  readonly position?: string;
}

/** Documents of a dry run, unless it is said otherwise. */
const SAMPLE = 1_000;

export function addRebuild(affilog: Command, parts: CliParts): void {
  affilog
    .command('rebuild')
    .description(
      'Rebuild read models from the log in one pass and swap them in; or with --as, build them as of a time, beside the ' +
        'live ones. After an interruption the same command continues.',
    )
    .argument('<projection...>', 'names of projections, or all')
    .option('--force', 'Swap in despite differences and parked documents.')
    .option('--no-swap', 'leave them ready: `affilog projections swap` makes them live')
    .option('--dry-run', 'only build and compare a sample of their documents')
    .option('--sample <documents>', `with --dry-run: about so many documents of each (${SAMPLE})`, sample)
    .option('--as <name>', 'with --at or --position: what the past is called, /ops/1.0/products;asOf=NAME')
    .option('--at <time>', 'as of a time: 2026-01-31T12:00:00Z; a date includes its day (UTC)')
    .option('--position <position>', 'as of a log position')
    .action(async (names: readonly string[], flags: RebuildFlags, command: Command) => {
      checkFlags(names, flags);
      if (flags.as !== undefined) await buildAsOf(names[0] ?? '', { ...flags, as: flags.as }, command, parts);
      else if (flags.dryRun === true) await verify(names, { sample: SAMPLE, ...flags }, command, parts);
      else await rebuild(names, flags, command, parts);
    });
}

function checkFlags(names: readonly string[], flags: RebuildFlags): void {
  const { force = false, as, at, position, dryRun = false, sample, swap: isSwapped } = flags;
  if (as === undefined && (at ?? position) !== undefined)
    throw new UsageError('--at and --position need --as NAME: what the past is called');
  if (as !== undefined && force) throw new UsageError('--force: cannot be combined with --as');
  if (as !== undefined && (dryRun || !isSwapped || names.length > 1))
    throw new UsageError('--as: takes one name of a projection or all, and no --dry-run or --no-swap');
  if (dryRun && (force || !isSwapped))
    throw new UsageError('--dry-run: swaps nothing in, so --force and --no-swap say nothing');
  if (sample !== undefined && !dryRun) throw new UsageError('--sample: needs --dry-run');
}

async function rebuild(
  names: readonly string[],
  { force = false, swap: isSwapped }: RebuildFlags,
  command: Command,
  parts: CliParts,
): Promise<void> {
  const { notifyKeep: keepMs, rollbackWithin: retainMs } = await configOf(command, parts);
  await printing(command, parts, async (engines, shown) => {
    const then = isSwapped ? 'swap' : 'keep';
    const options = { ...shown, force, keepMs, retainMs, then } as const;
    const rebuilt = await (await rebuilding()).rebuildProjections(engines, names, options);
    return rebuilt.map(({ generation: { collection, number }, documents, parked, comparison }) => {
      const compared =
        comparison === undefined
          ? 'nothing to compare with'
          : `${comparison.differing} differ from the former one`;
      const lacking = parked === 0 ? '' : `, ${parked} parked (\`affilog parked list\`)`;
      const ready = isSwapped
        ? ''
        : `; \`affilog projections swap ${collection} --reason TEXT\` makes it live`;
      return `${collection}: generation ${number}, ${documents} documents, ${compared}${lacking}${ready}`;
    });
  });
}

async function buildAsOf(
  projection: string,
  { as, at, position }: RebuildFlags & { readonly as: string },
  command: Command,
  parts: CliParts,
): Promise<void> {
  const { documentsOf, rebuildAsOf } = await import('../operations/as-of.js');
  await printing(command, parts, async (engines, shown) => {
    const asked = { clock: SYSTEM_CLOCK, owner: SYSTEM_CLOCK.uuid(), ...shown };
    const built = await rebuildAsOf(engines, { projection, name: as, at, position }, asked);
    const models = await documentsOf(engines.store, built);
    return [
      ...models.map(({ name, documents }) => `${name}: ${documents} documents as of ${built.time}`),
      `${as} is as of position ${numberOf(built.position)}, and dropped after ${built.expires}`,
    ];
  });
}

/** Runs `work` with a display of its progress on standard error, then prints the lines that it returns. */
async function printing(
  command: Command,
  parts: CliParts,
  work: (
    engines: Engines,
    shown: { readonly onProgress: (progress: RebuildProgress) => void; readonly signal: AbortSignal },
  ) => Promise<readonly string[]>,
): Promise<void> {
  const { threads } = parts;
  letServersPass(parts);
  const run = async (engines: Engines) => {
    await printLines(parts, await withProgress(parts, (shown) => work(engines, shown)));
  };
  await withEngines(command, parts, run, { threads });
}

interface VerifyFlags extends JsonFlag {
  readonly sample?: number;
}

async function verify(
  names: readonly string[],
  { sample: most, json = false }: VerifyFlags,
  command: Command,
  parts: CliParts,
): Promise<void> {
  const { notifyKeep: keepMs } = await configOf(command, parts);
  let faulty = 0;
  await printing(command, parts, async (engines, shown) => {
    const found = await (await rebuilding()).verifyProjections(engines, names, { ...shown, keepMs, most });
    faulty = found.filter(({ differing, parked }) => differing + parked > 0).length;
    return json ? [JSON.stringify(found, undefined, 2)] : found.flatMap(linesOf);
  });
  if (faulty === 0) return;
  throw new CommandError(
    'live and new read models differ: `affilog rebuild NAME --force` swaps the new ones in',
  );
}

function linesOf(one: Verified): readonly string[] {
  const { name, documents, sample, position, differing, differences, parked, bytes } = one;
  const all = one.live === undefined ? 'there is no live one to compare with' : `${differing} differ`;
  const some = sample === 1 ? '' : `a sample of 1 in ${sample}: `;
  const failed = parked === 0 ? '' : `, ${parked} could not be folded`;
  const line = `${name}: ${some}${documents} documents (${sizeText(bytes)}), ${all}${failed}, as of position ${numberOf(position)}`;
  return [
    line,
    ...differences.flatMap(({ id, fields, live, rebuilt }) => [
      `  ${id}: ${fields.join(', ')}`,
      `    live ${live ?? 'does not have it'}`,
      `    new  ${rebuilt ?? 'does not have it'}`,
    ]),
  ];
}

const sample = integerFrom(1, 10_000_000);

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
  const rest = [String(Math.round(one.rate)), ends, sizeText(one.bytes), String(one.parked)];
  const position = one.position === undefined ? '-' : String(numberOf(one.position));
  return [one.name, one.state, generation, position, lag, ...rest];
}

function remarksOn({ reason, rebuild: built, failure, generations }: ReadModelState): readonly string[] {
  const remarks = reason === undefined ? [] : [reason];
  if (built !== undefined) {
    const { isComparison, generation, phase, readModels, events, total, end, isRunning } = built;
    const pass = readModels === 1 ? '' : ` of ${readModels} read models in one pass`;
    const what = `${isComparison ? 'comparison' : 'rebuild'}${pass}`;
    const expected = end === undefined ? 'its end is not known yet' : `expected to end at ${end}`;
    const until = isRunning ? expected : 'interrupted: the same command continues it';
    remarks.push(`${what}: generation ${generation}, ${phase}, ${events} of ${total} events, ${until}`);
  }
  if (failure !== undefined)
    remarks.push(`the last ${failure.what}, at ${failure.at}, failed: ${failure.reason}`);
  for (const { number, state, until, bytes } of generations)
    if (until !== undefined)
      remarks.push(
        `generation ${number} is ${state === 'kept' ? 'kept for a rollback' : 'ready to be swapped in'} until ${until}, ` +
          sizeText(bytes),
      );
  return remarks;
}

const parkedOperations = async () => await import('../operations/parked.js');

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
      'List what is parked with the error, what it is, and what to do: of a projection, matcher, automations or directory.',
    )
    .action(
      onEngines(parts, async (engines, projection = 'all', flags: JsonFlag) => {
        const { explainParked, parkedIn } = await parkedOperations();
        const found = await explainParked(engines, await parkedIn(engines, projection));
        const items = found.map(({ name, id, what, next, entry }) => ({ name, id, what, next, ...entry }));
        const textOf = ({ name, id, what, next, error }: (typeof items)[number]): string =>
          [`${name} ${id}: ${error.split('\n', 1)[0] ?? ''}`, `    ${what}`, `    ${next}`].join('\n');
        await printList(parts, flags, items, textOf, 'nothing is parked');
      }),
    );
  parked
    .command('show <projection> <id>')
    .description('Show all details of a parked document or event as JSON, with what it is, and what to do.')
    .action(
      onEngines(parts, async (engines, projection: string, id: string) => {
        const { explainParked, parkedById } = await parkedOperations();
        for (const { what, next, entry } of await explainParked(engines, [
          await parkedById(engines, projection, id),
        ]))
          stdout.write(`${JSON.stringify({ what, next, ...entry }, null, 2)}\n`);
      }),
    );
  parked
    .command('retry [projection] [id]')
    .description('Retry what is parked. A new version of the code retries it automatically.')
    .action(
      onEngines(parts, async (engines, projection: string | undefined, id: string | undefined) => {
        const now = new Date().toISOString();
        const count = await (await parkedOperations()).retry(engines, projection ?? 'all', id, now);
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
          const { skip } = await parkedOperations();
          const { event, stream, isRetried } = await skip(engines, { name, id }, decision);
          stdout.write(`skipped event ${event} of ${stream}${isRetried ? '; retry requested' : ''}\n`);
        },
      ),
    );
}
