import { VoucherWriter } from '../../../src/domain/vouchers/voucher';
import { VoucherCommands } from '../../../src/services/vouchers/commands';
import { type Command } from '../clients';
import { type ApiParts } from '../host';
import { EPOCH } from '../simulation';
import { GERMAN } from './network-file';

const commands = ({ clock, engines: { log }, follower, visible }: ApiParts) =>
  new VoucherCommands(new VoucherWriter(clock, log), visible, follower, clock);

interface Voucher {
  readonly organisationId: number;
  readonly programId: number;
  /** No other post has it. */
  readonly title: string;
  readonly sourceId?: string;
}

export const postVoucher: Command<Voucher, { readonly id: number }> = {
  name: 'post voucher',
  hasKeys: true,
  weight: 6,
  draw: (random, clients, number) => ({
    ...GERMAN[clients.few(random, GERMAN.length)]!,
    title: `Voucher ${number}`,
    ...(random.chance(0.8) ? { sourceId: `s${clients.few(random, 8)}` } : {}),
  }),
  run: async (api, { organisationId, ...voucher }, request) => {
    const texts = { voucherTypeId: 4, shortDescription: 's', description: 'd' };
    const dates = { startDate: EPOCH, endDate: EPOCH + 90 * 86_400_000 };
    const posted = { ...voucher, ...texts, ...dates };
    return await api.of(commands).post(posted, organisationId, { requestId: request?.id });
  },
  asksFor: {
    VoucherPublished: ({ title }, { data }) => data.voucher.title === title,
    VoucherRevised: ({ title }, { data }) => data.voucher.title === title,
  },
  happensIn: (_, { id }) => [`voucher-${id}`],
  undone: ({ organisationId }, { id }) => ({ command: withdrawVoucher, what: { id, organisationId } }),
};

export const withdrawVoucher: Command<{ readonly id: number; readonly organisationId: number }> = {
  name: 'withdraw voucher',
  weight: 5,
  draw: (random, clients) => {
    const posted = clients.done(postVoucher);
    if (posted.length === 0) return undefined;
    const { what, result } = random.pick(posted.slice(-2));
    return { id: result.id, organisationId: what.organisationId };
  },
  run: (api, { id, organisationId }) => api.of(commands).withdraw(id, organisationId),
  asksFor: { VoucherWithdrawn: ({ id }, { stream }) => stream === `voucher-${id}` },
  happensIn: ({ id }) => [`voucher-${id}`],
  isNew: () => false,
};
