import { type Engines, type EngineTicket, joinEngines } from '../engines/open';
import { FollowedDirectory } from '../network/follower';
import { type Clock, SYSTEM_CLOCK } from '../runtime/clock';
import { type Report } from '../runtime/failure-report';

/** Open resources, closed in reverse order. */
export class OpenedResources {
  private readonly closings: (() => Promise<void>)[] = [];
  private closing: Promise<void> = Promise.resolve();

  /** `signal`: once it has aborted, `push` raises its reason. */
  constructor(private readonly signal?: AbortSignal) {}

  /** Adds a resource; it is closed before those added earlier. */
  push(close: () => Promise<void>): void {
    this.closings.push(close);
    this.signal?.throwIfAborted();
  }

  /** Closes what is open, then raises what failed: several failures as an `AggregateError`. Calls run one by one. */
  close(): Promise<void> {
    return (this.closing = this.closing.catch(() => undefined).then(() => this.closeAll()));
  }

  private async closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.closings.splice(0).reverse())
      await close().catch((error: unknown) => failures.push(error));
    raise(failures);
  }
}

export function raise(failures: readonly unknown[]): void {
  if (failures.length === 0) return;
  if (failures.length === 1) throw failures[0];
  throw new AggregateError(failures, failures.map(String).join('; '));
}

/**
 * Opens several resources. On failure closes those already open, reports failures to close, and raises the original
 * one. When `signal` aborts, those already open are closed at once, so that whatever waits for them ends; its reason is
 * raised when everything has been closed.
 */
export async function openAll<Result>(
  open: (opened: OpenedResources) => Promise<Result>,
  report: Report,
  signal?: AbortSignal,
): Promise<Result> {
  const opened = new OpenedResources(signal);
  const abort = (): void => {
    opened.close().catch(report);
  };
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    const result = await open(opened);
    signal?.throwIfAborted();
    return result;
  } catch (error) {
    await opened.close().catch(report);
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** What a process and each of its threads work with. */
export interface BaseParts {
  readonly engines: Engines;
  readonly follower: FollowedDirectory;
  /** Closes the engines too. */
  close(): Promise<void>;
}

/** `report` receives failures after which it continues. */
export function baseOver(clock: Clock, engines: Engines, report?: (failure: string) => void): BaseParts {
  const ending = new AbortController();
  const follower = new FollowedDirectory(clock, engines.log, ending.signal, undefined, undefined, report);
  return {
    engines,
    follower,
    close: async () => {
      ending.abort();
      await follower.ended;
      await engines.close();
    },
  };
}

/** The same in a worker thread. */
export async function joinBase(ticket: EngineTicket): Promise<BaseParts> {
  return baseOver(SYSTEM_CLOCK, await joinEngines(ticket));
}
