import { PROJECTIONS } from '../../projections';
import { deliveryRunner } from '../../src/app/read-models';
import { Notifier } from '../../src/delivery/notifier';
import { Secrets } from '../../src/domain/subscriptions/subscription';
import { TOPICS } from '../../src/domain/topics';
import { type Engines } from '../../src/engines/open';
import { type Position } from '../../src/kernel/event';
import { type Leases } from '../../src/kernel/leases';
import { RequestJournal } from '../../src/http/idempotency';
import { VisibleWrites, WaitForReadModels } from '../../src/http/visible-writes';
import { FollowedDirectory } from '../../src/network/follower';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { automationsOver } from '../../src/processes/automations';
import { type Projection } from '../../src/projector/projection';
import { Runner } from '../../src/projector/runner';
import { type Moved, PositionWait } from '../../src/projector/wait';
import { type SourceFetcher } from '../../src/services/products/source-fetcher';
import { SourceBook } from '../../src/services/products/sources';
import { type LeaseTable, MemoryLeases } from './memory-leases';
import { type MemoryEvents, MemoryLog } from './memory-log';
import { type MemoryCollections } from './memory-collections';
import { MemoryStore } from './memory-store';
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

/** A way to run processes on machines. */
export interface Shape {
  readonly hosts: readonly HostShape[];
  /** They share its clock, are suspended together, and know who is gone. Otherwise each has a machine of its own. */
  readonly isOneMachine: boolean;
}

export function shapeOf(random: Random): Shape {
  const stores = random.chance(0.3) ? 2 : 1;
  const hosts = Array.from({ length: Math.max(stores, random.pick([1, 2, 2, 3, 3, 4])) }, (_, at) => {
    const some = ROLES.filter(() => random.chance(0.6));
    // Each store has a process that does everything.
    const roles = at < stores || some.length === 0 || random.chance(0.4) ? ROLES : some;
    return { roles, store: at % stores };
  });
  return { hosts, isOneMachine: random.chance(0.5) };
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
  /** Fetches feeds from the servers of shops. */
  readonly fetcherOf: (
    process: Process,
    parts: ApiParts,
    report: (failure: unknown) => void,
  ) => Pick<SourceFetcher, 'start' | 'stop'>;
  readonly random: Random;
  /** It runs a newer version. */
  readonly isNewer: boolean;
  /** Names where the logs are: a copy sends nothing by itself. */
  readonly installation: string;
  readonly isGone: (owner: string) => boolean;
  readonly report: (failure: unknown) => void;
}

export const SECRETS = new Secrets(Buffer.alloc(32));

/** Names the code of processes. */
export const CODE = 'world';
/** As a newer version has them, which would make other documents. */
const NEWER: readonly Projection[] = PROJECTIONS.map((one) => ({
  ...one,
  collection: { ...one.collection, version: one.collection.version + 1 },
}));
/** After a long downtime the notifier first makes dead letters of what is about to expire (ms). */
const EXPIRY_DELAY_MS = 15 * 60 * 1000;

/** How long messages are kept (ms). */
export const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

/** What handlers of commands are made of. */
export interface ApiParts {
  readonly clock: ProcessClock;
  readonly engines: Engines;
  readonly follower: FollowedDirectory;
  readonly book: SourceBook;
  readonly visible: VisibleWrites;
  readonly readModels: WaitForReadModels;
}

/** A request that may be repeated. `id` identifies it; `mayHaveRun`: nobody knows what became of it before. */
export interface KeyedRequest {
  readonly id: string;
  readonly mayHaveRun: boolean;
}

/** What a process with the role `api` offers to clients. */
export class Api {
  private readonly made = new Map<unknown, unknown>();
  private readonly journal: RequestJournal;

  constructor(private readonly parts: ApiParts) {
    const { clock, engines } = parts;
    this.journal = new RequestJournal(clock, engines.deliveries, Buffer.alloc(32));
  }

  /** Answers a request with a key once, as `src/http` does: what is `kept` of an error is its answer too. */
  async once<Result>(
    key: string,
    run: (request: KeyedRequest) => Promise<Result>,
    kept: (error: unknown) => object | undefined,
  ): Promise<{ readonly result: Result } | { readonly refused: object }> {
    const caller = { organisationId: 1, kind: 'advertiser', system: 'PRODUCTS', tokenHash: '' } as const;
    const request = this.journal.requestOf(caller, key);
    const identity = { request, content: '' };
    const begun = await this.journal.begin(identity);
    if ('status' in begun) return JSON.parse(begun.body) as { readonly result: Result };
    const end = (answer?: object): Promise<void> => {
      const body = answer && { status: 200, headers: {}, body: JSON.stringify(answer) };
      return this.journal.end(identity, body).catch(() => undefined);
    };
    try {
      const answer = { result: await run({ id: request, ...begun }) };
      await end(answer);
      return answer;
    } catch (error) {
      const refused = kept(error);
      await end(refused && { refused });
      if (refused === undefined) throw error;
      return { refused };
    }
  }

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
  /** What it consists of, for a census of what it keeps in memory. */
  readonly parts: object[] = [];
  private readonly stops: (() => Promise<unknown>)[] = [];
  private follower: FollowedDirectory | undefined;
  private isStopping = false;

  constructor(
    readonly process: Process,
    readonly shape: HostShape,
    private readonly given: HostParts,
  ) {}

  get name(): string {
    return this.process.name;
  }

  get collections(): MemoryCollections {
    return this.given.collections;
  }

  get isUp(): boolean {
    return !this.process.isKilled && !this.isStopped;
  }

  has(role: Role): boolean {
    return this.isUp && this.shape.roles.includes(role);
  }

  /** What it knows of the network is not that of a position of the log. */
  isBehind(head: Position): boolean {
    return this.follower !== undefined && this.follower.position < head;
  }

  /** Call it in the process. */
  async start(): Promise<void> {
    const { disks, isOneMachine, network, collections, random, receivers, fetcherOf } = this.given;
    const { isNewer, installation, isGone, report } = this.given;
    const { process } = this;
    const { roles } = this.shape;
    const clock = new ProcessClock(network.simulation, process, random);
    const log = network.reached('log', process, new MemoryLog(disks.log));
    const deliveries = network.reached('deliveries', process, new MemoryLog(disks.deliveries));
    const monotonic = (): number => clock.monotonic();
    const held = new MemoryLeases(disks.leases, isOneMachine ? undefined : monotonic);
    const leases = network.reached<Leases>('leases', process, held);
    const store = network.reached('store', process, new MemoryStore(collections, monotonic, isOneMachine));
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
    this.follower = follower;
    this.parts.push(follower);
    const owner = process.name;
    const wait = new PositionWait(clock, store, PROJECTIONS);
    if (roles.includes('api')) {
      const readModels = new WaitForReadModels(clock, (position, ms) => wait.until(position, ms));
      const visible = new VisibleWrites(log, readModels);
      const book = new SourceBook(clock, log, ending.signal, report);
      const parts = { clock, engines, follower, book, readModels, visible };
      const api = new Api(parts);
      const fetcher = fetcherOf(process, parts, report);
      fetcher.start();
      this.stops.push(() => fetcher.stop());
      this.parts.push(wait, api, book, fetcher);
      // As a server does: without the directory it knows nobody.
      void follower.ready.then(
        () => {
          if (!this.isStopping) this.api = api;
        },
        () => undefined,
      );
    }
    if (roles.includes('projector')) {
      const options = { clock, owner, code: isNewer ? `${CODE} 2` : CODE, report };
      // Threads of a process learn it by messages.
      const moved = (moved: Moved): void => clock.soon(() => wait.moved(moved));
      const domain = new Runner(log, store, isNewer ? NEWER : PROJECTIONS, { ...options, moved });
      const kept = { keepMs: KEEP_MS, delayMs: EXPIRY_DELAY_MS };
      for (const runner of [domain, await deliveryRunner(engines, options, kept)]) {
        this.parts.push(runner);
        this.stops.push(() => runner.stop());
        runner.start().catch(report);
      }
    }
    if (roles.includes('automation')) {
      const parts = { log, store, leases, follower };
      const runner = new AutomationRunner(parts, automationsOver(clock, store, 'https://t.example'), {
        clock,
        owner,
        report,
      });
      runner.start();
      this.parts.push(runner);
      this.stops.push(() => runner.stop());
    }
    if (roles.includes('notifier')) {
      const notifier = new Notifier(
        {
          ...{
            clock,
            log,
            leases,
            deliveries,
            secrets: SECRETS,
            keepMs: KEEP_MS,
            topics: Object.values(TOPICS),
          },
          owner: { installation, key: SECRETS.fingerprint },
          newSender: () => receivers.senderOf(process, clock),
        },
        { name: owner, code: 'world', isGone, report },
      );
      notifier.start();
      this.parts.push(notifier);
      this.stops.push(() => notifier.stop());
    }
  }

  /** Ends in an orderly way. Call it in the process. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.api = undefined;
    for (const stop of this.stops.reverse()) await stop();
    this.isStopped = true;
    // Nothing may be left that acts.
    this.process.isKilled = true;
  }
}
