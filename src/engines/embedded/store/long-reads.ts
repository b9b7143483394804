import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { type Filter, type Found } from '../../../kernel/query';
import { type SnapshotBatch } from '../../../kernel/read-store';
import { type GenerationFile } from './generation-file';
import { Scan } from './scan';

/** Bytes of a WAL beyond which no long read begins: it would keep the WAL from being reused. */
const MOST_WAL = 128 * 1024 * 1024;
/** How long (ms) a long read waits for that at most, and how often it looks. */
const WAIT = { most: 30_000, look: 50 } as const;

/**
 * Every document that matches, from one snapshot, after the samples if some are asked for. After `mostMs` what is left of
 * both is copied, and the snapshot ended, however slowly they are taken.
 */
export async function* snapshot(
  generation: GenerationFile,
  filter: Filter,
  samplesOf: string | undefined,
  mostMs: number,
): AsyncGenerator<SnapshotBatch> {
  await roomInWal(generation);
  const scan = new Scan(generation, filter);
  const timer = setTimeout(() => scan.copy(), mostMs).unref();
  try {
    const facts = { total: scan.count(), checkpoint: scan.checkpoint };
    if (samplesOf !== undefined) scan.sample(samplesOf);
    for (let batch = await scan.nextSamples(); batch !== undefined; batch = await scan.nextSamples())
      yield { found: [], samples: batch, ...facts };
    yield { found: [], ...facts };
    for (let found = await scan.next(); found !== undefined; found = await scan.next()) {
      yield { found, ...facts };
      await turn();
    }
  } finally {
    clearTimeout(timer);
    scan.end();
    relieve(generation);
  }
}

/** Every document that matches, from one snapshot after the other, each `mostMs` long at most. */
export async function* resumedScan(
  generation: GenerationFile,
  filter: Filter,
  mostMs: number,
): AsyncGenerator<readonly Found[]> {
  let after: string | undefined;
  for (let isWhole = false; !isWhole;) {
    await roomInWal(generation);
    const scan = new Scan(generation, filter, after);
    let hasExpired = false;
    const timer = setTimeout(() => {
      hasExpired = true;
      scan.end();
    }, mostMs).unref();
    try {
      for (let found = await scan.next(); found !== undefined; found = await scan.next()) {
        after = found.at(-1)?.id;
        yield found;
        await turn();
      }
      isWhole = !hasExpired;
    } finally {
      clearTimeout(timer);
      scan.end();
    }
  }
  relieve(generation);
}

/**
 * Waits until a WAL that has become large is used from its start again, for a while: that takes a moment without a long
 * read, which there would never be if a new one always began before the last one ended.
 */
async function roomInWal(generation: GenerationFile): Promise<void> {
  const deadline = performance.now() + WAIT.most;
  while (generation.walBytes() > MOST_WAL && performance.now() < deadline) {
    generation.truncateWal();
    if (generation.walBytes() <= MOST_WAL) return;
    await pause(WAIT.look);
  }
}

/** What a long read has let grow, nobody might write to for long. */
function relieve(generation: GenerationFile): void {
  if (generation.walBytes() > MOST_WAL) generation.truncateWal();
}
