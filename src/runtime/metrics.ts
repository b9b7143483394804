import { types } from 'node:util';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/**
 * What the threads of a process count (`docs/decisions.md#x120`), in memory that all of them share: a count is an
 * atomic addition, whoever is scraped reads it, and nothing is lost with a thread. Each metric and each value of a
 * label is declared here, so their number has a bound.
 */
type Labels = Readonly<Record<string, readonly string[]>>;

type ValuesOf<L extends Labels> = { readonly [Name in keyof L]: L[Name][number] };

/** A metric with its values, as prom-client writes it. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Of the parts of a histogram. */
  readonly metricName?: string;
}

/**
 * The name of the environment data: the memory, or `off` for benchmarks that compare with a
 * program that counts nothing.
 */
const ENVIRONMENT = 'affilog.metrics';

export const COUNTS_NOTHING = getEnvironmentData(ENVIRONMENT) === 'off';

const declared: { readonly family: MetricFamily }[] = [];
let size = 0;
let memory: BigInt64Array | undefined;

/** Threads inherit environment data from those that start them. */
function slots(): BigInt64Array {
  if (memory !== undefined) return memory;
  const shared: unknown = getEnvironmentData(ENVIRONMENT);
  const isUsable = types.isSharedArrayBuffer(shared) && shared.byteLength === 8 * size;
  const buffer = isUsable ? shared : new SharedArrayBuffer(8 * size);
  if (isMainThread && !isUsable && !COUNTS_NOTHING) setEnvironmentData(ENVIRONMENT, buffer);
  return (memory = new BigInt64Array(buffer));
}

function add(slot: number, by: number): void {
  Atomics.add(slots(), slot, BigInt(Math.round(by)));
}

function valueAt(slot: number): number {
  return Number(Atomics.load(slots(), slot));
}

abstract class Metric<L extends Labels> {
  private readonly first: number;
  private readonly names: readonly (readonly [name: string, values: readonly string[]])[];

  constructor(
    readonly name: string,
    readonly help: string,
    labels: L,
    /** Slots for each combination of labels. */
    private readonly width: number,
  ) {
    this.names = Object.entries(labels);
    this.first = size;
    size += width * this.combinations.length;
    declared.push(this);
  }

  abstract get family(): MetricFamily;

  /** The first slot of a combination; a value that is not declared counts as the last one, `other`. */
  protected slotOf(values: ValuesOf<L>): number {
    let at = 0;
    for (const [name, known] of this.names) {
      const index = known.indexOf(values[name] ?? '');
      at = at * known.length + (index === -1 ? known.length - 1 : index);
    }
    return this.first + at * this.width;
  }

  /** All combinations, in the order of their slots. */
  protected get combinations(): readonly ValuesOf<L>[] {
    let all: Readonly<Record<string, string>>[] = [{}];
    for (const [name, known] of this.names)
      all = all.flatMap((one) => known.map((value) => ({ ...one, [name]: value })));
    return all as ValuesOf<L>[];
  }
}

class Counter<const L extends Labels> extends Metric<L> {
  constructor(name: string, help: string, labels: L) {
    super(name, help, labels, 1);
  }

  add(by: number, values: ValuesOf<L>): void {
    if (!COUNTS_NOTHING) add(this.slotOf(values), by);
  }

  get family(): MetricFamily {
    const { name, help } = this;
    const values = this.combinations.map((labels) => ({ labels, value: valueAt(this.slotOf(labels)) }));
    return { name, help, type: 'counter', values };
  }
}

/** The sum of a histogram is stored as an integer of millionths. */
const MILLIONTH = 1e6;

class Histogram<const L extends Labels> extends Metric<L> {
  constructor(
    name: string,
    help: string,
    labels: L,
    private readonly bounds: readonly number[],
  ) {
    super(name, help, labels, bounds.length + 2);
  }

  observe(value: number, values: ValuesOf<L>): void {
    if (COUNTS_NOTHING) return;
    const first = this.slotOf(values);
    add(first + bucketOf(value, this.bounds), 1);
    add(first + this.bounds.length + 1, value * MILLIONTH);
  }

  get family(): MetricFamily {
    const { name, help, bounds } = this;
    const values = this.combinations.flatMap((labels) => {
      const first = this.slotOf(labels);
      const counts = Array.from({ length: bounds.length + 1 }, (_, at) => valueAt(first + at));
      const sum = valueAt(first + bounds.length + 1) / MILLIONTH;
      return histogramValues(name, labels, { bounds, counts, sum });
    });
    return { name, help, type: 'histogram', values };
  }
}

/** The bucket of a value: that of the first bound that it does not exceed, or the last one. */
export function bucketOf(value: number, bounds: readonly number[]): number {
  let at = 0;
  while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
  return at;
}

/** A histogram as it is written; `counts` are those of each bucket alone. */
export function histogramValues(
  name: string,
  labels: MetricValue['labels'],
  {
    bounds,
    counts,
    sum,
  }: { readonly bounds: readonly number[]; readonly counts: readonly number[]; readonly sum: number },
): readonly MetricValue[] {
  let total = 0;
  const buckets = [...bounds, '+Inf'].map((le, at) => {
    total += counts[at] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ];
}

/** All that threads have counted. */
export function countedByThreads(): readonly MetricFamily[] {
  return declared.map(({ family }) => family);
}

/** Seconds, from a write that the disk acknowledges at once to a time-out. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Seconds of what takes longer: loads, and messages on their way. */
const LONG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600] as const;

/** The event log, the delivery log, and leases in EventStoreDB. */
const LOGS = ['events', 'deliveries', 'leases'] as const;
export type CountedLog = (typeof LOGS)[number];

/** Those that this program stores itself. */
const OWN_LOGS = ['events', 'deliveries'] as const;

export const APPENDS = new Counter('affilog_appends_total', 'Appends by result.', {
  log: LOGS,
  result: ['ok', 'conflict', 'refused', 'unavailable'],
});

export const APPENDED_EVENTS = new Counter('affilog_appended_events_total', 'Events appended.', {
  log: LOGS,
});

export const APPEND_SECONDS = new Histogram(
  'affilog_append_duration_seconds',
  'Time until an append is durable, as who appends sees it.',
  { log: LOGS },
  SECONDS,
);

export const APPEND_RETRIES = new Counter(
  'affilog_append_retries_total',
  'Attempts of appends to EventStoreDB that were repeated.',
  { log: LOGS },
);

export const COMMIT_SECONDS = new Histogram(
  'affilog_commit_duration_seconds',
  'Time of a group commit of an embedded log, with the wait for the disk.',
  { log: OWN_LOGS },
  SECONDS,
);

export const COMMIT_APPENDS = new Histogram(
  'affilog_commit_appends',
  'Appends that share a group commit.',
  { log: OWN_LOGS },
  [1, 2, 4, 8, 16, 32, 64, 128, 256],
);

export const FSYNC_SECONDS = new Histogram(
  'affilog_fsync_duration_seconds',
  'Time until the disk has acknowledged a group commit.',
  { log: OWN_LOGS },
  SECONDS,
);

export const PROJECTED_EVENTS = new Counter(
  'affilog_projected_events_total',
  'Events that the projector of this process has applied.',
  { log: OWN_LOGS },
);

export const LOADS = new Counter('affilog_loads_total', 'Loads of products by result.', {
  result: ['stored', 'dry_run', 'refused', 'failed'],
});

export const LOADED_PRODUCTS = new Counter(
  'affilog_loaded_products_total',
  'Products of loads and deletions by what became of them.',
  { change: ['listed', 'revised', 'repriced', 'unchanged', 'delisted', 'refused'] },
);

export const LOAD_SECONDS = new Histogram(
  'affilog_load_duration_seconds',
  'Time of a load from its first byte until it is durable.',
  {},
  LONG_SECONDS,
);

/** Names of automations, as operators see them. */
const AUTOMATIONS: readonly string[] = [
  'ends of pending periods',
  'transactions of programs that are no longer paused',
  'vouchers that time alone shows or hides',
  'changes of feeds with subscribers',
  'claims that could not be validated',
  'automatic approvals of claims',
  'approved claims that become transactions',
  'posts of claims that were interrupted',
  'other',
];

export const AUTOMATION_ACTIONS = new Counter(
  'affilog_automation_actions_total',
  'Commands that automations have executed, by result.',
  {
    automation: AUTOMATIONS,
    result: ['done', 'failed'],
  },
);

export const MATCHED_MESSAGES = new Counter(
  'affilog_matched_messages_total',
  'Messages that the matcher has made.',
  {},
);

export const DELIVERY_OUTCOMES = new Counter(
  'affilog_delivery_outcomes_total',
  'Outcomes of messages: failed ones are tried again, dead ones are not.',
  { outcome: ['delivered', 'failed', 'dead', 'cancelled'] },
);

export const ATTEMPT_SECONDS = new Histogram(
  'affilog_delivery_attempt_duration_seconds',
  'Time of an attempt to send a message, by how it ended; aborted ones do not count as attempts.',
  { end: ['success', 'gone', 'timeout', 'failure', 'aborted'] },
  SECONDS,
);

export const DELIVERY_SECONDS = new Histogram(
  'affilog_delivery_latency_seconds',
  'Time from the change that a message is about until it was delivered, without backfills and redeliveries.',
  {},
  LONG_SECONDS,
);

// Before any thread is started, which would otherwise have memory of its own.
slots();
