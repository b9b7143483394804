import crypto from 'node:crypto';
import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { NO_STREAM } from '../../src/kernel/event';
import { EngineUnavailable } from '../../src/kernel/event-log';
import { NoGeneration } from '../../src/kernel/read-store';
import { importNetwork } from '../../src/operations/import-network';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { sliceBy } from '../../src/runtime/slices';
import { type Disks, Host, type Role, ROLES } from './host';
import { LeaseRegister, LeaseTable } from './memory-leases';
import { MemoryEvents, MemoryLog } from './memory-log';
import { MemoryCollections } from './memory-store';
import { CALM, type EngineName, Network } from './network';
import { overdue, owed, receivedBy } from './checks';
import { Random } from './random';
import { type Mood, Receivers } from './receivers';
import { EPOCH, Process, ProcessClock, Simulation } from './simulation';
import { codesOf, commandOf, Known, networkFile, type Sent, URLS } from './workload';

/** What happens in a world beside what processes do. */
const INCIDENTS = {
  kill: 6,
  stop: 2,
  freeze: 4,
  suspend: 2,
  'cut one off': 5,
  'engine is down': 3,
  'set the clock': 2,
  'receiver changes': 8,
  'program changes': 2,
  'another program writes': 2,
  'power fails': 0.7,
} as const;
type Incident = keyof typeof INCIDENTS;

/** A step of the plan that a seed makes. */
export interface Step {
  readonly number: number;
  /** Ms from the beginning. */
  readonly at: number;
  readonly do: 'command' | Incident;
}

const STEPS = { commands: 100, incidents: 20 } as const;

/** The plan of a seed. Its details are drawn when a step is taken, each from a seed of its own. */
export function planOf(seed: string): readonly Step[] {
  const random = new Random(`${seed} plan`);
  const ms = random.time(20_000, 90_000);
  const kinds: Step['do'][] = [
    ...Array.from({ length: STEPS.commands }, () => 'command' as const),
    ...Array.from({ length: STEPS.incidents }, () => random.weighted(INCIDENTS)),
  ];
  return kinds
    .map((kind) => ({ at: 1_000 + random.below(ms), do: kind }))
    .sort((a, b) => a.at - b.at)
    .map((step, number) => ({ number, ...step }));
}

/** A way to run processes on machines. */
interface Shape {
  readonly hosts: readonly { readonly roles: readonly Role[]; readonly store: number }[];
  /** They share its clock, are suspended together, and know who is gone. Otherwise each has a machine of its own. */
  readonly isOneMachine: boolean;
}

function shapeOf(random: Random): Shape {
  const stores = random.chance(0.3) ? 2 : 1;
  const hosts = Array.from({ length: Math.max(stores, random.pick([1, 2, 2, 3, 4])) }, (_, at) => {
    const some = ROLES.filter(() => random.chance(0.6));
    // Each store has a process that does everything.
    const roles = at < stores || some.length === 0 || random.chance(0.4) ? ROLES : some;
    return { roles, store: at % stores };
  });
  return { hosts, isOneMachine: random.chance(0.5) };
}

/** How long a client waits for an answer (ms). */
const PATIENCE_MS = 20_000;
const TRIES = 5;
/** How long it may take after all faults until nothing is left to do (ms). */
const REST_MS = 15 * 60_000;
const HOUR = 3_600_000;

/** A world of a seed: processes, engines, clients and receivers in one thread, where no real time passes. */
export class World {
  readonly simulation: Simulation;
  readonly network: Network;
  readonly receivers: Receivers;
  readonly disks: Disks;
  readonly stores: MemoryCollections[];
  readonly sent: Sent[] = [];
  readonly trace: string[] = [];
  /** Streams with events of another program, which nobody can use. */
  readonly unusable = new Set<string>();
  readonly incidents: Partial<Record<Incident, number>> = {};
  hosts: Host[] = [];
  private readonly shape: Shape;
  private readonly known = new Known();
  private readonly gone = new Set<string>();
  private readonly random: Random;
  private clockError = 0;
  private started = 0;

  constructor(
    readonly seed: string,
    private readonly plan: readonly Step[],
  ) {
    this.random = new Random(`${seed} world`);
    this.simulation = new Simulation(seed);
    this.network = new Network(this.simulation, seed);
    this.receivers = new Receivers(this.simulation, seed);
    const now = (): number => this.simulation.now;
    const wall = (): number => EPOCH + now();
    this.shape = shapeOf(this.random);
    const leases = this.shape.isOneMachine ? new LeaseTable() : new LeaseRegister();
    this.disks = { log: new MemoryEvents(wall), deliveries: new MemoryEvents(wall), leases };
    this.stores = [...new Set(this.shape.hosts.map(({ store }) => store))].map(
      () => new MemoryCollections(this.plan.some((step) => step.do === 'power fails') ? 16 : Infinity),
    );
  }

  /** Lets everything happen, until all is at rest. Raises what would have ended a real process, or unrest. */
  async run(): Promise<void> {
    const restore = this.takeOver();
    try {
      await this.importNetwork('active');
      this.network.weather = {
        slow: this.random.time(2, 30) / 100,
        lost: this.random.time(1, 30) / 1_000,
        subscriptionMs: this.random.time(5_000, 300_000),
      };
      for (const shape of this.shape.hosts) this.start(shape);
      for (const step of this.plan) this.simulation.after(step.at, undefined, () => this.take(step));
      await this.runUntil((this.plan.at(-1)?.at ?? 0) + 1_000);
      await this.rest();
      await this.rebuild();
    } finally {
      restore();
    }
  }

  /** Projects everything once more, into a store of its own. */
  private async rebuild(): Promise<void> {
    for (const host of this.hosts) this.kill(host);
    this.stores.push(new MemoryCollections());
    this.start({ roles: ['projector'], store: this.stores.length - 1 });
    await this.untilAtRest('of a rebuild');
  }

  say(text: string): void {
    this.trace.push(`${(this.simulation.now / 1_000).toFixed(3).padStart(9)} ${text}`);
  }

  // Time and chance -------------------------------------------------------------------------------------------

  /** What does not take time and chance from its clock yet gets those of the current process. */
  private takeOver(): () => void {
    const { simulation } = this;
    const chance = new Random(`${this.seed} chance`);
    const original = { randomUUID: crypto.randomUUID, randomInt: crypto.randomInt };
    Object.assign(crypto, {
      randomUUID: () => chance.uuid(),
      randomInt: (most: number) => chance.below(most),
    });
    sliceBy(new ProcessClock(simulation, new Process('the thread', simulation), chance));
    const crash = (error: unknown): void => {
      simulation.crash ??= error;
    };
    process.on('uncaughtException', crash).on('unhandledRejection', crash);
    return () => {
      process.off('uncaughtException', crash).off('unhandledRejection', crash);
      sliceBy(SYSTEM_CLOCK);
      Object.assign(crypto, original);
    };
  }

  private async runUntil(at: number, isEnough?: () => boolean): Promise<void> {
    await this.simulation.run(at, isEnough);
    if (this.simulation.crash !== undefined)
      throw new Error('a process has ended by an error', { cause: this.simulation.crash });
  }

  // Processes -------------------------------------------------------------------------------------------------

  private start(shape: Shape['hosts'][number], late = 0): void {
    this.started += 1;
    const process = new Process(`p${this.started}`, this.simulation);
    process.clockError = this.clockError;
    const host = new Host(process, shape.roles, {
      ...{ disks: this.disks, network: this.network, receivers: this.receivers },
      collections: this.stores[shape.store] ?? new MemoryCollections(),
      random: new Random(`${this.seed} ${process.name}`),
      isGone: (owner) => this.shape.isOneMachine && this.gone.has(owner),
      report: (failure) => this.report(process, failure),
    });
    this.hosts.push(host);
    this.simulation.after(late, process, () => {
      this.say(`${host.name} starts (store ${shape.store}): ${host.roles.join(', ')}`);
      host.start().catch((error: unknown) => {
        this.simulation.crash ??= error;
      });
    });
  }

  private report(process: Process, failure: unknown): void {
    const text = failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
    this.say(`${process.name} reports ${text.split('\n')[0] ?? ''}`);
    // The last word about a bug: nothing of that kind is expected.
    if (failure instanceof TypeError || failure instanceof ReferenceError) this.simulation.crash ??= failure;
  }

  private shapeOf(host: Host): Shape['hosts'][number] {
    const store = this.stores.findIndex((collections) => collections === host.collections);
    return { roles: host.roles, store };
  }

  private kill(host: Host): void {
    this.say(`${host.name} is killed`);
    host.process.isKilled = true;
    this.gone.add(host.name);
    this.network.troubles.push({ process: host.name, from: this.simulation.now, until: Infinity });
    this.hosts = this.hosts.filter((other) => other !== host);
  }

  private stop(host: Host): void {
    this.say(`${host.name} is stopped`);
    this.network.troubles.push({ process: host.name, from: this.simulation.now, until: Infinity });
    this.simulation.after(0, host.process, () => {
      host.stop().then(
        () => {
          this.say(`${host.name} has stopped`);
          this.gone.add(host.name);
        },
        (error: unknown) => {
          this.simulation.crash ??= error;
        },
      );
    });
    this.hosts = this.hosts.filter((other) => other !== host);
    this.stopping.push(host);
  }
  private readonly stopping: Host[] = [];

  private freeze(host: Host, ms: number, isSuspended: boolean): void {
    const { process, name } = host;
    if (process.frozenAt !== undefined) return;
    this.say(`${name} is ${isSuspended ? 'suspended with its machine' : 'frozen'} for ${ms} ms`);
    const trouble = { process: name, from: this.simulation.now, until: Infinity };
    this.network.troubles.push(trouble);
    process.freeze(isSuspended);
    this.simulation.after(ms, undefined, () => {
      trouble.until = this.simulation.now;
      if (process.isKilled || process.frozenAt === undefined) return;
      this.say(`${name} continues`);
      process.thaw();
    });
  }

  // Steps -----------------------------------------------------------------------------------------------------

  private take(step: Step): void {
    const random = new Random(`${this.seed} step ${step.number}`);
    if (step.do === 'command') {
      this.command(random, step.number);
      return;
    }
    this.incidents[step.do] = (this.incidents[step.do] ?? 0) + 1;
    const up = this.hosts.filter(({ isUp }) => isUp);
    const host = up[random.below(up.length)];
    switch (step.do) {
      case 'receiver changes': {
        const [url, mood, ms] = [random.pick(URLS), random.weighted<Mood>(MOODS), random.time(500, 20_000)];
        this.say(`${url} ${mood} for ${ms} ms`);
        this.receivers.setMood(url, mood, ms);
        return;
      }
      case 'program changes': {
        const status = random.pick(['active', 'paused'] as const);
        this.say(`program 102 becomes ${status}`);
        void this.importNetwork(status);
        return;
      }
      case 'another program writes': {
        const { category, type } = random.pick(UNUSABLE);
        const stream = `${category}-${random.uuid().replaceAll('-', '')}`;
        this.say(`another program writes ${type} to ${stream}`);
        this.unusable.add(stream);
        this.disks.log.append(stream, NO_STREAM, [{ id: random.uuid(), type, data: '{}', meta: '{}' }]);
        return;
      }
      case 'set the clock': {
        const ms = (random.chance(0.5) ? -1 : 1) * random.time(100, random.chance(0.1) ? 2 * HOUR : 20_000);
        const set = this.shape.isOneMachine ? this.hosts : [host];
        this.say(`the clock of ${set.map((one) => one?.name).join(', ')} is set by ${ms} ms`);
        if (this.shape.isOneMachine) this.clockError += ms;
        for (const one of this.shape.isOneMachine ? this.stopping : []) one.process.clockError += ms;
        for (const one of set) if (one !== undefined) one.process.clockError += ms;
        return;
      }
      case 'engine is down': {
        const [engine, ms] = [random.pick(ENGINES), random.time(200, 30_000)];
        this.say(`${engine} is down for ${ms} ms`);
        this.network.cut(engine, ms);
        for (const { name } of this.hosts)
          this.network.troubles.push({
            process: name,
            from: this.simulation.now,
            until: this.simulation.now + ms,
          });
        return;
      }
      case 'power fails': {
        this.say('power fails');
        const shapes = this.hosts.map((one) => this.shapeOf(one));
        for (const one of [...this.hosts, ...this.stopping]) if (one.isUp) this.kill(one);
        this.network.epoch += 1;
        for (const collections of this.stores) collections.loseUnsynced();
        for (const shape of shapes) this.start(shape, random.time(500, 20_000));
        return;
      }
    }
    if (host === undefined) return;
    switch (step.do) {
      case 'kill':
      case 'stop': {
        const shape = this.shapeOf(host);
        this[step.do](host);
        this.start(shape, random.time(100, 40_000));
        return;
      }
      case 'freeze':
        return this.freeze(host, longOrShort(random), false);
      case 'suspend': {
        const ms = longOrShort(random);
        for (const one of this.shape.isOneMachine ? this.hosts : [host]) this.freeze(one, ms, true);
        return;
      }
      case 'cut one off': {
        const [engine, ms] = [random.pick(ENGINES), longOrShort(random)];
        this.say(`${host.name} is cut off from ${engine} for ${ms} ms`);
        this.network.cut(engine, ms, host.name);
        this.network.troubles.push({
          process: host.name,
          from: this.simulation.now,
          until: this.simulation.now + ms,
        });
      }
    }
  }

  private async importNetwork(status: 'active' | 'paused'): Promise<void> {
    const at = new Date(EPOCH + this.simulation.now).toISOString();
    await importNetwork(
      { uuid: () => this.random.uuid() },
      new MemoryLog(this.disks.log),
      networkFile(status),
      { at },
    );
  }

  // Clients ---------------------------------------------------------------------------------------------------

  private command(random: Random, number: number): void {
    const sent = commandOf(random, this.known, number);
    if (sent === undefined) return;
    sent.sentAt = this.simulation.now;
    this.sent.push(sent);
    this.send(sent, random);
  }

  /** Sends a command to some process, again if it is not answered. */
  private send(sent: Sent, random: Random): void {
    const hosts = this.hosts.filter((host) => host.has('api'));
    if (sent.times === TRIES) {
      this.answered(sent, { is: 'unknown' });
      return;
    }
    const again = (): void =>
      void this.simulation.after(random.time(50, 5_000), undefined, () => this.send(sent, random));
    const host = hosts[random.below(hosts.length)];
    if (host === undefined) return again();
    sent.times += 1;
    let isOver = false;
    const over = (then: () => void): void => {
      if (isOver) return;
      isOver = true;
      late.cancel();
      then();
    };
    const late = this.simulation.after(PATIENCE_MS, undefined, () => over(again));
    this.simulation.after(random.time(1, 500), host.process, () => {
      const { api } = host;
      if (api === undefined) return;
      const back = (then: () => void): void =>
        void this.simulation.after(random.time(1, 500), undefined, () => over(then));
      sent.run(api).then(
        (result) => back(() => this.answered(sent, { is: 'done', result })),
        (error: unknown) => {
          const codes = codesOf(error);
          if (codes !== undefined) back(() => this.answered(sent, { is: 'refused', codes }));
          else if (error instanceof EngineUnavailable || error instanceof NoGeneration) back(again);
          else this.simulation.crash ??= error;
        },
      );
    });
  }

  private answered(sent: Sent, answer: Sent['answer']): void {
    sent.answer = answer;
    sent.answeredAt = this.simulation.now;
    this.known.learn(sent);
    this.known.messages.splice(0, Infinity, ...receivedBy(this));
    this.say(
      `${sent.name} ${JSON.stringify(sent.what)}: ${JSON.stringify(answer)}${sent.times > 1 ? ` (${sent.times} times)` : ''}`,
    );
  }

  // The end ---------------------------------------------------------------------------------------------------

  /** All faults end: everything comes to rest, also what is due later. */
  private async rest(): Promise<void> {
    this.say('all faults end');
    this.network.weather = CALM;
    this.network.heal();
    this.receivers.cheerUp();
    for (const { process } of [...this.hosts, ...this.stopping]) process.thaw();
    // Or everybody stops in the midst of it.
    if (this.random.chance(0.5)) await this.untilAtRest('after the faults');
    // What is due within days: nobody runs meanwhile, so that is no work.
    for (const hours of [26]) {
      for (const host of this.hosts) this.stop(host);
      await this.untilTrue('processes stop', () => this.stopping.every((host) => !host.isUp));
      this.hosts = [];
      this.say(`${hours} hours pass`);
      this.simulation.now += hours * HOUR;
      for (const [store] of this.stores.entries()) this.start({ roles: ROLES, store });
      await this.untilAtRest(`after ${hours} hours`);
    }
  }

  private async untilAtRest(when: string): Promise<void> {
    await this.untilTrue(
      `there is rest ${when}`,
      () => this.unrest() === undefined,
      () => this.unrest(),
    );
    // It has to stay at rest, and automations look at what was projected last.
    const heads = (): string => `${this.disks.log.head} ${this.disks.deliveries.head}`;
    const before = heads();
    // As long as a slow append takes.
    await this.runUntil(this.simulation.now + 6_000);
    if (heads() !== before || this.unrest() !== undefined) await this.untilAtRest(when);
  }

  private async untilTrue(
    what: string,
    isSo: () => boolean,
    why: () => string | undefined = () => undefined,
  ): Promise<void> {
    const deadline = this.simulation.now + REST_MS;
    while (this.simulation.now < deadline && !isSo()) await this.runUntil(this.simulation.now + 250);
    if (!isSo()) throw new Error(`within ${REST_MS / 60_000} minutes ${what}: ${why() ?? 'no'}`);
  }

  /** What is left to be done; undefined: nothing. */
  private unrest(): string | undefined {
    const waiting = this.sent.filter(({ answeredAt }) => answeredAt === Infinity);
    if (waiting.length > 0) return `${waiting.length} clients wait, the first for ${waiting[0]?.name}`;
    const { log, deliveries } = this.disks;
    for (const [at, store] of this.stores.entries()) {
      if (this.hosts.every(({ collections }) => collections !== store)) continue;
      const behind =
        store.behind(PROJECTIONS, log.head) ?? store.behind(DELIVERY_PROJECTIONS, deliveries.head);
      if (behind !== undefined) return `${behind} of store ${at} is behind the log`;
    }
    const inFlight = this.receivers.all.find(
      ({ end, process }) => end === undefined && this.hosts.some(({ name }) => name === process),
    );
    return inFlight === undefined
      ? (overdue(this) ?? owed(this))
      : `${inFlight.process} is sending ${inFlight.id}`;
  }
}

const ENGINES: readonly EngineName[] = ['log', 'deliveries', 'store', 'leases'];
const UNUSABLE = [
  { category: 'transaction', type: 'TransactionDeleted' },
  { category: 'subscription', type: 'SubscriptionCreated' },
  { category: 'voucher', type: 'VoucherRevised' },
] as const;
const MOODS = { accepts: 1, refuses: 3, hangs: 2, 'accepts, but nobody learns it': 2 } as const;

/** Of any length, or a little shorter or longer than leases. */
function longOrShort(random: Random): number {
  return random.chance(0.4) ? random.between(25_000, 50_000) : random.time(100, 25_000);
}
