import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DirectoryEvent } from '../../src/network/events';
import { type Engines as EngineSet, openEngines } from '../../src/engines/open';
import { toNewEvent } from '../../src/kernel/decider';
import { NO_STREAM, type Position, START } from '../../src/kernel/event';
import { type EventLog } from '../../src/kernel/event-log';
import { EVERYTHING } from '../../src/kernel/query';
import { type ReadStore } from '../../src/kernel/read-store';
import { type FeedEvent } from '../../src/domain/products/feed';
import { type OfferEvent, products } from '../../projections/products';
import { priceHistory } from '../../projections/price-history';
import { type Projection } from '../../src/projector/projection';
import { Runner, type RunnerParts } from '../../src/projector/runner';
import { waitForPosition } from '../../src/projector/wait';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { FEED_ID, streamFor } from './sample-events';

/** The read models of feeds, which these tests use. */
export const PROJECTIONS: readonly Projection[] = [products, priceHistory];

/** An event of a feed (of `FEED_ID` by default) or of the directory. */
export type SampleEvent = FeedEvent | DirectoryEvent | FeedSample;

export interface FeedSample {
  readonly feedId: number;
  readonly event: OfferEvent;
}

/** Documents by id, parsed. */
export type Documents = Readonly<Record<string, unknown>>;

interface Engines {
  readonly log: EventLog;
  readonly store: ReadStore;
}

/** A log and a read store in a temporary folder, with runners over them. */
export class World {
  /** Errors that runners have reported. */
  readonly reports: unknown[] = [];
  private readonly revisions = new Map<string, number>();
  private readonly runners: Runner[] = [];

  private constructor(
    readonly dataDir: string,
    readonly log: EventLog,
    readonly store: ReadStore,
    readonly deliveries: EngineSet['deliveries'],
    private readonly close: () => Promise<void>,
  ) {}

  /** `readStore` is the URL of another store. */
  static async open(readStore = 'sqlite:'): Promise<World> {
    const dataDir = await mkdtemp(join(tmpdir(), 'affilog-projections-'));
    const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore, threads: false });
    return new World(dataDir, engines.log, engines.store, engines.deliveries, async () => {
      await engines.close();
      await rm(dataDir, { recursive: true });
    });
  }

  /** Appends events in order, each to its stream; returns the last position. */
  async emit(...events: readonly SampleEvent[]): Promise<Position> {
    let position = START;
    for (const sample of events) {
      const { event, feedId } = 'event' in sample ? sample : { event: sample, feedId: FEED_ID };
      position = await this.append(streamFor(event, feedId), toNewEvent(event, randomUUID()));
    }
    return position;
  }

  async append(stream: string, event: ReturnType<typeof toNewEvent>): Promise<Position> {
    const appended = await this.log.append(stream, this.revisions.get(stream) ?? NO_STREAM, [event]);
    this.revisions.set(stream, appended.revision);
    return appended.position;
  }

  /** A runner that `end` stops. */
  runner(options: Partial<RunnerParts> = {}, projections = PROJECTIONS, engines: Engines = this): Runner {
    const runner = new Runner(engines.log, engines.store, projections, {
      clock: SYSTEM_CLOCK,
      owner: `runner ${this.runners.length}`,
      code: 'test',
      report: (error) => this.reports.push(error),
      ...options,
    });
    this.runners.push(runner);
    return runner;
  }

  /** Waits until all events are visible to queries. */
  async settled(projections: readonly Projection[] = PROJECTIONS): Promise<void> {
    const inTime = await waitForPosition(
      SYSTEM_CLOCK,
      this.store,
      projections,
      await this.log.head(),
      30_000,
    );
    expect(inTime).toBe(true);
  }

  /** All documents of the live generation or of the given one. */
  async documents(collection: string, generation?: number): Promise<Documents> {
    const target = generation === undefined ? { collection } : { collection, generation };
    const documents: Record<string, unknown> = {};
    for await (const page of this.store.scan(target, EVERYTHING)) {
      for (const { id, body } of page) documents[id] = JSON.parse(body);
    }
    return documents;
  }

  async stopRunners(): Promise<void> {
    for (const runner of this.runners) await runner.stop();
  }

  async end(): Promise<void> {
    await this.stopRunners();
    await this.close();
  }
}
