import { Controller, Get, type OnModuleDestroy } from '@nestjs/common';
import { StreamedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { HttpOptions } from '../../http/service';
import { EventLog } from '../../kernel/event-log';
import { httpFaults } from '../../wire/api/errors';
import { operationsById } from '../../wire/api/description';
import { BOOLEAN, INTEGER, type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { atLeast } from '../../wire/keys/pages';
import { text } from '../../wire/record/kinds';
import { UsageError } from '../command-error';
import { type LogRange, maskedLines, rangeOf } from '../log-events';
import { operatorFaults as fault } from './operator-service';

const logKeys = {
  type: { type: TEXT, multiple: true, description: 'Types of events' },
  stream: { type: TEXT, multiple: true, description: 'Beginnings of the names of streams' },
  since: { type: TEXT, description: 'Events from this time on, by the `at` of their data' },
  until: { type: TEXT, description: 'Events up to this time' },
  after: { type: TEXT, description: 'Events after this position: that of the last line that was read' },
  upTo: { type: TEXT, description: 'Events up to this position; by default the end of the log' },
  limit: { type: INTEGER, description: 'Number of events; by default all' },
  follow: { type: BOOLEAN, description: 'Waits for new events at the end of the log' },
} as const satisfies KeyTable;

export const logOperations = operationsById({
  readLog: {
    summary: 'Read the event log',
    description:
      'A line of JSON for each event, described at `/1.0/schemas/events/`; what is secret is left out. Any read can be ' +
      'continued after the position of its last line.',
    example: { type: ['ProductListed'], limit: 3 },
    answer: { name: 'LogLines', kind: text() },
  },
});

/** Reads of the log at a time, of all clients: each may last long, and holds some megabytes. */
const MOST_READS = 16;

/** The event log for analysts (`docs/decisions.md#x107`). */
@Controller('/ops/1.0/log')
@Roles(['operator'])
@Produces(['ndjson'])
export class LogController implements OnModuleDestroy {
  private readonly reads = new Set<AbortController>();

  constructor(
    private readonly log: EventLog,
    private readonly options: HttpOptions,
  ) {}

  /** A stop does not wait for those who follow. */
  onModuleDestroy(): void {
    for (const read of this.reads) read.abort();
  }

  @Get()
  @ApiOperation(logOperations.readLog)
  read(@MatrixKeys(logKeys) { limit, follow, ...texts }: Keys<typeof logKeys>): StreamedAnswer {
    const range = rangeIn(texts);
    const most = limit === undefined ? Infinity : atLeast(1, 'limit', limit, fault.unusable);
    const isLive = follow === true;
    const details = { format: 'ndjson', isLive, leastRate: this.options.downloadRate } as const;
    return new StreamedAnswer(async ({ headOnly }) => {
      if (headOnly) return { status: 200, headers: {} };
      if (this.reads.size >= MOST_READS) throw httpFaults.overloaded(undefined, { retryAfter: 1 });
      const read = new AbortController();
      this.reads.add(read);
      const body = maskedLines(this.log, range, most, { signal: read.signal, follow: isLive });
      const ended = (): void => {
        read.abort();
        this.reads.delete(read);
      };
      // Proxies such as nginx buffer answers; a follower waits for lines.
      const headers = {
        'Cache-Control': 'no-store',
        ...(isLive ? { 'X-Accel-Buffering': 'no' } : {}),
      };
      return { status: 200, headers, body, ended };
    }, details);
  }
}

function rangeIn(texts: Parameters<typeof rangeOf>[0]): LogRange {
  try {
    return rangeOf(texts);
  } catch (error) {
    throw error instanceof UsageError ? fault.unusable(error.message) : error;
  }
}
