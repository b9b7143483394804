import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { takeDeliveries } from '../../src/domain/deliveries/ownership';
import { MAX_SET_BACK_MS } from '../../src/kernel/leases';
import { importNetwork } from '../../src/operations/import-network';
import { resumeReadModels } from '../../src/operations/projections';
import { NOTIFIER_MEMBERS } from '../../src/runtime/lease-holder';
import { censusOf } from './census';
import { type Left, leftOf } from './checks';
import { Broken, brokenBy } from './checks/broken';
import { disabledIn, enabling, receivedBy } from './checks/messages';
import { PAUSED } from './checks/operators';
import { COPIES, LIVES, RESTS } from './checks/processes';
import { Clients } from './clients';
import { type Disks, Host, type HostShape, ROLES, SECRETS, type Shape, shapeOf } from './host';
import { imported } from './imported';
import { LeaseTable } from './memory-leases';
import { MemoryEvents, MemoryLog } from './memory-log';
import { MemoryCollections } from './memory-collections';
import { MemoryStore } from './memory-store';
import { CALM, type EngineName, Network, type Trouble } from './network';
import { Random } from './random';
import { type Received, Receivers } from './receivers';
import { EPOCH, Process, ProcessClock, type Say, Simulation, takeOver } from './simulation';
import { askEverything } from './workloads';
import { Shops } from './workloads/sources';
import { networkFile } from './workloads/network-file';

/** A step of the plan that a seed makes (`plan.ts`). */
export interface Step {
  readonly number: number;
  /** Ms from the beginning. */
  readonly at: number;
  readonly name: string;
  readonly take: (world: World, random: Random) => void;
}

function resting(what: string): Left {
  return { of: RESTS, what };
}

/** The logs as they were at a time, and all that was known of the world outside. */
interface Backup extends Pick<Disks, 'log' | 'deliveries'> {
  readonly at: number;
  readonly received: readonly Received[];
  readonly troubles: readonly Trouble[];
}

/** For how long a copy is watched that must not send anything (ms). */
const WATCHED_MS = 40_000;

/** Steps between looks at what processes keep in memory. */
const LOOK_STEPS = 40;

/**
 * How long it may take after all faults until nothing is left to do (ms): a message whose third attempt has failed
 * waits for up to 36 minutes.
 */
const REST_MS = 45 * 60_000;
/** How long nothing may happen until there is rest (ms): longer than automations wait after failures at their start. */
const QUIET_MS = 3_000;
const HOUR = 3_600_000;
/**
 * For how long after a clock was set, so that leases are over, two processes may believe that they have one (ms):
 * whoever had it learns it when it renews the lease, after a third of its time.
 */
const RENEWED_MS = NOTIFIER_MEMBERS.ms / 3 + 5_000;

/** A world of a seed: processes, engines, clients and receivers in one thread, where no real time passes. */
export class World {
  readonly simulation: Simulation;
  readonly network: Network;
  readonly receivers: Receivers;
  readonly clients: Clients;
  readonly shops: Shops;
  disks: Disks;
  readonly stores: MemoryCollections[];
  /** Streams with events of another program, which nobody can use. */
  readonly unusable = new Set<string>();
  /** Steps taken, by their names. */
  readonly taken: Record<string, number> = {};
  /** What processes keep in memory when they are at rest, by the names of collections. */
  readonly kept = new Map<string, number>();
  /** The same while everything is going on. */
  readonly peaks = new Map<string, number>();
  hosts: Host[] = [];
  private readonly stopping: Host[] = [];
  private readonly shape: Shape;
  private readonly gone = new Set<string>();
  private readonly random: Random;
  private clockError = 0;
  /**
   * By how much clocks were set: what is due at a stored time may be due so much later for who
   * reads it afterwards (N3).
   */
  private setMs = 0;
  private started = 0;
  /** Starts that wait for a machine. */
  private postponed = 0;
  private backup: Backup | undefined;
  private leftAt: { readonly asOf: string; readonly left: Left | undefined } = { asOf: '', left: undefined };

  constructor(
    readonly seed: string,
    private readonly plan: readonly Step[],
    /** Gets its story, line by line. */
    private readonly tell: ((line: string) => void) | undefined,
    /** What it begins with. */
    private readonly restored?: Backup,
  ) {
    this.random = new Random(`${seed} world`);
    const simulation = (this.simulation = new Simulation(seed));
    const say: Say = (text) => this.say(text);
    this.network = new Network(simulation, seed, say);
    this.receivers = new Receivers(simulation, seed, say);
    this.clients = new Clients(this, () => receivedBy(this));
    this.shops = new Shops(simulation, seed, this.clients);
    this.shape = shapeOf(this.random);
    this.network.storeMs = this.random.chance(0.1) ? 200 : 0;
    const appended = (): number => simulation.happened();
    const nothing = new MemoryEvents(appended);
    const { log = nothing, deliveries = nothing } = restored ?? {};
    this.disks = { log: log.copy(appended), deliveries: deliveries.copy(appended), leases: new LeaseTable() };
    const refreshedBy = this.random.chance(0.4) ? (): number => simulation.now : undefined;
    const isFlushed = !this.plan.some(({ name }) => name === 'power fails');
    this.stores = [...new Set(this.shape.hosts.map(({ store }) => store))].map(
      () => new MemoryCollections(isFlushed ? Infinity : 16, refreshedBy),
    );
  }

  /** Lets everything happen, until all is at rest. Raises what would have ended a real process, or unrest. */
  async run(): Promise<void> {
    const restore = takeOver(this.simulation, this.seed);
    try {
      await this.importNetwork('active');
      for (const shape of this.shape.hosts) this.start(shape);
      for (const step of this.plan) this.simulation.after(step.at, undefined, () => this.take(step));
      await this.runUntil((this.plan.at(-1)?.at ?? 0) + 1_000);
      // Who was away is back in the midst of everything.
      await this.runUntil(
        Math.max(...this.network.troubles.map(({ until }) => until).filter(Number.isFinite), 0),
      );
      await this.rest();
      await this.rebuild();
    } finally {
      restore();
    }
  }

  /** Both logs, at one time. */
  backUp(): void {
    this.say('both logs are backed up');
    const { disks, receivers, network, simulation } = this;
    const received = receivers.all.map((one) => ({ ...one }));
    const killed = received.map(({ process }): Trouble => {
      return { process, kind: 'killed', from: simulation.now, until: Infinity };
    });
    const [log, deliveries] = [disks.log, disks.deliveries].map((one) => one.copy(() => NaN));
    const troubles = [...network.troubles.map((one) => ({ ...one })), ...killed];
    this.backup = { log: log!, deliveries: deliveries!, at: simulation.now, received, troubles };
  }

  /** The last backup as a world of its own, which begins with it; undefined: there is none. */
  restoredWorld(): World | undefined {
    if (this.backup === undefined) return undefined;
    const world = new World(`${this.seed} restored`, [], this.tell, this.backup);
    for (const stream of this.unusable) world.unusable.add(stream);
    return world;
  }

  /** A backup is restored elsewhere: it is a copy, which sends nothing until it is told to. */
  async runRestored(): Promise<void> {
    const { at = 0, received = [], troubles = [] } = this.restored ?? {};
    const { simulation, network, receivers, disks } = this;
    simulation.now = at + 60_000;
    network.troubles.push(...troubles);
    receivers.all.push(...received);
    const restore = takeOver(this.simulation, this.seed);
    try {
      this.say('a backup is restored');
      for (const shape of this.shape.hosts) this.start(shape);
      await this.runUntil(simulation.now + WATCHED_MS);
      if (receivers.all.length > received.length) throw brokenBy(COPIES, 'a copy has sent something');
      const clock = new ProcessClock(simulation, new Process('operator', simulation), this.random);
      const owner = { installation: this.seed, key: SECRETS.fingerprint };
      await takeDeliveries(clock, new MemoryLog(disks.log), owner);
      await this.rest();
      await this.rebuild();
    } finally {
      restore();
    }
  }

  say(text: string | (() => string)): void {
    const line = (): string => (typeof text === 'string' ? text : text());
    this.tell?.(`${(this.simulation.now / 1_000).toFixed(3).padStart(9)} ${line()}`);
  }

  private take(step: Step): void {
    this.taken[step.name] = (this.taken[step.name] ?? 0) + 1;
    step.take(this, new Random(`${this.seed} step ${step.number}`));
    if (step.number % LOOK_STEPS === 0) this.look(this.peaks);
  }

  async importNetwork(status: 'active' | 'paused'): Promise<void> {
    const at = new Date(EPOCH + this.simulation.now).toISOString();
    const ids = { uuid: () => this.random.uuid() };
    await importNetwork(ids, new MemoryLog(this.disks.log), networkFile(status), { at });
  }

  // Processes -------------------------------------------------------------------------------------------------

  get up(): readonly Host[] {
    return this.hosts.filter(({ isUp }) => isUp);
  }

  /** All that share the machine of a process. */
  machineOf(host: Host): readonly Host[] {
    return this.shape.isOneMachine ? this.hosts : [host];
  }

  /** Returns the process, unless its machine has to continue first. */
  start(shape: HostShape, late = 0): Host | undefined {
    // Nothing starts on a machine that is suspended.
    if (this.shape.isOneMachine && this.hosts.some(({ process }) => process.isAsleep)) {
      this.postponed += 1;
      this.simulation.after(500, undefined, () => {
        this.postponed -= 1;
        this.start(shape, late);
      });
      return undefined;
    }
    this.started += 1;
    const name = `${this.restored === undefined ? 'p' : 'restored p'}${this.started}`;
    const process = new Process(name, this.simulation);
    process.clockError = this.clockError;
    const host = new Host(process, shape, {
      ...{ disks: this.disks, network: this.network, receivers: this.receivers },
      fetcherOf: (...given) => this.shops.fetcherIn(...given),
      installation: this.seed,
      isOneMachine: this.shape.isOneMachine,
      collections: this.stores[shape.store] ?? new MemoryCollections(),
      random: new Random(`${this.seed} ${process.name}`),
      isNewer: this.started > this.shape.hosts.length && this.random.chance(0.2),
      isGone: (owner) => this.shape.isOneMachine && this.gone.has(owner),
      report: (failure) => this.report(process, failure),
    });
    this.hosts.push(host);
    this.simulation.after(late, process, () => {
      this.say(`${host.name} starts (store ${shape.store}): ${shape.roles.join(', ')}`);
      this.simulation.happened();
      host.start().catch((error: unknown) => {
        this.simulation.crash ??= error;
      });
    });
    return host;
  }

  kill(host: Host): void {
    this.say(`${host.name} is killed`);
    host.process.isKilled = true;
    this.gone.add(host.name);
    this.ends(host, 'killed');
  }

  stop(host: Host): void {
    this.say(`${host.name} is stopped`);
    this.ends(host, 'stopped');
    this.stopping.push(host);
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
  }

  /** They do not run for a time. `isSuspended`: with their machine. */
  freeze(hosts: readonly Host[], ms: number, isSuspended: boolean): void {
    for (const { process, name } of hosts) {
      if (process.frozenAt !== undefined) continue;
      this.say(`${name} is ${isSuspended ? 'suspended with its machine' : 'frozen'} for ${ms} ms`);
      this.network.trouble(name, 'frozen', ms);
      process.freeze(isSuspended);
      this.simulation.after(ms, undefined, () => {
        if (process.isKilled || process.frozenAt === undefined) return;
        this.say(`${name} continues`);
        process.thaw();
      });
    }
  }

  /** Something happens to a process in the midst of its work: at one of its next calls. */
  atCall(host: Host, engine: EngineName, method: string, after: number, happen: () => void): void {
    const happenIfUp = (): void => {
      if (this.hosts.includes(host)) happen();
    };
    this.network.interrupt(host.name, { engine, method, after, happen: happenIfUp });
  }

  /** `isRefused`: their calls fail at once. */
  cut(engine: EngineName, ms: number, hosts: readonly Host[], isRefused: boolean): void {
    const names = hosts.map(({ name }) => name);
    this.say(`${engine} ${isRefused ? 'refuses' : 'cannot be reached by'} ${names.join(', ')} for ${ms} ms`);
    this.network.cut(engine, ms, names, isRefused);
  }

  setClock(host: Host, ms: number): void {
    const { isOneMachine } = this.shape;
    const set = isOneMachine ? [...this.hosts, ...this.stopping] : [host];
    if (set.some(({ process }) => process.isAsleep)) return;
    this.setMs += Math.abs(ms);
    this.say(`the clock of ${isOneMachine ? 'the machine' : host.name} is set by ${ms} ms`);
    for (const { process, name } of set) {
      process.clockError += ms;
      if (isOneMachine && (ms > 0 || ms <= -MAX_SET_BACK_MS)) this.network.trouble(name, 'set', RENEWED_MS);
    }
    if (isOneMachine) this.clockError += ms;
  }

  /** All machines end, and start again. */
  powerFails(late: () => number): void {
    this.say('power fails');
    const shapes = this.hosts.map(({ shape }) => shape);
    for (const one of [...this.hosts, ...this.stopping]) if (one.isUp) this.kill(one);
    this.network.epoch += 1;
    for (const collections of this.stores) collections.loseUnsynced();
    for (const shape of shapes) this.start(shape, late());
  }

  private ends(host: Host, how: 'killed' | 'stopped'): void {
    this.network.trouble(host.name, how, Infinity);
    this.hosts = this.hosts.filter((other) => other !== host);
  }

  private report(process: Process, failure: unknown): void {
    const text = failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
    this.say(`${process.name} reports ${text.split('\n')[0] ?? ''}`);
    // The last word about a bug: nothing of that kind is expected.
    if (failure instanceof TypeError || failure instanceof ReferenceError) this.simulation.crash ??= failure;
  }

  // The end ---------------------------------------------------------------------------------------------------

  /** All faults end: everything comes to rest, also what is due later. */
  private async rest(): Promise<void> {
    this.say('all faults end');
    this.network.weather = CALM;
    this.network.heal();
    this.receivers.cheerUp();
    this.shops.isCalm = this.simulation.isCalm = true;
    for (const { process } of [...this.hosts, ...this.stopping]) process.thaw();
    await this.untilSo('all have started', () => (this.postponed > 0 ? resting('one has not') : undefined));
    await this.resume();
    // Or everybody stops in the midst of it.
    if (this.random.chance(0.5)) await this.untilAtRest('after the faults');
    // What is due within days: nobody runs meanwhile, so that is no work.
    for (const host of this.hosts) this.stop(host);
    await this.untilSo('processes stop', () =>
      this.stopping.some((host) => host.isUp) ? resting('one is up') : undefined,
    );
    this.say('26 hours pass');
    this.simulation.now += 26 * HOUR;
    // Or read stores were lost meanwhile: several processes find them empty.
    const isLost = this.random.chance(0.2);
    for (const [store, collections] of this.stores.entries()) {
      if (isLost) collections.lose();
      for (let count = isLost ? 2 : 1; count > 0; count -= 1) this.start({ roles: ROLES, store });
    }
    await this.untilAtRest('after 26 hours');
    askEverything(this.clients, this.disks, this.random);
    await this.untilAtRest('after the last questions', 500);
    this.look(this.kept);
  }

  /**
   * Operators resume what they have paused, which was left alone although the log has grown,
   * and processes have started.
   */
  private async resume(): Promise<void> {
    await this.untilSo('clients are answered', () => {
      const [waiting] = this.clients.waiting;
      return waiting && resting(`a client waits for ${waiting.command.name}`);
    });
    if (this.stores.every(({ paused }) => paused.size === 0)) return;
    for (const host of [...this.up]) {
      if (this.random.chance(0.5)) continue;
      this.kill(host);
      this.start(host.shape);
    }
    // Who waited for a call learns then what is paused; and what is missing is built.
    while (this.network.busyUntil > this.simulation.now) await this.runUntil(this.network.busyUntil);
    await this.runUntil(this.simulation.now + 10_000);
    const before = this.stores.map(({ paused }) => paused);
    await this.importNetwork('paused');
    await this.importNetwork('active');
    await this.runUntil(this.simulation.now + 5_000);
    for (const [at, { paused }] of this.stores.entries())
      for (const [generation, position] of paused)
        if (position !== (before[at]?.get(generation) ?? position))
          throw brokenBy(PAUSED, `${generation} of store ${at} has gone on to ${position}`);
    for (const store of this.stores) {
      this.say('what is paused is resumed');
      await resumeReadModels({ store: new MemoryStore(store, () => 0) }, ['all']);
    }
  }

  /** Notes how many entries processes keep in memory, by the names of collections: the most of any. */
  private look(most: Map<string, number>): void {
    for (const { parts } of this.up)
      for (const [name, size] of censusOf(parts)) most.set(name, Math.max(size, most.get(name) ?? 0));
  }

  /** Projects everything once more, into a store of its own. */
  private async rebuild(): Promise<void> {
    for (const host of this.hosts) this.kill(host);
    this.stores.push(new MemoryCollections());
    // Or of what was exported and imported elsewhere.
    const { log } = this.disks;
    if (this.random.chance(0.2)) this.disks = { ...this.disks, log: await imported(log, this.random) };
    this.start({ roles: ['projector'], store: this.stores.length - 1 });
    await this.untilAtRest('of a rebuild', 0);
    this.disks = { ...this.disks, log };
  }

  /** Until nothing is left to do, and nothing has happened for a while: automations look at what was projected last. */
  private async untilAtRest(when: string, quietMs = QUIET_MS): Promise<void> {
    let [heads, since, wasLeft] = ['', 0, true];
    await this.untilSo(`there is rest ${when}`, () => {
      const now = `${this.disks.log.head} ${this.disks.deliveries.head}`;
      const left = this.unrest();
      // Who looks seldom sees at once that nothing is in the way any more.
      if (wasLeft && left === undefined) this.simulation.happened();
      wasLeft = left !== undefined;
      if (now !== heads || wasLeft) [heads, since] = [now, this.simulation.now];
      return left ?? (this.simulation.now - since < quietMs ? resting('there is no rest') : undefined);
    });
  }

  /** Lets things happen until nothing is in the way. */
  private async untilSo(what: string, why: () => Left | undefined): Promise<void> {
    const deadline = this.simulation.now + REST_MS + this.setMs;
    for (let left = why(); left !== undefined; left = why()) {
      if (this.simulation.now >= deadline)
        throw brokenBy(left.of, `${what} does not become true: ${left.what}`);
      await this.runUntil(this.simulation.now + (this.simulation.isIdle ? 1_000 : 250));
    }
  }

  private async runUntil(at: number): Promise<void> {
    await this.simulation.run(at);
    const { crash } = this.simulation;
    if (crash instanceof Broken) throw crash;
    if (crash !== undefined) throw brokenBy(LIVES, 'a process has ended by an error', crash);
  }

  /** What is left to be done; undefined: nothing. */
  private unrest(): Left | undefined {
    const [waiting] = this.clients.waiting;
    if (waiting !== undefined) return resting(`a client waits for ${waiting.command.name}`);
    // Who owns a receiver that is in order again enables it.
    const held = disabledIn(this).find(({ until }) => until === Infinity);
    if (held !== undefined && this.up.some((host) => host.has('api'))) {
      const { command, what } = enabling(this, held);
      this.clients.ask(command, what, this.random);
      return resting(`${held.receiver} is disabled`);
    }
    const { log, deliveries } = this.disks;
    for (const [at, store] of this.stores.entries()) {
      if (this.hosts.every(({ shape }) => shape.store !== at)) continue;
      const behind =
        store.behind(PROJECTIONS, log.head) ?? store.behind(DELIVERY_PROJECTIONS, deliveries.head);
      if (behind !== undefined) return resting(`${behind} of store ${at} is behind the log`);
    }
    const late = this.hosts.find((host) => host.isBehind(log.head));
    if (late !== undefined) return resting(`the directory of ${late.name} is behind the log`);
    const inFlight = this.receivers.all.find(
      ({ end, process }) => end === undefined && this.hosts.some(({ name }) => name === process),
    );
    return inFlight === undefined ? this.left() : resting(`${inFlight.process} is sending ${inFlight.id}`);
  }

  /** What the system still has to do: looked up again once anything of that may have changed. */
  private left(): Left | undefined {
    const { disks, receivers, stores, simulation } = this;
    const [writes, minutes] = [stores[0]?.writes, Math.floor(simulation.now / 60_000)];
    const asOf = [disks.log.head, disks.deliveries.head, receivers.changes, writes, minutes].join();
    if (asOf !== this.leftAt.asOf) this.leftAt = { asOf, left: leftOf(this, this.leftAt.left) };
    return this.leftAt.left;
  }
}
