import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { conversionFaults as fault } from '../../domain/conversion-faults';
import {
  postedTransactions,
  postedTransitions,
  type TransactionResult,
} from '../../domain/transactions/fields';
import { Answer, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { Faults } from '../../kernel/fault';
import { type Caller } from '../../network/organisations';
import { errorsAsJson } from '../../wire/api/errors';
import { type BodyFormat } from '../../wire/api/format';
import { isPosted } from '../../wire/api/posted';
import { type ListBody, type PostedItems, postedItems } from '../../wire/api/posted-list';
import { postedFromJson } from '../../wire/json/read';
import { type Keys } from '../../wire/keys/keys';
import { ignoredFields, unknownFields } from '../../wire/keys/name-list';
import { pageHeaders } from '../../wire/keys/pages';
import { NotParsable } from '../../wire/bytes';
import { documentWriter } from '../../wire/record/document';
import { listPieces, listWriter } from '../../wire/record/list';
import { type List, type RecordKind } from '../../wire/record/record';
import { postedFromXml } from '../../wire/xml/posted';
import { parseXml } from '../../wire/xml/read';
import { MoveTransactions, ReportTransactions, type CommandResults } from './commands';
import {
  dateKeys,
  type FilterKeys,
  type HistoryKeys,
  historyKeys,
  listKeys,
  totalsKeys,
  type TransactionListKeys,
  TransactionQueries,
} from './transaction.queries';
import {
  ONE,
  transactionOperations as operations,
  RESULT,
  RESULTS,
  TOTALS,
  TRANSACTIONS,
} from './operations';

/** Most bytes of one posted item, and of a list. */
const MAX_BODY = { one: 256 * 1024, several: 32 * 1024 * 1024 } as const;

/** Transactions: reports, requested transitions, lists (`docs/decisions.md#t2`, `#t5`, `#t6`). */
@Controller('/1.0/conversions/transactions')
export class TransactionsController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: TransactionQueries,
  ) {}

  @Get()
  @ApiOperation(operations.listTransactions)
  @Produces(['json', 'xml', 'csv'])
  list(@CurrentCaller() caller: Caller, @MatrixKeys(listKeys) keys: TransactionListKeys): ListAnswer {
    return new ListAnswer(
      async ({ view, query }) => {
        const { transactions, total, nextCursor, nextSince } = await this.queries.list(keys, caller, query);
        return {
          pieces: listPieces(transactionsText(view), transactions),
          headers: {
            ...pageHeaders({ total, requested: keys.pageSize, nextCursor }),
            ...(nextSince === undefined ? {} : { 'X-Next-Since': nextSince }),
          },
        };
      },
      { format: keys.format },
    );
  }

  @Get('totals')
  @ApiOperation(operations.totalTransactions)
  totals(@CurrentCaller() caller: Caller, @MatrixKeys(totalsKeys) keys: FilterKeys): QueuedAnswer {
    return new QueuedAnswer(async (query) =>
      Answer.of(await this.queries.totals(keys, caller, query), totalsToXml),
    );
  }

  @Get(':id')
  @ApiOperation(operations.getTransaction)
  one(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @MatrixKeys(dateKeys) { dateOutputFormat = 'iso8601' }: Keys<typeof dateKeys>,
  ): QueuedAnswer {
    return new QueuedAnswer(async () =>
      Answer.of(await this.queries.one(id, caller, dateOutputFormat), oneToXml),
    );
  }

  @Get(':id/transitions')
  @ApiOperation(operations.getTransactionHistory)
  history(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @MatrixKeys(historyKeys) keys: HistoryKeys,
  ): ListAnswer {
    return new ListAnswer(async ({ view, query }) => {
      const { transactions, total } = await this.queries.history(id, caller, keys, query);
      return {
        pieces: listPieces(transactionsText(view), transactions),
        headers: pageHeaders({ total, requested: keys.pageSize }),
      };
    });
  }

  @Post()
  @ApiOperation(operations.reportTransaction)
  @Roles(['advertiser', 'operator'])
  async report(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const format = body.format();
    const posted = readOne(postedTransactions, await body.bytes(MAX_BODY.one), format);
    const results = await this.commands.execute(new ReportTransactions([posted], caller));
    return toAnswer(results, ignoredIn(postedTransactions, posted));
  }

  @Post('bulk')
  @ApiOperation(operations.reportTransactions)
  @Roles(['advertiser', 'operator'])
  async reportAll(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const format = body.format();
    const list = {
      kind: postedTransactions,
      root: 'transactions',
      maxItem: MAX_BODY.one,
      dropsUnknown: true,
    } as const;
    const { items, unread } = await readSeveral(body.upTo(MAX_BODY.several), format, list);
    const results = await this.commands.execute(new ReportTransactions(items, caller));
    return toAnswers(results, ignoredFields(unread));
  }

  @Post('transitions')
  @ApiOperation(operations.moveTransaction)
  @Roles(['advertiser', 'operator'])
  async move(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const format = body.format();
    const posted = readOne(postedTransitions, await body.bytes(MAX_BODY.one), format);
    const results = await this.commands.execute(new MoveTransactions([posted], caller));
    return toAnswer(results, ignoredIn(postedTransitions, posted));
  }

  @Post('transitions/bulk')
  @ApiOperation(operations.moveTransactions)
  @Roles(['advertiser', 'operator'])
  async moveAll(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const format = body.format();
    const list = {
      kind: postedTransitions,
      root: 'transitions',
      maxItem: MAX_BODY.one,
      dropsUnknown: true,
    } as const;
    const { items, unread } = await readSeveral(body.upTo(MAX_BODY.several), format, list);
    const results = await this.commands.execute(new MoveTransactions(items, caller));
    return toAnswers(results, ignoredFields(unread));
  }
}

const transactionsText = listWriter(TRANSACTIONS);
const oneToXml = documentWriter(ONE);
const totalsToXml = documentWriter(TOTALS);
const resultToXml = documentWriter(RESULT);
const resultsToXml = documentWriter(RESULTS);

type Headers = Readonly<Record<string, string>>;

/** The header that names posted fields which were ignored. */
function ignoredIn({ of }: List<RecordKind>, posted: unknown): Headers {
  return ignoredFields(unknownFields(of(), [posted]));
}

/** The only result; raises its faults. */
function toAnswer({ results: [result], position }: CommandResults, headers: Headers): Answer {
  if (result === undefined) throw new Error('one item has one result');
  if ('faults' in result) throw new Faults(result.faults);
  return Answer.of(toResult(result), resultToXml, {
    status: result.outcome === 'created' ? 201 : 200,
    position,
    headers,
  });
}

function toAnswers({ results, position }: CommandResults, headers: Headers): Answer {
  return Answer.of(results.map(toResult), resultsToXml, { position, headers });
}

function toResult(result: CommandResults['results'][number]): TransactionResult {
  if ('faults' in result) return errorsAsJson(result.faults);
  const { transactionId, legacyTransactionId, messageTypeId, outcome } = result;
  return { transactionId, legacyTransactionId, messageTypeId, outcome };
}

/** A posted record in the shape of JSON, unchecked; raises CON_310 for what cannot be read. */
function readOne({ of, each }: List<RecordKind>, bytes: Buffer, format: BodyFormat): unknown {
  return readable(() => {
    if (format === 'json') {
      const found = postedFromJson(bytes);
      if (!isPosted(found)) throw new NotParsable('expected one object; lists are posted to …/bulk');
      return found;
    }
    const root = parseXml(bytes);
    if (root.name !== each) throw new NotParsable(`expected the root element ${each}, found ${root.name}`);
    return postedFromXml(of(), root);
  });
}

/** A posted list, each item unchecked. Raises CON_310 for what cannot be read. */
async function readSeveral(
  body: { readonly chunks: () => AsyncIterable<Buffer> },
  format: BodyFormat,
  list: ListBody,
): Promise<PostedItems> {
  try {
    return await postedItems(body.chunks(), format, list);
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof NotParsable ? fault.syntax(error.message) : error;
  }
}
