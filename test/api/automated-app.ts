import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { AutomationRunner } from '../../src/processes/automation-runner';
import { type NetworkFile } from '../../src/network/network-file';
import { LeaseFile } from '../../src/engines/embedded/leases';
import { transactionAutomations } from '../../src/processes/automations';
import { type TransactionFacts } from '../../src/domain/transactions/transaction-facts';
import { TestApp } from '../support/app';
import { TestClock } from '../support/clock';
import { smallNetwork } from '../support/small-network';
import { eventsOfTransaction, report, sale } from '../support/transactions';

export const [MINUTE, DAY] = [60_000, 86_400_000] as const;
const AT = Date.parse('2026-01-05T08:00:00.000Z');
export const NETWORK = smallNetwork();
const [shop] = NETWORK.programs;

export type Program = NonNullable<NetworkFile['programs']>[number];

/**
 * An application with a clock that the test sets, and automations that run when the test says so. Tests of a file share
 * it: each has the network as it was at first, and begins when the last one has ended.
 */
export class AutomatedApp {
  wall = AT;
  monotonic = 5_000;
  /** When the test began. */
  began = AT;
  /** What runners have reported. */
  reports: string[] = [];
  runner: AutomationRunner;
  private readonly runners: AutomationRunner[] = [];
  /**
   * With the clock of the test, whatever the log is: those in EventStoreDB measure time themselves
   * (`test/program/eventstoredb/leases.test.ts`).
   */
  private readonly leases: LeaseFile;

  private constructor(readonly app: TestApp) {
    this.leases = new LeaseFile(join(app.folder, 'alive', 'leases.sqlite'));
    this.runner = this.newRunner();
  }

  static async start(): Promise<AutomatedApp> {
    let now = (): number => AT;
    const started = new AutomatedApp(await TestApp.start({ network: NETWORK, now: () => new Date(now()) }));
    now = () => started.wall;
    return started;
  }

  /** Call it before each test. */
  async begin(): Promise<void> {
    await this.end();
    this.began = this.wall;
    this.reports = [];
    // What a file does not name stays as it is.
    const programs = NETWORK.programs.map((one) => ({ status: 'active', invoicesPaid: false, ...one }));
    await this.app.import({ ...NETWORK, programs }, { prune: true });
    this.runner = this.newRunner();
  }

  private async end(): Promise<void> {
    for (const runner of this.runners.splice(0)) await runner.stop();
  }

  /** Like one of another process. */
  newRunner({ owner = randomUUID(), follower = this.app.follower } = {}): AutomationRunner {
    const { leases } = this;
    const { log, store } = this.app.engines;
    const runner = new AutomationRunner({ log, store, leases, follower }, transactionAutomations, {
      owner,
      clock: new TestClock(
        () => this.wall,
        () => this.monotonic,
      ),
      report: (failure) => this.reports.push(String(failure)),
    });
    this.runners.push(runner);
    return runner;
  }

  /** Lets time pass. */
  pass(milliseconds: number): void {
    this.wall += milliseconds;
    this.monotonic += milliseconds;
  }

  /** Does everything that is due now. */
  async automate(runner = this.runner): Promise<void> {
    await this.app.settled();
    for (const automation of transactionAutomations) while (await runner.turn(automation));
  }

  /** Reports a sale; returns its id. */
  async reported(order: Partial<TransactionFacts> = {}): Promise<string> {
    const { engines, follower } = this.app;
    return await report(engines.log, follower.directory, new Date(this.wall), sale(order));
  }

  /** Changes program 31, for example its status. */
  async program(change: Partial<Program>): Promise<void> {
    await this.app.import({ programs: [{ ...shop, ...change }] });
  }

  /** Names of the events of a transaction in order. */
  async journey(id: string): Promise<readonly string[]> {
    const events = await eventsOfTransaction(this.app.engines.log, id);
    return events.map(({ type }) => type.replace('Transaction', ''));
  }

  /** The data of its last event. */
  async last(id: string): Promise<object> {
    return (await eventsOfTransaction(this.app.engines.log, id)).at(-1)?.data ?? {};
  }

  async close(): Promise<void> {
    await this.end();
    await this.leases.close();
    await this.app.close();
  }
}
