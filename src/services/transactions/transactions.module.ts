import { Module } from '@nestjs/common';
import { VisibleWrites } from '../../http/visible-writes';
import { MoveTransactionsHandler, ReportTransactionsHandler, Transactions } from './commands';
import { TransactionQueries } from './transaction.queries';
import { TransactionsController } from './transactions.controller';

/** Transactions, as part of the conversion service. */
@Module({
  controllers: [TransactionsController],
  providers: [
    ReportTransactionsHandler,
    MoveTransactionsHandler,
    Transactions,
    TransactionQueries,
    VisibleWrites,
  ],
})
export class TransactionsModule {}
