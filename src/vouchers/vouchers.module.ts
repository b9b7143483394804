import { type DynamicModule, Module } from '@nestjs/common';
import { type Service } from '../http/service';
import { EventLog } from '../kernel/event-log';
import { httpFaults, openApiFaults } from '../wire/open-api';
import { PostVoucherHandler, PostVouchersHandler, VisibleWrites, WithdrawVoucherHandler } from './commands';
import { voucherDescription } from './description';
import { voucherFaults as fault } from './faults';
import { keyFaults } from './list-keys';
import { VOUCHER_SETTINGS, VoucherQueries, type VoucherSettings } from './queries';
import { Vouchers } from './vouchers';
import { VouchersController } from './vouchers.controller';

/** The voucher service as the shared HTTP glue knows it (Document 2). */
export const voucherService: Service = {
  system: 'VOUCHERS',
  modules: ['vouchers'],
  namespace: '/1.0/vouchers',
  byAccept: [],
  keyFaults,
  description: voucherDescription,
  bodyFaults: {
    type: httpFaults.unsupportedType,
    charset: httpFaults.unsupportedType,
    missingCharset: fault.invalidVoucher,
  },
  faults: {
    unexpected: httpFaults.serviceDown,
    notAdmitted: fault.noAccess,
    tokenTwice: openApiFaults.invalidToken,
  },
};

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
        { provide: VOUCHER_SETTINGS, useValue: settings },
      ],
    };
  }
}
