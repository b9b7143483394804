import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { FollowedDirectory } from '../directory/follower';
import { Vouchers, type VoucherPost, type Written } from './vouchers';

/** Publishes or edits a voucher that has been checked (Document 2, Endpoints, Vouchers). */
export class PostVoucher extends Command<Written> {
  constructor(
    readonly post: VoucherPost,
    readonly now: Date,
  ) {
    super();
  }
}

/** Withdraws a voucher of a program of an organisation (Document 2, Endpoints, Vouchers). */
export class WithdrawVoucher extends Command<Written> {
  constructor(
    readonly id: number,
    readonly organisationId: number,
    readonly now: Date,
  ) {
    super();
  }
}

@CommandHandler(PostVoucher)
export class PostVoucherHandler implements ICommandHandler<PostVoucher> {
  constructor(private readonly vouchers: Vouchers) {}

  async execute({ post, now }: PostVoucher): Promise<Written> {
    return this.vouchers.post(post, now.toISOString());
  }
}

@CommandHandler(WithdrawVoucher)
export class WithdrawVoucherHandler implements ICommandHandler<WithdrawVoucher> {
  constructor(
    private readonly vouchers: Vouchers,
    private readonly follower: FollowedDirectory,
  ) {}

  async execute({ id, organisationId, now }: WithdrawVoucher): Promise<Written> {
    const owns = (programId: number) =>
      this.follower.directory.program(programId)?.organisationId === organisationId;
    return this.vouchers.withdraw(id, owns, now.toISOString());
  }
}
