import { PROJECTIONS } from '../../projections';
import { ReadModels } from '../../src/app/read-models';
import { Notifier } from '../../src/delivery/notifier';
import { Secrets } from '../../src/domain/subscriptions/secrets';
import { TOPICS } from '../../src/domain/topics';
import { type Engines } from '../../src/engines/open';
import { type Leases } from '../../src/kernel/leases';
import { VisibleWrites, WaitForReadModels } from '../../src/http/visible-writes';
import { FollowedDirectory } from '../../src/network/follower';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { automationsOver } from '../../src/processes/automations';
import { PositionWait } from '../../src/projector/wait';
import { type LeaseTable, MemoryLeases } from './memory-leases';
import { type MemoryEvents, MemoryLog } from './memory-log';
import { type MemoryCollections, MemoryStore } from './memory-store';
import { type Network } from './network';
import { type Random } from './random';
import { type Receivers } from './receivers';
import { type Process, ProcessClock } from './simulation';

/** What processes do (docs/architecture.md, Processes). */
export type Role = 'api' | 'projector' | 'automation' | 'notifier';
export const ROLES: readonly Role[] = ['api', 'projector', 'automation', 'notifier'];

/** What a process is: its roles, and which read store it has. */
export interface HostShape {
  readonly roles: readonly Role[];
  readonly store: number;
}

/** What remains when processes end. */
export interface Disks {
  readonly log: MemoryEvents;
  readonly deliveries: MemoryEvents;
  readonly leases: LeaseTable;
}

interface HostParts {
  readonly disks: Disks;
  /** Leases count by its clock. */
  readonly isOneMachine: boolean;
  /** The read store of this process: others may have one of their own. */
  readonly collections: MemoryCollections;
  readonly network: Network;
  readonly receivers: Receivers;
  readonly random: Random;
  readonly isGone: (owner: string) => boolean;
  readonly report: (failure: unknown) => void;
}

/** How long messages are kept (ms). */
export const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

/** What handlers of commands are made of. */
export interface ApiParts {
  readonly clock: ProcessClock;
  readonly engines: Engines;
  readonly follower: FollowedDirectory;
  readonly visible: VisibleWrites;
}

/** What a process with the role `api` offers to clients. */
export class Api {
  private readonly made = new Map<unknown, unknown>();

  constructor(private readonly parts: ApiParts) {}

  /** The handlers of a service, which are made once in a process. */
  of<Handlers>(make: (parts: ApiParts) => Handlers): Handlers {
    if (!this.made.has(make)) this.made.set(make, make(this.parts));
    return this.made.get(make) as Handlers;
  }
}

/** A process with some roles, composed as `src/app/threads` composes threads. */
export class Host {
  api: Api | undefined;
  isStopped = false;
  private readonly stops: (() => Promise<unknown>)[] = [];

  constructor(
    readonly process: Process,
    readonly shape: HostShape,
    private readonly parts: HostParts,
  ) {}

  get name(): string {
    return this.process.name;
  }

  get collections(): MemoryCollections {
    return this.parts.collections;
  }

  get isUp(): boolean {
    return !this.process.isKilled && !this.isStopped;
  }

  has(role: Role): boolean {
    return this.isUp && this.shape.roles.includes(role);
  }

  /** Call it in the process. */
  async start(): Promise<void> {
    const { disks, isOneMachine, network, collections, random, receivers, isGone, report } = this.parts;
    const { process } = this;
    const { roles } = this.shape;
    const clock = new ProcessClock(network.simulation, process, random);
    const log = network.reached('log', process, new MemoryLog(disks.log));
    const deliveries = network.reached('deliveries', process, new MemoryLog(disks.deliveries));
    const held = isOneMachine ? new MemoryLeases(disks.leases) : new MemoryLeases(disks.leases, clock);
    const leases = network.reached<Leases>('leases', process, held);
    const store = network.reached('store', process, new MemoryStore(collections, () => clock.monotonic()));
    const engines: Engines = {
      log,
      store,
      leases,
      deliveries: async () => deliveries,
      keepIndex: async () => undefined,
      ticket: () => {
        throw new Error('there are no threads');
      },
      close: async () => undefined,
    };
    const ending = new AbortController();
    const follower = new FollowedDirectory(clock, log, ending.signal, undefined, undefined, report);
    this.stops.push(async () => {
      ending.abort();
      await follower.ended;
    });
    const owner = process.name;
    if (roles.includes('api')) {
      const wait = new PositionWait(clock, store, PROJECTIONS);
      const readModels = new WaitForReadModels(clock, (position, ms) => wait.until(position, ms));
      this.api = new Api({ clock, engines, follower, visible: new VisibleWrites(log, readModels) });
    }
    if (roles.includes('projector')) {
      const models = await ReadModels.open(engines, { clock, owner, code: 'world', report }, KEEP_MS);
      this.stops.push(() => models.stop());
      models.start().catch(report);
    }
    if (roles.includes('automation')) {
      const parts = { log, store, leases, follower };
      const runner = new AutomationRunner(parts, automationsOver(clock, store), { clock, owner, report });
      runner.start();
      this.stops.push(() => runner.stop());
    }
    if (roles.includes('notifier')) {
      const secrets = new Secrets(Buffer.alloc(32));
      const notifier = new Notifier(
        {
          ...{ clock, log, leases, deliveries, secrets, keepMs: KEEP_MS, topics: Object.values(TOPICS) },
          owner: { installation: 'world', key: secrets.fingerprint },
          newSender: () => receivers.senderOf(process, clock),
        },
        { name: owner, code: 'world', isGone, report },
      );
      notifier.start();
      this.stops.push(() => notifier.stop());
    }
  }

  /** Ends in an orderly way. Call it in the process. */
  async stop(): Promise<void> {
    this.api = undefined;
    for (const stop of this.stops.reverse()) await stop();
    this.isStopped = true;
    // Nothing may be left that acts.
    this.process.isKilled = true;
  }
}
