import { setImmediate as yieldToEventLoop, setTimeout as pause } from 'node:timers/promises';
import { type Filter, type Found } from '../../../kernel/query';
import { type SnapshotBatch } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { Scan } from './scan';

/** No long read starts while the WAL is larger (bytes), as it would block the reuse of the WAL. */
const MAX_WAL = 128 * 1024 * 1024;
/** How long (ms) a long read waits for a smaller WAL, and how often it checks. */
const WAIT_MS = { longest: 30_000, poll: 50 } as const;

/**
 * All matching documents from one snapshot, after the samples if requested. After `maxMs` the rest of both is copied and the
 * snapshot ends, however slow the consumer is.
 */
export async function* snapshot(
  generation: GenerationFile,
  filter: Filter,
  samplesOf: string | undefined,
  maxMs: number,
): AsyncGenerator<SnapshotBatch> {
  await waitForSmallWal(generation);
  const scan = new Scan(generation, filter);
  const timer = setTimeout(() => scan.copy(), maxMs).unref();
  try {
    const summary = { total: scan.count(), checkpoint: scan.checkpoint };
    if (samplesOf !== undefined) scan.sample(samplesOf);
    for (let batch = await scan.nextSamples(); batch !== undefined; batch = await scan.nextSamples())
      yield { found: [], samples: batch, ...summary };
    yield { found: [], ...summary };
    for (let found = await scan.next(); found !== undefined; found = await scan.next()) {
      yield { found, ...summary };
      await yieldToEventLoop();
    }
  } finally {
    clearTimeout(timer);
    scan.end();
    shrinkWal(generation);
  }
}

/** All matching documents from a sequence of snapshots, each at most `maxMs` long. */
export async function* resumedScan(
  generation: GenerationFile,
  filter: Filter,
  maxMs: number,
): AsyncGenerator<readonly Found[]> {
  let after: string | undefined;
  for (let isWhole = false; !isWhole;) {
    await waitForSmallWal(generation);
    const scan = new Scan(generation, filter, after);
    let hasExpired = false;
    const timer = setTimeout(() => {
      hasExpired = true;
      scan.end();
    }, maxMs).unref();
    try {
      for (let found = await scan.next(); found !== undefined; found = await scan.next()) {
        after = found.at(-1)?.id;
        yield found;
        await yieldToEventLoop();
      }
      isWhole = !hasExpired;
    } finally {
      clearTimeout(timer);
      scan.end();
    }
  }
  shrinkWal(generation);
}

/**
 * Waits, up to a limit, until a large WAL is truncated. That needs a moment without long reads, which would never come if a
 * new one always started before the last one ended.
 */
async function waitForSmallWal(generation: GenerationFile): Promise<void> {
  const deadline = performance.now() + WAIT_MS.longest;
  while (generation.walBytes() > MAX_WAL && performance.now() < deadline) {
    generation.truncateWal();
    if (generation.walBytes() <= MAX_WAL) return;
    await pause(WAIT_MS.poll);
  }
}

/** Truncates a WAL that grew during a long read: without this it might stay large, as the next write may be far off. */
function shrinkWal(generation: GenerationFile): void {
  if (generation.walBytes() > MAX_WAL) generation.truncateWal();
}
