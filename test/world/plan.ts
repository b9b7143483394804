import { createHash } from 'node:crypto';
import { INCIDENTS } from './incidents';
import { Random } from './random';
import { type Step, type World } from './world';
import { COMMANDS, Workload } from './workloads';

const STEPS = { commands: 100, incidents: 20 } as const;
/** By how much a seed changes the weights of what happens: some things happen often, some never. */
const FACTORS = [0, 0.3, 1, 1, 4];

/** What plans are drawn from: seeds have other worlds once it is something else. */
export const PLANS = createHash('sha256')
  .update(JSON.stringify([STEPS, FACTORS, INCIDENTS, COMMANDS]))
  .digest('hex')
  .slice(0, 8);

/** The plan of a seed. Its details are drawn when a step is taken, each from a seed of its own. */
export function planOf(seed: string): readonly Step[] {
  const random = new Random(`${seed} plan`);
  const ms = random.time(15_000, 60_000);
  const workload = new Workload(random);
  const incidents = INCIDENTS.map((one) => ({ ...one, weight: one.weight * random.pick(FACTORS) }));
  // Or some at about the same time.
  const bursts = Array.from({ length: random.between(3, 6) }, () => random.below(ms));
  const times = (): (() => number) =>
    random.chance(0.5) ? () => random.pick(bursts) + random.time(1, 10_000) : () => random.below(ms);
  const [timeOfIncident, timeOfCommand] = [times(), times()];
  const steps = [
    ...Array.from({ length: STEPS.commands }, () => ({ at: timeOfCommand(), incident: undefined })),
    ...Array.from({ length: STEPS.incidents }, () => ({
      at: timeOfIncident(),
      incident: random.heavier(incidents),
    })),
  ];
  const planned = steps
    .sort((a, b) => a.at - b.at)
    .map(({ at, incident }, number) => ({
      ...{ number, at: 1_000 + at },
      ...(incident === undefined
        ? commandOf(workload, number)
        : { name: incident.name, take: incident.happen }),
    }));
  return [{ number: -1, at: 0, name: 'bad weather', take: setWeather }, ...planned];
}

function setWeather(world: World, random: Random): void {
  world.network.weather = {
    slow: random.time(2, 30) / 100,
    lost: random.time(3, 60) / 1_000,
    subscriptionMs: random.time(5_000, 300_000),
  };
  world.say(`weather: ${JSON.stringify(world.network.weather)}`);
}

function commandOf(workload: Workload, number: number): Pick<Step, 'name' | 'take'> {
  return {
    name: 'command',
    take: ({ clients }, random) => {
      const { command, what } = workload.draw(random, clients, number);
      clients.ask(command, what, random);
    },
  };
}
