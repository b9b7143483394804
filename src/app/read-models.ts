import { DELIVERY_PROJECTIONS, PROJECTIONS } from '../../projections';
import { type Engines } from '../engines/open';
import { DELIVERY_STREAMS } from '../domain/deliveries/delivery-events';
import { IDEMPOTENCY_STREAMS } from '../http/idempotency';
import { type ExpiryParts } from '../projector/expiry';
import { type RebuildProgress } from '../projector/rebuild';
import { Runner, type RunnerParts } from '../projector/runner';
import { DELIVERY_LOG } from '../projector/projection';

type ReadModelParts = Omit<RunnerParts, 'source' | 'expiry' | 'moved'>;

/** A runner for the read models of the delivery log. */
export async function deliveryRunner(
  { store, deliveries }: Pick<Engines, 'store' | 'deliveries'>,
  parts: ReadModelParts,
  kept: Pick<ExpiryParts, 'keepMs' | 'delayMs'>,
): Promise<Runner> {
  const log = await deliveries();
  const expireLog = (before: Date): Promise<void> =>
    log.expire(before, [...DELIVERY_STREAMS, ...IDEMPOTENCY_STREAMS]);
  const own = { source: DELIVERY_LOG, expiry: { ...kept, expireLog } };
  return new Runner(log, store, DELIVERY_PROJECTIONS, { ...parts, ...own });
}

/** After a long downtime the notifier first makes dead letters of what is about to expire (ms). */
const DELAY_MS = 15 * 60 * 1000;

/**
 * People read what has become of messages: it may be a little later than what they have posted, which waits for no long
 * batch of it.
 */
const IN_BACKGROUND = { restMs: 200, batchSize: 500 } as const;

/** Keeps the read models of both logs up to date, and the index of the log. */
export class ReadModels {
  private readonly stopping = new AbortController();
  private indexing: Promise<void> | undefined;

  private constructor(
    private readonly domain: Runner,
    private readonly deliveries: Runner,
    private readonly keepIndex: (signal: AbortSignal) => Promise<void>,
    private readonly report: (failure: unknown) => void,
  ) {}

  static async open(
    engines: Engines,
    { moved, ...parts }: ReadModelParts & Required<Pick<RunnerParts, 'moved'>>,
    keepMs: number,
  ): Promise<ReadModels> {
    const domain = new Runner(engines.log, engines.store, PROJECTIONS, { ...parts, moved });
    const background = { ...parts, ...IN_BACKGROUND };
    const deliveries = await deliveryRunner(engines, background, { keepMs, delayMs: DELAY_MS });
    const report = (failure: unknown): void => parts.report?.(failure);
    return new ReadModels(domain, deliveries, engines.keepIndex, report);
  }

  /** Resolves once those of the domain can be read, or when stopped. */
  async start(): Promise<void> {
    this.indexing ??= this.keepIndex(this.stopping.signal).catch(this.report);
    this.deliveries.start().catch(this.report);
    await this.domain.start();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.domain.stop(), this.deliveries.stop(), this.indexing]);
  }

  trouble(): string | undefined {
    const deliveries = this.deliveries.trouble();
    return this.domain.trouble() ?? (deliveries === undefined ? undefined : `deliveries: ${deliveries}`);
  }

  progress(): RebuildProgress | undefined {
    return this.domain.progress();
  }
}
