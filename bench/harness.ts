import { setImmediate as turn } from 'node:timers/promises';
import { join } from 'node:path';
import { type FeedText, writeBody } from './products';

/** A measurement and its reference: one line of the report. */
export interface Figure {
  readonly figure: string;
  /** Our result, in `unit`. */
  readonly measured: number;
  /** The result of the bare engine in the same run, or a fixed bound, in `unit`. */
  readonly limit: number;
  /** Our result relative to the limit: 1 is equal, more is better, for every unit. */
  readonly ratio: number;
  /** The minimum ratio aimed at; null if there is none. */
  readonly goal: number | null;
  readonly unit: string;
}

/** Shared by all figures of a run. */
export class Bench {
  private readonly bodies = new Map<FeedText, Promise<string>>();

  constructor(
    /** Number of products. */
    readonly count: number,
    /** For all files; removed after the run. */
    readonly folder: string,
    /** For data that is kept after the run and used by the next one. */
    readonly kept?: string,
  ) {}

  /** A file with the body of a post of all products, written once, before any measurement. */
  async body(format: FeedText): Promise<string> {
    const path = join(this.folder, `body.${format}`);
    let written = this.bodies.get(format);
    if (written === undefined) {
      written = writeBody(path, format, this.count).then(() => path);
      this.bodies.set(format, written);
    }
    return written;
  }
}

/** Runs one round, from 0, and returns the measured milliseconds. */
export type Side = (round: number) => Promise<number> | number;

const ROUNDS = 3;
/** Products per round: a small run has a single round. */
const A_ROUND = 1000;

/** Number of rounds for a number of products. */
export function roundsOf(count: number): number {
  return Math.min(ROUNDS, Math.ceil(count / A_ROUND));
}

/**
 * Products per second of both sides, each the median of up to three alternating rounds, so that other load on the
 * machine affects both.
 */
export async function compareRates(
  {
    figure,
    goal,
    count,
    rounds = roundsOf(count),
  }: {
    readonly figure: string;
    readonly goal: number | null;
    readonly count: number;
    readonly rounds?: number;
  },
  ours: Side,
  bare: Side,
): Promise<Figure> {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let round = 0; round < rounds; round += 1) {
    times.ours.push(await ours(round));
    times.bare.push(await bare(round));
    // Bare work may have blocked this process for seconds: connections that the server has closed meanwhile are noticed
    // now.
    await turn();
  }
  const measured = (count / quantile(times.ours, 0.5)) * 1000;
  const limit = (count / quantile(times.bare, 0.5)) * 1000;
  return { figure, measured, limit, ratio: measured / limit, goal, unit: 'products/s' };
}

/** Median and 99th percentile of answer times, ours against bare (ms). */
export function compareLatencies(
  figure: string,
  ours: readonly number[],
  bare: readonly number[],
): readonly Figure[] {
  return (
    [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const
  ).map(([name, share]) => {
    const measured = quantile(ours, share);
    const limit = quantile(bare, share);
    return { figure: `${figure} ${name}`, measured, limit, ratio: limit / measured, goal: null, unit: 'ms' };
  });
}

/** A quantile: the value that this share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** Duration in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
