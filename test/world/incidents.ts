import { NO_STREAM } from '../../src/kernel/event';
import { type EngineName } from './network';
import { type Random } from './random';
import { type Mood } from './receivers';
import { type World } from './world';
import { URLS } from './workloads/subscriptions';

/** Something that happens in a world beside what processes do. */
export interface Incident {
  readonly name: string;
  /** How often it happens, compared with others. */
  readonly weight: number;
  readonly happen: (world: World, random: Random) => void;
}

/** One that happens to a process, if one is up. */
function toOne(
  happen: (world: World, random: Random, host: World['hosts'][number]) => void,
): Incident['happen'] {
  return (world, random) => {
    const { up } = world;
    if (up.length > 0) happen(world, random, random.pick(up));
  };
}

const ENGINES: readonly EngineName[] = ['log', 'deliveries', 'store', 'leases'];
/** Calls after which others depend on what they have done, or read. */
const CALLS = [
  ['log', 'append'],
  ['log', 'readStream'],
  ['deliveries', 'append'],
  ['deliveries', 'append'],
  ['deliveries', 'readStream'],
  ['deliveries', 'readStream'],
  ['store', 'write'],
  ['store', 'create'],
  ['store', 'swap'],
] as const satisfies readonly (readonly [EngineName, string])[];
/** What another program may write, and as what. */
const FOREIGN = [
  { category: 'transaction', type: 'TransactionDeleted' },
  { category: 'subscription', type: 'SubscriptionCreated' },
  { category: 'voucher', type: 'VoucherRevised' },
  { category: 'voucher', type: 'VoucherHidden' },
  { category: 'feedchanges', type: 'ProductPriceFell' },
] as const;
const UNUSABLE: readonly object[] = [
  {},
  { at: 7, voucher: [], transaction: 7, subscription: null },
  { at: '2026-03-01T12:00:00Z', transaction: {}, voucher: {}, programId: 'x' },
  ...[null, {}, { filter: {}, receivers: {} }, { filter: { stateIds: 7 }, receivers: [null] }].map(
    (subscription) => ({
      at: '2026-03-01T12:00:00Z',
      topic: 'transactions',
      organisationId: 1,
      subscription,
    }),
  ),
];
const MOODS = { accepts: 1, refuses: 3, 'is gone': 2, hangs: 2, 'accepts, but nobody learns it': 2 } as const;
const HOUR = 3_600_000;

/** Of any length, or a little shorter or longer than leases. */
function longOrShort(random: Random): number {
  return random.chance(0.4) ? random.between(25_000, 50_000) : random.time(100, 25_000);
}

/** Longer than leases. */
function awayMs(random: Random): number {
  return random.between(31_000, 70_000);
}

/** So many ms, ahead or back. */
function someTime(random: Random, least: number, most: number): number {
  return (random.chance(0.5) ? -1 : 1) * random.time(least, most);
}

/** Everything that goes wrong, or changes from outside. */
export const INCIDENTS: readonly Incident[] = [
  {
    name: 'kill',
    weight: 6,
    happen: toOne((world, random, host) => {
      world.kill(host);
      world.start(host.shape, random.time(100, 40_000));
    }),
  },
  {
    name: 'stop',
    weight: 2,
    happen: toOne((world, random, host) => {
      world.stop(host);
      world.start(host.shape, random.time(100, 40_000));
    }),
  },
  {
    name: 'freeze',
    weight: 4,
    happen: toOne((world, random, host) => world.freeze([host], longOrShort(random), false)),
  },
  {
    name: 'suspend',
    weight: 2,
    happen: toOne((world, random, host) => world.freeze(world.machineOf(host), longOrShort(random), true)),
  },
  {
    // Between two calls that depend on each other: other calls take no time.
    name: 'in the midst of its work',
    weight: 8,
    happen: toOne((world, random, host) => {
      let one: World['hosts'][number] | undefined = host;
      if (random.chance(0.4)) {
        world.kill(host);
        one = world.start(host.shape, random.time(100, 10_000));
      }
      if (one === undefined) return;
      const { shape } = one;
      const [engine, method] = random.pick(CALLS);
      const how = random.weighted({ killed: 3, frozen: 3, suspended: 1 });
      world.atCall(one, engine, method, random.below(4), () => {
        if (how === 'killed') {
          world.kill(one);
          world.start(shape, random.time(100, 40_000));
        } else {
          const isSuspended = how === 'suspended';
          world.freeze(isSuspended ? world.machineOf(one) : [one], awayMs(random), isSuspended);
        }
      });
    }),
  },
  {
    // Others do its work meanwhile. When it is back its clock may be wrong, or whoever took its work over is gone
    // again.
    name: 'away for longer than its leases',
    weight: 4,
    happen: toOne((world, random, host) => {
      const ms = awayMs(random);
      const later = (happen: () => void): void =>
        void world.simulation.after(ms - random.time(1, 10_000), undefined, happen);
      const others = (): World['hosts'] => world.up.filter((one) => one !== host);
      const away = random.weighted({ frozen: 3, suspended: 2, 'cut off': 2 });
      if (away === 'frozen') world.freeze([host], ms, false);
      else if (away === 'suspended') world.freeze(world.machineOf(host), ms, true);
      else world.cut('leases', ms, [host], random.chance(0.5));
      const meanwhile = random.weighted({ nothing: 1, 'its clock is set': 2, 'others end': 2 });
      if (meanwhile === 'its clock is set')
        later(() => world.setClock(host, someTime(random, 10_000, 600_000)));
      if (meanwhile === 'others end')
        later(() => {
          for (const other of others()) {
            if (random.chance(0.5)) world.kill(other);
            else world.stop(other);
            world.start(other.shape, random.time(1_000, 20_000));
          }
        });
    }),
  },
  {
    name: 'cut one off',
    weight: 5,
    happen: toOne((world, random, host) =>
      world.cut(random.pick(ENGINES), longOrShort(random), [host], random.chance(0.5)),
    ),
  },
  {
    name: 'engine is down',
    weight: 3,
    happen: (world, random) =>
      world.cut(random.pick(ENGINES), random.time(200, 30_000), world.hosts, random.chance(0.5)),
  },
  {
    name: 'set the clock',
    weight: 2,
    happen: toOne((world, random, host) =>
      world.setClock(host, someTime(random, 100, random.chance(0.1) ? HOUR / 2 : 20_000)),
    ),
  },
  {
    name: 'receiver changes',
    weight: 8,
    happen: (world, random) => {
      const [url, mood, ms] = [random.pick(URLS), random.weighted<Mood>(MOODS), random.time(500, 60_000)];
      world.say(`${url} ${mood} for ${ms} ms`);
      world.receivers.setMood(url, mood, ms);
    },
  },
  {
    name: 'no resources',
    weight: 2,
    happen: toOne((world, random, host) => {
      const ms = random.time(100, 20_000);
      world.say(`${host.name} has no resources to send anything for ${ms} ms`);
      world.receivers.cannotSend(host.name, ms);
    }),
  },
  {
    name: 'program changes',
    weight: 2,
    happen: (world, random) => {
      const status = random.pick(['active', 'paused'] as const);
      world.say(`program 102 becomes ${status}`);
      void world.importNetwork(status);
    },
  },
  {
    name: 'another program writes',
    weight: 2,
    happen: (world, random) => {
      const { category, type } = random.pick(FOREIGN);
      const data = JSON.stringify(random.pick(UNUSABLE));
      const stream = `${category}-${random.uuid().replaceAll('-', '')}`;
      world.say(`another program writes ${type} ${data} to ${stream}`);
      world.unusable.add(stream);
      world.disks.log.append(stream, NO_STREAM, [{ id: random.uuid(), type, data, meta: '{}' }]);
    },
  },
  {
    name: 'backup',
    weight: 1,
    happen: (world) => world.backUp(),
  },
  {
    name: 'power fails',
    weight: 0.7,
    happen: (world, random) => world.powerFails(() => random.time(500, 20_000)),
  },
];
