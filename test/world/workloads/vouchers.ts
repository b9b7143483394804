import { VoucherWriter } from '../../../src/domain/vouchers/voucher';
import { VoucherCommands } from '../../../src/services/vouchers/commands';
import { type Command } from '../clients';
import { type ApiParts } from '../host';
import { type Random } from '../random';
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
  /** Its time begins and ends; without them it is shown all the time (epoch ms). */
  readonly publishStartDate?: number;
  readonly endDate: number;
}

const DAY = 86_400_000;
/** While all goes wrong, or when nobody runs. */
const soonOrLater = (random: Random): number =>
  EPOCH + (random.chance(0.7) ? random.below(90_000) : (0.8 + 0.1 * random.next()) * DAY);

/** When it is shown; its end may be before. */
function timesOf(random: Random): Pick<Voucher, 'publishStartDate' | 'endDate'> {
  return {
    ...(random.chance(0.3) ? { publishStartDate: Math.floor(soonOrLater(random)) } : {}),
    endDate: Math.floor(random.chance(0.3) ? soonOrLater(random) : EPOCH + 90 * DAY),
  };
}

export const postVoucher: Command<Voucher, { readonly id: number }> = {
  name: 'post voucher',
  hasKeys: true,
  weight: 6,
  draw: (random, clients, number) => ({
    ...GERMAN[clients.few(random, GERMAN.length)]!,
    title: `Voucher ${number}`,
    ...(random.chance(0.8) ? { sourceId: `s${clients.few(random, 8)}` } : {}),
    ...timesOf(random),
  }),
  run: async (api, { organisationId, ...voucher }, request) => {
    const texts = { voucherTypeId: 4, shortDescription: 's', description: 'd' };
    const posted = { ...voucher, ...texts, startDate: EPOCH - DAY };
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
  stream: ({ id }) => `voucher-${id}`,
  asksFor: { VoucherWithdrawn: true },
  isNew: () => false,
};
