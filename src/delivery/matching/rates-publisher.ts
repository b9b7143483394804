import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { execute } from '../../kernel/decider';
import { EngineUnavailable, type EventLog } from '../../kernel/event-log';
import { repeatEvery, Troubles } from '../../runtime/leader';
import { RATES_ID, ratesDecider } from './rates';
import { ratesIn, UnusableRates } from './rates-file';

export interface RatesPublisherOptions {
  /** Receives failures; the rates that are known remain. */
  readonly report?: (failure: unknown) => void;
  /** Epoch ms. */
  readonly now?: () => number;
  /** How often to look whether there is something to do (ms). */
  readonly lookMs?: number;
}

/** How often the source is read (ms); a file also when it has changed. */
const INTERVAL_MS = 60 * 60 * 1000;
/** When it is read again after a failure (ms). */
const RETRY_MS = 5 * 60 * 1000;
const LOOK_MS = 5_000;
/** What can be in trouble. */
const SOURCE = 'rates';
/** Limits of one reading. */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The source cannot be read, or its content cannot be used. The message has neither path nor host. */
class RatesFailure extends Error {
  override readonly name = 'RatesFailure';
  constructor(why: string, cause?: unknown) {
    super(`the exchange rates cannot be read: ${why}; those that are known remain`, { cause });
  }
}

/**
 * Reads exchange rates from a file or URL, and appends them to the log when they have changed (`docs/decisions.md#n12`). Several
 * processes may do so at once.
 */
export class RatesPublisher {
  private readonly stopping = new AbortController();
  private readonly now: () => number;
  private readonly lookMs: number;
  private running: Promise<void> | undefined;
  /** The next reading, epoch ms. */
  private due = -Infinity;
  /** The file as it was last read. */
  private version: string | undefined;
  /** The digest of what was published, or was known already. */
  private published: string | undefined;
  private readonly troubles: Troubles;

  /** `source`: a path or an http(s) URL. */
  constructor(
    private readonly log: EventLog,
    private readonly source: string,
    { report = () => undefined, now = Date.now, lookMs = LOOK_MS }: RatesPublisherOptions = {},
  ) {
    [this.now, this.lookMs] = [now, lookMs];
    this.troubles = new Troubles(report);
  }

  start(): void {
    this.running ??= repeatEvery(this.lookMs, this.stopping.signal, () => this.turn());
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Why the rates may be out of date; undefined while they are not. */
  trouble(): string | undefined {
    return this.troubles.reason;
  }

  /** Reads the source if that is due, and publishes what has changed. Reports failures. */
  async turn(): Promise<void> {
    const now = this.now();
    const version = await this.currentVersion();
    // A clock that was set back must not keep it from being read.
    const isDue = now >= this.due || this.due - now > INTERVAL_MS || version !== this.version;
    if (!isDue) return;
    [this.due, this.version] = [now + INTERVAL_MS, version];
    try {
      await this.publish(now);
      this.troubles.clear(SOURCE);
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.due = error instanceof EngineUnavailable ? now : now + RETRY_MS;
      const failure = error instanceof UnusableRates ? new RatesFailure(error.message) : error;
      this.troubles.add(SOURCE, failure, failure instanceof Error ? failure.message : String(failure));
    }
  }

  private async publish(now: number): Promise<void> {
    const bytes = await this.read();
    const digest = createHash('sha256').update(bytes).digest('hex');
    // Parsing the rates of all days takes half a second.
    if (digest === this.published) return;
    const read = ratesIn(bytes);
    const at = new Date(now).toISOString();
    if (Date.parse(read.day) > now + DAY_MS) throw new RatesFailure(`they are of ${read.day}, a day to come`);
    const { state } = await execute(this.log, ratesDecider, RATES_ID, { at, ...read });
    if (state !== undefined && state.day > read.day)
      throw new RatesFailure(`they are of ${read.day}, and those of ${state.day} are known`);
    this.published = digest;
  }

  private async read(): Promise<Buffer> {
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      return await bytesOf(
        isUrl(this.source) ? await fetched(this.source, signal) : await opened(this.source, signal),
      );
    } catch (error) {
      if (error instanceof RatesFailure) throw error;
      throw new RatesFailure(signal.aborted ? 'it takes too long' : 'see the log', error);
    }
  }

  /** Differs when the file has changed; undefined for a URL. */
  private async currentVersion(): Promise<string | undefined> {
    if (isUrl(this.source)) return undefined;
    const found = await stat(this.source).catch(() => undefined);
    return found && `${found.mtimeMs} ${found.size} ${found.ino}`;
  }
}

function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

async function fetched(url: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const { status, body } = await fetch(url, { signal });
  if (status !== 200 || body === null) throw new RatesFailure(`the server answers ${status}`);
  return body;
}

async function opened(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  // Opening a pipe would wait for its writer.
  if (!(await stat(path)).isFile()) throw new RatesFailure('NOTIFY_RATES is not a file');
  return createReadStream(path, { signal });
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new RatesFailure(`they are longer than ${MAX_BYTES} bytes`);
    read.push(chunk);
  }
  return Buffer.concat(read);
}
