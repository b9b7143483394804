import { PROJECTIONS } from '../../projections';
import { ReadModels } from '../../src/app/read-models';
import { Notifier } from '../../src/delivery/notifier';
import { Secrets } from '../../src/domain/subscriptions/secrets';
import { TOPICS } from '../../src/domain/topics';
import { VoucherWriter } from '../../src/domain/vouchers/voucher-writer';
import { type Engines } from '../../src/engines/open';
import { type Leases } from '../../src/kernel/leases';
import { VisibleWrites, WaitForReadModels } from '../../src/http/visible-writes';
import { FollowedDirectory } from '../../src/network/follower';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { automationsOver } from '../../src/processes/automations';
import { OrderSearch } from '../../src/processes/order-search';
import { PositionWait } from '../../src/projector/wait';
import { Claims, CreateClaimsHandler, RuleOnClaimsHandler } from '../../src/services/claims/commands';
import {
  ChangeSubscriptionHandler,
  CreateSubscriptionHandler,
  PostedContents,
  ReplaceSubscriptionHandler,
  Subscriptions,
} from '../../src/services/subscriptions/commands';
import { RedeliverMessageHandler } from '../../src/services/subscriptions/deliveries.commands';
import { DeliveryQueries } from '../../src/services/subscriptions/deliveries.queries';
import { TestReceiverHandler } from '../../src/services/subscriptions/receivers.commands';
import { type SubscriptionParts } from '../../src/services/subscriptions/subscription.queries';
import {
  MoveTransactionsHandler,
  ReportTransactionsHandler,
  Transactions,
} from '../../src/services/transactions/commands';
import { PostVoucherHandler, WithdrawVoucherHandler } from '../../src/services/vouchers/commands';
import { LeaseRegister, type LeaseTable, MemoryLeases, SeenLeases } from './memory-leases';
import { type MemoryEvents, MemoryLog } from './memory-log';
import { type MemoryCollections, MemoryStore } from './memory-store';
import { type Network } from './network';
import { type Random } from './random';
import { type Receivers } from './receivers';
import { type Process, ProcessClock } from './simulation';

/** What processes do (docs/architecture.md, Processes). */
export type Role = 'api' | 'projector' | 'automation' | 'notifier';
export const ROLES: readonly Role[] = ['api', 'projector', 'automation', 'notifier'];

/** What remains when processes end. */
export interface Disks {
  readonly log: MemoryEvents;
  readonly deliveries: MemoryEvents;
  /** Those of one machine count by its clock, others do not. */
  readonly leases: LeaseTable | LeaseRegister;
}

interface HostParts {
  readonly disks: Disks;
  /** The read store of this process: others may have one of their own. */
  readonly collections: MemoryCollections;
  readonly network: Network;
  readonly receivers: Receivers;
  readonly random: Random;
  readonly isGone: (owner: string) => boolean;
  readonly report: (failure: unknown) => void;
}

const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

/** The commands that clients have executed. */
export type Api = ReturnType<typeof apiOver>;

/** A process with some roles, composed as `src/app/threads` composes threads. */
export class Host {
  api: Api | undefined;
  isStopped = false;
  private readonly stops: (() => Promise<unknown>)[] = [];

  constructor(
    readonly process: Process,
    readonly roles: readonly Role[],
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
    return this.isUp && this.roles.includes(role);
  }

  /** Call it in the process. */
  async start(): Promise<void> {
    const { disks, network, collections, random, receivers, isGone, report } = this.parts;
    const { process, roles } = this;
    const clock = new ProcessClock(network.simulation, process, random);
    const log = network.reached('log', process, new MemoryLog(disks.log));
    const deliveries = network.reached('deliveries', process, new MemoryLog(disks.deliveries));
    const held =
      disks.leases instanceof LeaseRegister
        ? new SeenLeases(disks.leases, clock)
        : new MemoryLeases(disks.leases);
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
    if (roles.includes('api')) this.api = apiOver(clock, engines, follower);
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

function apiOver(clock: ProcessClock, { log, store, deliveries }: Engines, follower: FollowedDirectory) {
  const wait = new PositionWait(clock, store, PROJECTIONS);
  const readModels = new WaitForReadModels(clock, (position, ms) => wait.until(position, ms));
  const visible = new VisibleWrites(log, readModels);
  const transactions = new Transactions(clock, log, visible);
  const vouchers = new VoucherWriter(clock, log);
  const subscriptions = new Subscriptions(log, visible, clock);
  const parts: SubscriptionParts = {
    deliveries,
    secrets: () => new Secrets(Buffer.alloc(32)),
    testWithin: 0,
    keepMs: KEEP_MS,
    addressProblem: () => undefined,
    convertible: () => undefined,
  };
  const contents = new PostedContents(follower, parts);
  const queries = new DeliveryQueries(store, log, parts, clock);
  const claims = new Claims(log, OrderSearch.over(clock, store), follower, clock, visible);
  return {
    follower,
    fileClaims: new CreateClaimsHandler(claims),
    ruleOnClaims: new RuleOnClaimsHandler(claims),
    report: new ReportTransactionsHandler(transactions, follower, clock),
    move: new MoveTransactionsHandler(transactions, follower, clock),
    postVoucher: new PostVoucherHandler(vouchers, visible, follower, clock),
    withdrawVoucher: new WithdrawVoucherHandler(vouchers, visible, follower, clock),
    createSubscription: new CreateSubscriptionHandler(subscriptions, contents),
    replaceSubscription: new ReplaceSubscriptionHandler(subscriptions, contents),
    changeSubscription: new ChangeSubscriptionHandler(subscriptions),
    testReceiver: new TestReceiverHandler(subscriptions, store, parts),
    redeliver: new RedeliverMessageHandler(subscriptions, queries, log),
  };
}
