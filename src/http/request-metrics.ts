import { type ServerResponse } from 'node:http';
import { type FastifyRequest } from 'fastify';
import { bucketOf, COUNTS_NOTHING, histogramValues, type MetricFamily } from '../runtime/metrics';
import { whenOver } from './send-stream';
import { CORS_METHODS } from './adapter';

/** Seconds, from a search to a download. */
const BOUNDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60] as const;

/** The value of a label that has no other. */
const NONE = 'none';

const METHODS: ReadonlySet<string> = new Set([...CORS_METHODS, 'OPTIONS']);

interface RequestLabels {
  /** The first of its modules, such as `products`. */
  readonly service: string;
  readonly method: string;
  /** As it was registered: `/1.0/vouchers/:id`. So the values are as few as the routes. */
  readonly route: string;
}

interface Counted {
  readonly labels: RequestLabels;
  readonly statuses: Map<string, number>;
  readonly counts: number[];
  seconds: number;
}

/** Counts requests by service, method, route and class of status, and how long they take. */
export class RequestMetrics {
  private readonly counted = new Map<string, Counted>();

  /** Counts a request once it is over. */
  begin(request: FastifyRequest, response: ServerResponse): void {
    if (COUNTS_NOTHING) return;
    const began = performance.now();
    whenOver(response, () => this.count(request, response, (performance.now() - began) / 1000));
  }

  get families(): readonly MetricFamily[] {
    const all = [...this.counted.values()];
    return [
      {
        name: 'affilog_http_requests_total',
        help: 'Requests by class of status; none: the client has disconnected before.',
        type: 'counter',
        values: all.flatMap(({ labels, statuses }) =>
          Array.from(statuses, ([status, value]) => ({ labels: { ...labels, status }, value })),
        ),
      },
      {
        name: 'affilog_http_request_duration_seconds',
        help: 'Time from the headers of a request until its answer was sent.',
        type: 'histogram',
        values: all.flatMap(({ labels, counts, seconds: sum }) =>
          histogramValues(
            'affilog_http_request_duration_seconds',
            { ...labels },
            { bounds: BOUNDS, counts, sum },
          ),
        ),
      },
    ];
  }

  private count(request: FastifyRequest, response: ServerResponse, seconds: number): void {
    const one = this.countedOf(request);
    // Until headers are sent, Node.js reports 200.
    const status = response.headersSent ? `${Math.floor(response.statusCode / 100)}xx` : NONE;
    one.statuses.set(status, (one.statuses.get(status) ?? 0) + 1);
    const bucket = bucketOf(seconds, BOUNDS);
    one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
    one.seconds += seconds;
  }

  private countedOf({ method: sent, routeOptions, service }: FastifyRequest): Counted {
    const { url: route = NONE } = routeOptions;
    const method = METHODS.has(sent) ? sent : 'other';
    const key = `${method} ${route} ${service?.namespace}`;
    let one = this.counted.get(key);
    if (one === undefined) {
      const labels = { service: service?.modules[0] ?? NONE, method, route };
      one = { labels, statuses: new Map(), counts: Array<number>(BOUNDS.length + 1).fill(0), seconds: 0 };
      this.counted.set(key, one);
    }
    return one;
  }
}
