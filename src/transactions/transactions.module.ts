import { Module } from '@nestjs/common';
import { conversionService } from '../conversions/conversion-service';
import { VisibleWrites } from '../http/visible-writes';
import { MoveTransactionsHandler, ReportTransactionsHandler, Transactions } from './commands';
import { transactionOperations } from './operations';
import { TransactionQueries } from './transaction.queries';
import { TransactionsController } from './transactions.controller';

/** Transactions, as part of the conversion service. */
export const transactionService = conversionService(transactionOperations);

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
