import { Controller, Get, Injectable } from '@nestjs/common';
import { StreamedAnswer } from '../../http/answer';
import { ApiOperation, Produces, Roles } from '../../http/decorators';
import { FailureCounts } from '../../http/failure-filter';
import { RequestMetrics } from '../../http/request-metrics';
import { HttpParts } from '../../http/service';
import { type MetricFamily } from '../../runtime/metrics';
import { operationsById } from '../../wire/api/description';
import { text } from '../../wire/record/kinds';

/** What the process measures; who serves HTTP adds what it counts. */
@Injectable()
export abstract class Metrics {
  /** In the text format of Prometheus. */
  abstract text(): Promise<string>;
  /** Adds what is read when somebody asks. */
  abstract add(families: () => readonly MetricFamily[]): void;
}

export const metricsOperations = operationsById({
  getMetrics: {
    summary: 'Get the metrics of the process that answers',
    description:
      'In the text format of Prometheus. Processes that do not serve HTTP have theirs at `METRICS_PORT`.',
    example: {},
    answer: {
      name: 'Metrics',
      kind: text(),
      examples: {
        text:
          '# HELP affilog_unexpected_failures_total Requests that failed because of a bug.\n' +
          '# TYPE affilog_unexpected_failures_total counter\naffilog_unexpected_failures_total 0\n',
      },
    },
  },
});

/** Metrics for operators (`docs/decisions.md#x120`). */
@Controller('/ops/1.0/metrics')
@Roles(['operator'])
@Produces(['text'])
export class MetricsController {
  constructor(
    private readonly metrics: Metrics,
    private readonly options: HttpParts,
    requests: RequestMetrics,
    failures: FailureCounts,
  ) {
    metrics.add(() => requests.families);
    metrics.add(() => [
      {
        name: 'affilog_unexpected_failures_total',
        help: 'Requests that failed because of a bug.',
        type: 'counter',
        values: [{ labels: {}, value: failures.unexpectedFailures }],
      },
    ]);
  }

  @Get()
  @ApiOperation(metricsOperations.getMetrics)
  get(): StreamedAnswer {
    return new StreamedAnswer(
      async ({ headOnly }) => {
        const headers = { 'Cache-Control': 'no-store' };
        if (headOnly) return { status: 200, headers };
        return { status: 200, headers, body: once(await this.metrics.text()) };
      },
      { format: 'text', leastRate: this.options.downloadRate },
    );
  }
}

async function* once(body: string): AsyncGenerator<Buffer> {
  yield Buffer.from(body);
}
