import 'reflect-metadata';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { check } from './checks';
import { planOf, type Step, World } from './world';

/** What a world of a seed was like, and the promise that it has broken. */
interface Run {
  readonly world: World;
  readonly failure: Error | undefined;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function runSeed(seed: number, plan: readonly Step[] = planOf(String(seed))): Promise<Run> {
  const world = new World(String(seed), plan);
  try {
    await world.run();
    check(world);
    return { world, failure: undefined };
  } catch (error) {
    return { world, failure: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** `isLong`: with stacks. */
function textOf({ message, stack = message, cause }: Error, isLong: boolean): string {
  return `${isLong ? stack : message}${cause instanceof Error ? `\ncaused by ${textOf(cause, isLong)}` : ''}`;
}

/** What a seed tells: the same on every machine. */
function tell({ world, failure }: Run): void {
  print(world.trace.join('\n'));
  const { simulation, network, incidents } = world;
  print(`${simulation.count} steps; faults ${JSON.stringify({ ...network.faults, ...incidents })}`);
  if (failure !== undefined) print(textOf(failure, true));
}

/** Leaves out commands and incidents as long as the same promise is broken, by the shape of its message. */
async function shrink(seed: number): Promise<void> {
  const kindOf = ({ failure }: Run): string | undefined =>
    failure?.message.replaceAll(/\w*\d\w*/g, '#').slice(0, 40);
  let plan = planOf(String(seed));
  let shortest = await runSeed(seed, plan);
  const kind = kindOf(shortest);
  for (let size = Math.ceil(plan.length / 2); kind !== undefined && size >= 1; size = Math.floor(size / 2))
    for (let from = 0; from < plan.length;) {
      const fewer = plan.filter((_, at) => at < from || at >= from + size);
      const run = await runSeed(seed, fewer);
      if (kindOf(run) === kind) [plan, shortest] = [fewer, run];
      else from += size;
    }
  tell(shortest);
  print(`${plan.length} steps of the plan are left`);
}

/** Runs seeds one after the other, until a time. Exits with 1 if one has failed. */
async function runSeeds(seeds: readonly number[], until: number, isFirstEnough: boolean): Promise<void> {
  let [count, failed] = [0, 0];
  for (const seed of seeds) {
    if (performance.now() > until || (isFirstEnough && failed > 0)) break;
    count += 1;
    const { failure } = await runSeed(seed);
    if (failure === undefined) continue;
    failed += 1;
    print(`seed ${seed}: ${textOf(failure, false)}`);
  }
  print(`${count} seeds, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

/** The same in one process for each core. */
async function runEverywhere(from: number, count: number, args: readonly string[]): Promise<void> {
  const processes = Math.min(availableParallelism(), count);
  const codes = Array.from({ length: processes }, async (_, at) => {
    const own = [
      '--from',
      String(from + at),
      '--step',
      String(processes),
      '--seeds',
      String(Math.ceil((count - at) / processes)),
    ];
    const [node, file = ''] = process.argv;
    const child = spawn(node ?? 'node', ['--max-semi-space-size=64', file, ...own, ...args], {
      stdio: 'inherit',
    });
    return ((await once(child, 'exit')) as [number])[0];
  });
  if ((await Promise.all(codes)).some((code) => code !== 0)) process.exitCode = 1;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      seed: text,
      seeds: text,
      from: text,
      step: text,
      minutes: text,
      shrink: text,
      mutant: text,
      first: { type: 'boolean' },
    },
  });
  const [count, from, step] = [Number(values.seeds ?? 100), Number(values.from ?? 1), Number(values.step)];
  const minutes = values.minutes ?? '1440';
  const mutant = values.mutant === undefined ? [] : ['--mutant', values.mutant, '--first'];
  if (values.seed !== undefined) {
    const run = await runSeed(Number(values.seed));
    tell(run);
    process.exitCode = run.failure === undefined ? 0 : 1;
  } else if (values.shrink !== undefined) await shrink(Number(values.shrink));
  else if (values.step === undefined) await runEverywhere(from, count, ['--minutes', minutes, ...mutant]);
  else {
    // Nobody reads stacks, and many errors are expected.
    Error.stackTraceLimit = 0;
    const seeds = Array.from({ length: count }, (_, at) => from + at * step);
    await runSeeds(seeds, performance.now() + Number(minutes) * 60_000, values.first === true);
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? textOf(error, true) : String(error)}\n`);
  process.exitCode = 2;
});
