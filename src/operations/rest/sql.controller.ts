import { Controller, Get, Inject, type OnModuleDestroy } from '@nestjs/common';
import { StreamedAnswer } from '../../http/answer';
import { ApiOperation, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { HttpParts } from '../../http/service';
import { httpFaults, notResponding } from '../../wire/api/errors';
import { operationsById } from '../../wire/api/description';
import { type Keys, type KeyTable, TEXT } from '../../wire/keys/keys';
import { text } from '../../wire/record/kinds';
import { CommandError, UsageError } from '../command-error';
import { type AnswerSql, type SqlAnswer, SnapshotUnderWay } from '../sql/remote';

const sqlKeys = {
  q: { type: TEXT, required: true, description: 'A statement that reads: `SELECT …`' },
} as const satisfies KeyTable;

export const sqlOperations = operationsById({
  askSql: {
    summary: 'Ask in SQL',
    description:
      'Over the log and the read models, whose tables `docs/sql.md` describes: a line of JSON for each row. The ' +
      'statement may run for 30 seconds; its answer has at most 10,000 rows and 8,000,000 characters. Nothing but these ' +
      'tables can be read, and nothing can be written. Two statements at a time.',
    example: { q: 'SELECT type, count(*) AS events FROM events GROUP BY type ORDER BY events DESC' },
    answer: {
      name: 'SqlRows',
      kind: text(),
      examples: { ndjson: '{"type":"ProductListed","events":1200}\n{"type":"FeedImported","events":4}\n' },
    },
    sends: {
      'X-As-Of':
        'As of which positions the tables are: `log=…, vouchers=…`, those of read models after that of the log',
    },
  },
});

/** The container's token for an `AnswerSql`. */
export const SQL = Symbol('sql');

/** Each is a process. */
const MOST_STATEMENTS = 2;

/** SQL for analysts (`docs/decisions.md#x116`): what `affilog sql` answers. */
@Controller('/ops/1.0/sql')
@Roles(['operator'])
@Produces(['ndjson'])
export class SqlController implements OnModuleDestroy {
  private readonly asked = new Set<AbortController>();

  constructor(
    @Inject(SQL) private readonly answer: AnswerSql,
    private readonly options: HttpParts,
  ) {}

  /** A stop does not wait for statements. */
  onModuleDestroy(): void {
    for (const one of this.asked) one.abort(notResponding());
  }

  @Get()
  @ApiOperation(sqlOperations.askSql)
  ask(@MatrixKeys(sqlKeys) { q }: Keys<typeof sqlKeys>): StreamedAnswer {
    const details = { format: 'ndjson', leastRate: this.options.downloadRate } as const;
    return new StreamedAnswer(async ({ headOnly, signal }) => {
      if (headOnly) return { status: 200, headers: {} };
      const { asOf, text: rows } = await this.answered(q, signal);
      const positions = [...asOf].map(([name, position]) => `${name}=${position}`);
      const headers = { 'Cache-Control': 'no-store', 'X-As-Of': positions.join(', ') };
      return { status: 200, headers, body: piecesOf(rows) };
    }, details);
  }

  /** A statement ends with its client. */
  private async answered(statement: string, gone: AbortSignal): Promise<SqlAnswer> {
    gone.throwIfAborted();
    if (this.asked.size >= MOST_STATEMENTS) throw httpFaults.overloaded(undefined, { retryAfter: 1 });
    const one = new AbortController();
    gone.addEventListener('abort', () => one.abort(gone.reason));
    this.asked.add(one);
    try {
      return await this.answer(statement, one.signal);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      if (error instanceof SnapshotUnderWay) throw httpFaults.overloaded(error.message, { retryAfter: 1 });
      throw error instanceof CommandError ? notResponding(error.message) : error;
    } finally {
      this.asked.delete(one);
    }
  }
}

const PIECE = 65_536;

async function* piecesOf(rows: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(rows);
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}
