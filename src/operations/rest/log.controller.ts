import { Controller, Get, type OnModuleDestroy, Param, Req, Res } from '@nestjs/common';
import { QueuedAnswer, StreamedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { HttpParts } from '../../http/service';
import { EventLog } from '../../kernel/event-log';
import { Clock } from '../../runtime/clock';
import { httpFaults } from '../../wire/api/errors';
import { operationsById, type Shape } from '../../wire/api/description';
import { BOOLEAN, INTEGER, type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { atLeast } from '../../wire/keys/pages';
import { integer, text } from '../../wire/record/kinds';
import { listOf, record } from '../../wire/record/record';
import { checkLog, logStats, TooManyEvents } from '../inspect-log';
import { maskedLines, rangeOf, withEmptyLines } from '../log-events';
import { operatorFaults as fault, OneAtATime } from './operator-service';
import { type FastifyReply, type FastifyRequest } from 'fastify';
import { sendIndex } from '../../http/describe';
import { CONTENT_TYPES } from '../../wire/api/format';
import { eventSchemas } from '../events/schemas';

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

const count = record(
  {
    name: { kind: text(), description: 'Type, category of streams, or day' },
    events: { kind: integer(), description: 'Number of events' },
    bytes: { kind: integer(), description: 'Bytes of their data and meta' },
  },
  { name: 'LogCount' },
);

const counts = (description: string) => ({ kind: listOf(count, { each: 'count' }), description });

const STATS = {
  name: 'LogStats',
  kind: record({
    total: { kind: count, description: 'All events' },
    types: counts('By type, the most bytes first'),
    categories: counts('By what the names of streams begin with, the most bytes first'),
    days: counts('By day, in order'),
  }),
} as const satisfies Shape;

const CHECK = {
  name: 'LogCheck',
  kind: record({
    events: { kind: integer(), description: 'Events that were checked' },
    problems: {
      kind: listOf(
        record({
          type: { kind: text(), description: 'Type of the events' },
          problem: { kind: text(), description: 'What is wrong' },
          events: { kind: integer(), description: 'How many of them have it' },
          position: { kind: text(), description: 'Position of the first one' },
          stream: { kind: text(), description: 'Its stream' },
          id: { kind: text(), description: 'Its id' },
        }),
        { each: 'problem' },
      ),
      description: 'One for each type and problem',
    },
  }),
} as const satisfies Shape;

export const logOperations = operationsById({
  readLog: {
    summary: 'Read the event log',
    description:
      'A line of JSON for each event, described at `/1.0/schemas/events/`; what is secret is left out. Any read can be ' +
      'continued after the position of its last line. Whoever follows gets an empty line after 15 seconds without events.',
    example: { type: ['ProductListed'], limit: 3 },
    answer: {
      name: 'LogLines',
      kind: text(),
      examples: {
        ndjson:
          '{"position":"0000000000000001024","stream":"program-101","revision":0,"id":"1b4e28ba-2fa1-5d32-883f-0016d3cca427",' +
          '"type":"ProgramPaused","data":{"id":101,"at":"2026-11-01T09:30:00.000Z"},"meta":{}}\n',
      },
    },
  },
  getLogStats: {
    summary: 'Count the events of the log',
    description: 'Reads the whole log, of at most a million events; one request at a time.',
    answer: STATS,
  },
  checkLog: {
    summary: 'Check the events of the log',
    description:
      'Positions, revisions, ids, and shapes. Reads the whole log, of at most a million events; one request at a time.',
    answer: CHECK,
  },
});

/** Reads of the log at a time, of all clients: each may last long, and holds some megabytes. */
const MOST_READS = 16;

/** Events that are counted or checked beside other requests: that needs memory for each of them, and seconds. */
const MOST_EVENTS = 1_000_000;

/** The event log for analysts (`docs/decisions.md#x107`). */
@Controller('/ops/1.0/log')
@Roles(['operator'])
@Produces(['ndjson'])
export class LogController implements OnModuleDestroy {
  private readonly reads = new Set<AbortController>();
  private readonly inspections = new OneAtATime();

  constructor(
    private readonly log: EventLog,
    private readonly clock: Clock,
    private readonly options: HttpParts,
  ) {}

  /** A stop does not wait for reads of the log. */
  onModuleDestroy(): void {
    this.inspections.end();
    for (const read of this.reads) read.abort();
  }

  @Get()
  @ApiOperation(logOperations.readLog)
  read(@MatrixKeys(logKeys) { limit, follow, ...texts }: Keys<typeof logKeys>): StreamedAnswer {
    const range = rangeOf(texts);
    const most = limit === undefined ? Infinity : atLeast(1, 'limit', limit, fault.unusable);
    const isLive = follow === true;
    const details = { format: 'ndjson', isLive, leastRate: this.options.downloadRate } as const;
    return new StreamedAnswer(async ({ headOnly }) => {
      if (headOnly) return { status: 200, headers: {} };
      if (this.reads.size >= MOST_READS) throw httpFaults.overloaded(undefined, { retryAfter: 1 });
      const read = new AbortController();
      this.reads.add(read);
      const lines = maskedLines(this.log, range, most, { signal: read.signal, follow: isLive });
      const body = isLive ? withEmptyLines(lines, this.clock) : lines;
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

  @Get('stats')
  @ApiOperation(logOperations.getLogStats)
  @Produces(['json'])
  stats(): QueuedAnswer {
    return QueuedAnswer.of(logOperations.getLogStats, ({ signal }) =>
      this.inspecting('affilog log stats', signal, (options) => logStats(this.log, options)),
    );
  }

  @Get('check')
  @ApiOperation(logOperations.checkLog)
  @Produces(['json'])
  check(): QueuedAnswer {
    return QueuedAnswer.of(logOperations.checkLog, ({ signal }) =>
      this.inspecting('affilog log check', signal, (options) => checkLog(this.log, options)),
    );
  }

  private async inspecting<T>(
    command: string,
    gone: AbortSignal | undefined,
    inspect: (options: { readonly signal: AbortSignal; readonly most: number }) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.inspections.run(gone, (signal) => inspect({ signal, most: MOST_EVENTS }));
    } catch (error) {
      throw error instanceof TooManyEvents ? fault.unusable(`${error.message}: run \`${command}\``) : error;
    }
  }
}

/** The JSON Schemas of events (`docs/decisions.md#x104`); needs no token. */
@Controller('/1.0/schemas/events')
export class EventSchemasController {
  private written: ReadonlyMap<string, string> | undefined;

  @Get()
  index(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    const types = [...this.schemas().keys()];
    sendIndex(
      request,
      reply,
      types.map((type) => [`1.0/schemas/events/${type}.json`, type]),
    );
  }

  @Get(':type')
  schema(@Param('type') type: string, @Res({ passthrough: true }) reply: FastifyReply): string {
    const schema = this.schemas().get(type);
    if (schema === undefined)
      throw httpFaults.notFound(`no event is called ${type}: /1.0/schemas/events/ lists all types`);
    reply.type(CONTENT_TYPES.json).header('X-Content-Type-Options', 'nosniff');
    return schema;
  }

  private schemas(): ReadonlyMap<string, string> {
    this.written ??= new Map([...eventSchemas()].map(([type, schema]) => [type, JSON.stringify(schema)]));
    return this.written;
  }
}
