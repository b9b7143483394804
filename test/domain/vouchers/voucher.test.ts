import {
  type VoucherCommand,
  voucherDecider,
  type VoucherEvent,
  type VoucherState,
} from '../../../src/domain/vouchers/voucher';
import { golden } from '../../support/golden';
import { AT, checked } from './posted';

const { initial } = voucherDecider;
const decide = (command: VoucherCommand, state: VoucherState) => voucherDecider.decide(command, state);
const after = (...events: readonly VoucherEvent[]): VoucherState =>
  events.reduce((state, event) => voucherDecider.evolve(state, event), initial);

const post = (title: string): VoucherCommand => ({ do: 'post', ...checked({ title }, 'a'), at: AT });
const withdraw: VoucherCommand = { do: 'withdraw', at: AT };
const [published] = decide(post('one'), initial) as [VoucherEvent];
const [revised] = decide(post('two'), after(published)) as [VoucherEvent];
const [withdrawn] = decide(withdraw, after(published)) as [VoucherEvent];

describe('a voucher', () => {
  it('is published by the first post, revised by one that differs, withdrawn by its owner', () => {
    expect([published, revised, withdrawn].map(({ type }) => type)).toEqual([
      'VoucherPublished',
      'VoucherRevised',
      'VoucherWithdrawn',
    ]);
    expect(after(published, revised)).toMatchObject({
      status: 'published',
      programId: 101,
      sourceId: 'a',
      voucher: { title: 'two' },
    });
  });

  it('is not written by an edit that changes nothing', () => {
    expect(decide(post('one'), after(published))).toEqual([]);
    expect(decide(post('two'), after(published, revised))).toEqual([]);
    expect(decide(post('one'), after(published, revised))).toHaveLength(1);
  });

  it('stays withdrawn', () => {
    const state = after(published, withdrawn);
    expect(state).toEqual({ status: 'withdrawn', programId: 101, sourceId: 'a' });
    expect(decide(post('one'), state)).toEqual([]);
    expect(decide(withdraw, state)).toEqual([]);
    expect(decide(withdraw, initial)).toEqual([]);
  });

  it('is folded as it has been stored for ever (test/golden)', () => {
    const stored = (['VoucherPublished', 'VoucherRevised', 'VoucherWithdrawn'] as const).map(
      (type) => golden<VoucherEvent>(type).event,
    );
    expect(after(...stored.slice(0, 1))).toMatchObject({
      status: 'published',
      programId: 31,
      sourceId: 'spring-7',
      voucher: { siteIds: [51, 52], discountAmount: 10.5 },
    });
    expect(after(...stored.slice(0, 2))).toMatchObject({ voucher: { voucherTypeId: 4 } });
    expect(after(...stored)).toEqual({ status: 'withdrawn', programId: 31, sourceId: 'spring-7' });
    const later = (['VoucherPublished', 'VoucherRevised'] as const).map(
      (type) => golden<VoucherEvent>(type, '-currency').event,
    );
    expect(after(...later)).toMatchObject({ currency: { currency: 'SEK' }, voucher: { voucherTypeId: 4 } });
  });
});
