import { join } from 'node:path';
import { type BodyFormat } from '../src/wire/format';
import { writeBody } from './products';

/** What was measured, against what: one line of the report. */
export interface Figure {
  readonly figure: string;
  /** Of our code, in `unit`. */
  readonly measured: number;
  /** What the bare engine reached in the same run, or the bound that is set, in `unit`. */
  readonly limit: number;
  /** How near to the limit: 1 is as good as it, more is better, whether much or little of the unit is good. */
  readonly ratio: number;
  /** The least ratio aimed at; null where there is none. */
  readonly goal: number | null;
  readonly unit: string;
}

/** What all figures of a run share. */
export class Bench {
  private readonly bodies = new Map<BodyFormat, Promise<string>>();

  constructor(
    /** Products to measure with. */
    readonly count: number,
    /** For everything that is written; removed after the run. */
    readonly folder: string,
  ) {}

  /** A file with the body of a post of all products: written once, before anything is timed. */
  async body(format: BodyFormat): Promise<string> {
    const path = join(this.folder, `body.${format}`);
    let written = this.bodies.get(format);
    if (written === undefined) {
      written = writeBody(path, format, this.count).then(() => path);
      this.bodies.set(format, written);
    }
    return written;
  }
}

/** Does the work of one round, from 0, and returns the milliseconds of it that count. */
export type Side = (round: number) => Promise<number> | number;

const ROUNDS = 3;
/** A round for each so many products: a small run is a trial. */
const A_ROUND = 1000;

/** How many rounds are measured with so many products. */
export function roundsOf(count: number): number {
  return Math.min(ROUNDS, Math.ceil(count / A_ROUND));
}

/**
 * Products per second of both sides, each the median of up to three rounds that took turns: whatever else the machine
 * does meanwhile falls on both.
 */
export async function compareRates(
  { figure, goal, count }: { readonly figure: string; readonly goal: number; readonly count: number },
  ours: Side,
  bare: Side,
): Promise<Figure> {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  const rounds = roundsOf(count);
  for (let round = 0; round < rounds; round += 1) {
    times.ours.push(await ours(round));
    times.bare.push(await bare(round));
  }
  const measured = (count / quantile(times.ours, 0.5)) * 1000;
  const limit = (count / quantile(times.bare, 0.5)) * 1000;
  return { figure, measured, limit, ratio: measured / limit, goal, unit: 'products/s' };
}

/** Median and 99th percentile of how long answers took, ours against bare (ms). */
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

/** The value that such a share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** Milliseconds that some work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
