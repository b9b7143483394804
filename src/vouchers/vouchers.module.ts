import { type DynamicModule, Module } from '@nestjs/common';
import { defineService } from '../http/service';
import { EventLog } from '../kernel/event-log';
import { PostVoucherHandler, PostVouchersHandler, VisibleWrites, WithdrawVoucherHandler } from './commands';
import { voucherDescription } from './description';
import { voucherFaults as fault } from './faults';
import { VoucherQueries, VoucherSettings } from './queries';
import { Vouchers } from './vouchers';
import { VouchersController } from './vouchers.controller';

/** The voucher service (Document 2); whatever is wrong with a key is 101 (`docs/decisions.md#v14`). */
export const voucherService = defineService({
  system: 'VOUCHERS',
  modules: ['vouchers'],
  description: voucherDescription,
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
        { provide: Vouchers, useFactory: (log: EventLog) => new Vouchers(log), inject: [EventLog] },
        { provide: VoucherSettings, useValue: settings },
      ],
    };
  }
}
