import { type DynamicModule, Module } from '@nestjs/common';
import { defineService } from '../../http/service';
import { VisibleWrites } from '../../http/visible-writes';
import { EventLog } from '../../kernel/event-log';
import { Clock } from '../../runtime/clock';
import { schemaFiles } from '../../wire/record/document';
import { PostVoucherHandler, PostVouchersHandler, WithdrawVoucherHandler } from './commands';
import { voucherFaults as fault, voucherFaultTable } from '../../domain/vouchers/faults';
import { voucherOperations } from './operations';
import { VoucherQueries, VoucherSettings } from './voucher.queries';
import { VoucherWriter } from '../../domain/vouchers/voucher-writer';
import { VouchersController } from './vouchers.controller';

/** The voucher service (Document 2; in XML `docs/decisions.md#x61`). A problem with a key is 101 (`#v14`). */
export const voucherService = defineService({
  system: 'VOUCHERS',
  modules: ['vouchers'],
  description: {
    title: 'Vouchers',
    description: 'Voucher offers of programs: posting, editing, listing, deleting; what each edit changed.',
    faults: voucherFaultTable,
    schemas: () => schemaFiles(voucherOperations),
    errorSchema: 'VoucherErrors_v1_0.xsd',
  },
  faults: { unusable: fault.invalidVoucher, notAdmitted: fault.noAccess },
});

@Module({})
export class VouchersModule {
  static with(settings: VoucherSettings): DynamicModule {
    return {
      module: VouchersModule,
      controllers: [VouchersController],
      providers: [
        PostVoucherHandler,
        PostVouchersHandler,
        WithdrawVoucherHandler,
        VisibleWrites,
        VoucherQueries,
        {
          provide: VoucherWriter,
          useFactory: (clock: Clock, log: EventLog) => new VoucherWriter(clock, log),
          inject: [Clock, EventLog],
        },
        { provide: VoucherSettings, useValue: settings },
      ],
    };
  }
}
