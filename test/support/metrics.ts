import { type MetricFamily } from '../../src/runtime/metrics';

/** A scrape, read: the value of each series, and the labels of each metric. */
export class Scraped {
  private readonly values = new Map<string, number>();
  /** The names of its labels, by the name of a series. */
  readonly labels = new Map<string, Set<string>>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      // A metric without any series exists too.
      const [, declared, type] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? [];
      if (declared !== undefined)
        for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
          this.labelsOf(declared + suffix);
      const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text]) => [
        key,
        text,
      ]);
      for (const [key = ''] of pairs) this.labelsOf(name).add(key);
      this.values.set(keyOf(name, Object.fromEntries(pairs) as Record<string, string>), Number(value));
    }
  }

  /** The value of a series; undefined if there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    return this.values.get(keyOf(name, labels));
  }

  /** The number of series of all metrics. */
  get size(): number {
    return this.values.size;
  }

  private labelsOf(name: string): Set<string> {
    const known = this.labels.get(name) ?? new Set();
    this.labels.set(name, known);
    return known;
  }
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return `${name} ${pairs.sort().join(' ')}`;
}

/**
 * Returns how much the series of a metric of this process have grown since this was called: by the values of their
 * labels, without those that have not. Of a histogram, what it has counted.
 */
export function growthOf(metric: { readonly family: MetricFamily }): () => Readonly<Record<string, number>> {
  const counts = (): readonly (readonly [string, number])[] =>
    metric.family.values
      .filter(({ metricName = '_count' }) => metricName.endsWith('_count'))
      .map(({ labels, value }) => [Object.values(labels).join(' '), value]);
  const before = new Map(counts());
  return () => {
    const grown = counts().map(([labels, value]) => [labels, value - (before.get(labels) ?? 0)] as const);
    return Object.fromEntries(grown.filter(([, growth]) => growth > 0));
  };
}
