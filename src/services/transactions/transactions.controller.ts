import { Body, Controller, Get, Module, Param, Post } from '@nestjs/common';
import { conversionFaults as fault } from '../../domain/subscriptions/faults';
import {
  postedTransactions,
  postedTransitions,
  type TransactionResult,
} from '../../domain/transactions/transaction-fields';
import { Answer, faultsIn, ListAnswer, QueuedAnswer } from '../../http/answer';
import { ApiOperation, CurrentCaller, MatrixKeys, Produces, Roles } from '../../http/decorators';
import { PostedBody } from '../../http/posted-body';
import { VisibleWrites } from '../../http/visible-writes';
import { Faults } from '../../kernel/fault';
import { type Caller } from '../../network/organisations';
import { errorsAsJson } from '../../wire/api/errors';
import { type BodyFormat } from '../../wire/api/format';
import { isPosted } from '../../wire/api/posted';
import { type ListBody, postedItems } from '../../wire/api/posted-items';
import { NotParsable, parsedOr } from '../../wire/bytes';
import { postedFromJson } from '../../wire/json/read';
import { type Keys } from '../../wire/keys/keys';
import { ignoredFields, unknownFields } from '../../wire/keys/name-list';
import { type List, type RecordKind } from '../../wire/record/record';
import { parseXml, postedFromXml } from '../../wire/xml/nodes';
import { type CommandResults, TransactionCommands } from './commands';
import {
  transactionApi as api,
  dateKeys,
  type HistoryKeys,
  historyKeys,
  listKeys,
  type TotalsKeys,
  totalsKeys,
  type TransactionListKeys,
} from './api';
import { TransactionQueries } from './transaction.queries';

/** Most bytes of one posted item, and of a list. */
const MAX_BODY = { one: 256 * 1024, several: 32 * 1024 * 1024 } as const;

const REPORTERS = ['advertiser', 'operator'] as const;

/** Transactions: reports, requested transitions, lists (`docs/decisions.md#t2`, `#t5`, `#t6`). */
@Controller('/1.0/conversions/transactions')
class TransactionsController {
  constructor(
    private readonly commands: TransactionCommands,
    private readonly queries: TransactionQueries,
  ) {}

  @Get()
  @ApiOperation(api.listTransactions)
  @Produces(['json', 'xml', 'csv'])
  list(@CurrentCaller() caller: Caller, @MatrixKeys(listKeys) keys: TransactionListKeys): ListAnswer {
    return ListAnswer.of(api.listTransactions, (query) => this.queries.list(keys, caller, query), keys);
  }

  @Get('totals')
  @ApiOperation(api.totalTransactions)
  @Produces(['json', 'xml', 'csv'])
  totals(@CurrentCaller() caller: Caller, @MatrixKeys(totalsKeys) keys: TotalsKeys): ListAnswer {
    return ListAnswer.of(api.totalTransactions, (query) => this.queries.totals(keys, caller, query), keys);
  }

  @Get(':id')
  @ApiOperation(api.getTransaction)
  one(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @MatrixKeys(dateKeys) { dateOutputFormat = 'iso8601' }: Keys<typeof dateKeys>,
  ): QueuedAnswer {
    return QueuedAnswer.of(api.getTransaction, () => this.queries.one(id, caller, dateOutputFormat));
  }

  @Get(':id/transitions')
  @ApiOperation(api.getTransactionHistory)
  history(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @MatrixKeys(historyKeys) keys: HistoryKeys,
  ): ListAnswer {
    return ListAnswer.of(api.getTransactionHistory, (query) => this.queries.history(id, caller, keys, query));
  }

  @Post()
  @ApiOperation(api.reportTransaction)
  @Roles(REPORTERS)
  async report(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    return await this.onePosted(postedTransactions, body, (posted) => this.commands.report(posted, caller));
  }

  @Post('bulk')
  @ApiOperation(api.reportTransactions)
  @Roles(REPORTERS)
  async reportAll(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const list = { kind: postedTransactions, root: 'transactions' };
    return await this.several(list, body, (posted) => this.commands.report(posted, caller));
  }

  @Post('transitions')
  @ApiOperation(api.moveTransaction)
  @Roles(REPORTERS)
  async transition(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    return await this.onePosted(postedTransitions, body, (posted) =>
      this.commands.transition(posted, caller),
    );
  }

  @Post('transitions/bulk')
  @ApiOperation(api.moveTransactions)
  @Roles(REPORTERS)
  async transitionAll(@CurrentCaller() caller: Caller, @Body() body: PostedBody): Promise<Answer> {
    const list = { kind: postedTransitions, root: 'transitions' };
    return await this.several(list, body, (posted) => this.commands.transition(posted, caller));
  }

  /** Executes a command on one posted item; raises its faults. */
  private async onePosted(
    { of, each }: List<RecordKind>,
    body: PostedBody,
    execute: Execute,
  ): Promise<Answer> {
    const format = body.format();
    const bytes = await body.bytes(MAX_BODY.one);
    const posted = await parsedOr(fault.syntax, () => readOne(of(), each, bytes, format));
    body.report(ignoredFields(unknownFields(of(), [posted])));
    const { results, position } = await execute([posted]);
    const [result] = results;
    if (result === undefined) throw new Error('one item has one result');
    if ('faults' in result) throw new Faults(result.faults);
    return Answer.of(api.reportTransaction, toResult(result), {
      status: result.outcome === 'created' ? 201 : 200,
      position,
    });
  }

  /** Executes a command on a posted list, whose items have results of their own. */
  private async several(
    list: Pick<ListBody, 'kind' | 'root'>,
    body: PostedBody,
    execute: Execute,
  ): Promise<Answer> {
    const format = body.format();
    const chunks = body.upTo(MAX_BODY.several).chunks();
    const wanted = { ...list, maxItem: MAX_BODY.one, dropsUnknown: true } as const;
    const { items, unread } = await parsedOr(fault.syntax, () => postedItems(chunks, format, wanted));
    const { results, position } = await execute(items);
    return Answer.of(api.reportTransactions, results.map(toResult), {
      position,
      headers: ignoredFields(unread),
      itemFaults: faultsIn(results),
    });
  }
}

type Execute = (posted: readonly unknown[]) => Promise<CommandResults>;

function toResult(result: CommandResults['results'][number]): TransactionResult {
  if ('faults' in result) return errorsAsJson(result.faults);
  const { transactionId, legacyTransactionId, messageTypeId, outcome } = result;
  return { transactionId, legacyTransactionId, messageTypeId, outcome };
}

/** A posted record in the shape of JSON, unchecked. Raises `NotParsable`. */
function readOne(kind: RecordKind, each: string, bytes: Buffer, format: BodyFormat): unknown {
  if (format === 'json') {
    const found = postedFromJson(bytes);
    if (!isPosted(found)) throw new NotParsable('expected one object; lists are posted to …/bulk');
    return found;
  }
  const root = parseXml(bytes);
  if (root.name !== each) throw new NotParsable(`expected the root element ${each}, found ${root.name}`);
  return postedFromXml(kind, root);
}

@Module({
  controllers: [TransactionsController],
  providers: [TransactionCommands, TransactionQueries, VisibleWrites],
})
export class TransactionsModule {}
