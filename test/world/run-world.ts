import 'reflect-metadata';
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker as Thread } from 'node:worker_threads';
import { RESTORED, verify } from './checks';
import { Broken } from './checks/broken';
import { RESTS } from './checks/processes';
import { planOf } from './plan';
import { type Step, World } from './world';

/** What became of a seed. */
interface Outcome {
  readonly seed: number;
  /** The promise that is broken, or the shape of another failure, and what happened. */
  readonly failure?: { readonly kind: string; readonly text: string };
  /** What happened, and how often. */
  readonly counts: Readonly<Record<string, number>>;
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Runs a world. `say` gets its story, line by line. */
async function runSeed(
  seed: number,
  say?: (line: string) => void,
  plan: readonly Step[] = planOf(String(seed)),
): Promise<Outcome> {
  const world = new World(String(seed), plan, say);
  let failure: unknown;
  try {
    await world.run();
    verify(world);
    const restored = world.restoredWorld();
    await restored?.runRestored();
    if (restored !== undefined) verify(restored, RESTORED);
  } catch (error) {
    failure = error;
  }
  const { simulation, network, taken } = world;
  const counts = { ...taken, ...network.faults, steps: simulation.count };
  return { seed, counts, ...(failure === undefined ? {} : { failure: described(failure) }) };
}

function described(error: unknown): NonNullable<Outcome['failure']> {
  const text = textOf(error);
  if (error instanceof Broken) return { kind: error.promise, text: `${text}\nbroken: ${error.promise}` };
  return { kind: text.replaceAll(/\w*\d\w*/g, '#').slice(0, 80), text };
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, stack = message, cause } = error;
  if (error instanceof Broken)
    return cause === undefined ? message : `${message}\ncaused by ${textOf(cause)}`;
  return cause === undefined ? stack : `${stack}\ncaused by ${textOf(cause)}`;
}

/** Tells the story of a seed: the same on every machine. */
async function tell(seed: number, plan?: readonly Step[]): Promise<void> {
  const { failure, counts } = await runSeed(seed, print, plan);
  print(JSON.stringify(counts));
  if (failure === undefined) return;
  print(failure.text);
  process.exitCode = 1;
}

/** Leaves out steps of the plan as long as the same promise is broken, and tells the story of those that are left. */
async function shrink(seed: number): Promise<void> {
  let plan = planOf(String(seed));
  const kind = (await runSeed(seed)).failure?.kind;
  for (let size = Math.ceil(plan.length / 2); kind !== undefined && size >= 1;) {
    const before = plan.length;
    for (let from = 0; from < plan.length;) {
      const fewer = plan.filter((_, at) => at < from || at >= from + size);
      if ((await runSeed(seed, undefined, fewer)).failure?.kind === kind) plan = fewer;
      else from += size;
    }
    // What could not be left out before may be now.
    if (size > 1 || plan.length === before) size = Math.floor(size / 2);
  }
  await tell(seed, plan);
  print(`${plan.length} steps are left: ${plan.map(({ name, number }) => `${number} ${name}`).join(', ')}`);
}

// Many seeds ----------------------------------------------------------------------------------------------------

/** What a world may take of the processor: most take less than half a second (ms). */
const WORLD_MS = 60_000;
/** A world that does not end must not use up the memory of the machine. */
const NO_END = 'no end';
/**
 * Kills its process when a world does not end, which may let nothing else run. The load of the machine does not count.
 */
const GUARD = `
const { parentPort, workerData } = require('node:worker_threads');
const used = () => Object.values(process.cpuUsage()).reduce((sum, microseconds) => sum + microseconds / 1_000, 0);
let began = used();
parentPort.on('message', () => { began = used(); });
setInterval(() => used() - began > workerData && process.kill(process.pid, 'SIGKILL'), 500);`;
/** Worlds that a process runs: it is slow until its code is compiled, which takes some fifty. */
const WORLDS = 2_000;
const NODE = ['--max-semi-space-size=64', '--max-old-space-size=2048'];

interface Search {
  readonly seeds: Iterable<number>;
  /** When to end (ms of `performance.now`). */
  readonly until: number;
  /** The number of a repair that is taken out again. */
  readonly mutant?: string | undefined;
  /** True ends it. */
  readonly failed: (outcome: Outcome) => boolean | Promise<boolean>;
}

/** Runs seeds on all cores, each process one after the other. Returns how many, and the sum of what happened. */
async function runEverywhere({ seeds, until, mutant, failed }: Search) {
  const left = seeds[Symbol.iterator]();
  const counts: Record<string, number> = {};
  let [count, failures] = [0, 0];
  let isOver = false;
  const next = (): number | undefined => {
    if (performance.now() > until || isOver) return undefined;
    const { done, value } = left.next();
    return done === true ? undefined : value;
  };
  const note = async (outcome: Outcome): Promise<void> => {
    count += 1;
    for (const [name, times] of Object.entries(outcome.counts)) counts[name] = (counts[name] ?? 0) + times;
    if (outcome.failure === undefined) return;
    failures += 1;
    if (await failed(outcome)) isOver = true;
  };
  const work = async (): Promise<void> => {
    for (let seed = next(); seed !== undefined;) {
      const worker = new Worker(mutant);
      for (let left = WORLDS; seed !== undefined && worker.isAlive && left > 0; left -= 1, seed = next())
        await note(await worker.run(seed));
      worker.end();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { count, failures, counts };
}

/** A process that runs worlds, one at a time. */
class Worker {
  isAlive = true;
  private readonly child;
  private ended: () => void = () => undefined;

  constructor(mutant: string | undefined) {
    const args = mutant === undefined ? ['--worker'] : ['--worker', '--mutant', mutant];
    this.child = fork(process.argv[1] ?? '', args, {
      execArgv: NODE,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child.once('exit', () => {
      this.isAlive = false;
      this.ended();
    });
  }

  /** One that takes too long, or ends the process, has failed. */
  async run(seed: number): Promise<Outcome> {
    return await new Promise<Outcome>((resolve) => {
      const text = `it does not end, or needs too much memory: npm run world -- --seed ${seed}`;
      this.ended = () => resolve({ seed, counts: {}, failure: { kind: NO_END, text } });
      this.child.once('message', (answer) => resolve(answer as Outcome));
      this.child.send(seed);
    });
  }

  end(): void {
    this.child.kill();
  }
}

/** Runs the worlds that the parent process asks for. */
function serve(): void {
  // Nobody reads stacks, and many errors are expected.
  Error.stackTraceLimit = 0;
  const guard = new Thread(GUARD, { eval: true, workerData: WORLD_MS });
  process.on('message', (seed: number) => {
    guard.postMessage(seed);
    runSeed(seed).then((outcome) => process.send?.(outcome), crash);
  });
  process.on('disconnect', () => process.exit());
}

function crash(error: unknown): void {
  process.stderr.write(`${textOf(error)}\n`);
  process.exit(2);
}

function* range(from: number, count: number): Generator<number> {
  for (let seed = from; seed < from + count; seed += 1) yield seed;
}

/** A repair that is taken out again. */
interface Mutant {
  readonly name: string;
  /** Without it something does not end or get done: that a world does not come to rest is how it is found. */
  readonly isAboutProgress?: true;
}

/** Takes repairs out again, one by one, and lists by which seed and promise the loss of each is found. */
async function runMutants(seeds: number, some: readonly string[]): Promise<void> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- it is read before TypeScript is
  const all = require('./mutants.cjs') as readonly Mutant[];
  const tried = some.length === 0 ? [...all.keys()].map(String) : some;
  let found = 0;
  print('| repair that is missing | seeds | found by seed | broken promise |\n|---|---|---|---|');
  for (const at of tried) {
    const { name, isAboutProgress } = all[Number(at)] ?? { name: 'unknown' };
    let first: Outcome | undefined;
    const { count } = await runEverywhere({
      ...{ seeds: range(1, seeds), until: Infinity, mutant: at },
      failed: async (outcome) => {
        const isUnrest = outcome.failure?.kind === NO_END || outcome.failure?.kind === RESTS.promise;
        if ((isUnrest && isAboutProgress !== true) || (await failsAnyway(outcome.seed))) return false;
        first ??= outcome;
        return true;
      },
    });
    if (first !== undefined) found += 1;
    const { seed, failure } = first ?? {};
    print(`| ${at} ${name} | ${count} | ${seed ?? 'none'} | ${failure?.kind ?? 'NOT FOUND'} |`);
  }
  print(`\n${found} of ${tried.length} are found`);
  if (found < tried.length) process.exitCode = 1;
}

/** Whether a seed fails with all repairs too. */
async function failsAnyway(seed: number): Promise<boolean> {
  const worker = new Worker(undefined);
  const { failure } = await worker.run(seed);
  worker.end();
  return failure !== undefined;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    options: {
      ...{
        seed: text,
        seeds: text,
        from: text,
        also: text,
        except: text,
        minutes: text,
        shrink: text,
        mutant: text,
      },
      ...{ mutants: flag, worker: flag },
    },
  });
  const { seed, minutes, mutant } = values;
  if (values.worker === true) serve();
  else if (seed !== undefined) await tell(Number(seed));
  else if (values.shrink !== undefined) await shrink(Number(values.shrink));
  else if (values.mutants === true) await runMutants(Number(values.seeds ?? 2_000), mutant?.split(',') ?? []);
  else {
    const { from = '1', seeds = '100', also = '', except = '' } = values;
    const [named, left] = [also, except].map((list) => list.split(',').filter(Boolean).map(Number));
    let first: number | undefined;
    const { count, failures, counts } = await runEverywhere({
      seeds: [...(named ?? []), ...range(Number(from), Number(seeds))].filter(
        (one) => left?.includes(one) !== true,
      ),
      until: minutes === undefined ? Infinity : performance.now() + Number(minutes) * 60_000,
      mutant,
      failed: ({ seed, failure }) => {
        print(`seed ${seed}: ${failure?.text ?? ''}`);
        if (failure?.kind !== NO_END) first ??= seed;
        return mutant !== undefined;
      },
    });
    if (first !== undefined && mutant === undefined) await tell(first);
    print(`${count} seeds, ${failures} failed: ${JSON.stringify(counts)}`);
    if (failures > 0) process.exitCode = 1;
  }
}

main().catch(crash);
