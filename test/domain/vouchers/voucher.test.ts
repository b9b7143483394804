import {
  type VoucherCommand,
  voucherDecider,
  type VoucherEvent,
  type VoucherState,
} from '../../../src/domain/vouchers/voucher';
import { voucherTopic } from '../../../src/domain/vouchers/topic';
import { type ParsedEvent } from '../../../src/kernel/decider';
import { START } from '../../../src/kernel/event';
import { Programs } from '../../../src/network/programs';
import { golden } from '../../support/golden';
import { AT, checked } from './posted';

const EVENT = { stream: 'voucher-17', revision: 1, position: START };
const { initial } = voucherDecider;
const decide = (command: VoucherCommand, state: VoucherState) => voucherDecider.decide(command, state);
const after = (...events: readonly VoucherEvent[]): VoucherState =>
  events.reduce((state, event) => voucherDecider.evolve(state, event), initial);

const post = (title: string): VoucherCommand => ({ do: 'post', ...checked({ title }, 'a'), at: AT });
const withdraw: VoucherCommand = { do: 'withdraw', at: AT };
const [published] = decide(post('one'), initial) as [VoucherEvent];
const [revised] = decide(post('two'), after(published)) as [VoucherEvent];
const [withdrawn] = decide(withdraw, after(published)) as [VoucherEvent];

const turn = (at: string): VoucherCommand => ({ do: 'turn', at });

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

  it('is shown and hidden by time, each once, and says so with its content (decisions N18)', () => {
    const window = {
      publishStartDate: '2026-03-02T00:00:00.000Z',
      publishEndDate: '2026-03-03T00:00:00.000Z',
    };
    const [coming] = decide({ do: 'post', ...checked(window), at: AT }, initial) as [VoucherEvent];
    expect(after(coming)).toMatchObject({ phase: 'coming' });
    expect(decide(turn('2026-03-01T23:59:59.999Z'), after(coming))).toEqual([]);
    const [shown] = decide(turn('2026-03-02T00:00:00.000Z'), after(coming)) as [VoucherEvent];
    expect(shown).toMatchObject({
      type: 'VoucherShown',
      data: { programId: 101, currency: 'EUR', voucher: { title: 'Free delivery' } },
    });
    expect(decide(turn('2026-03-03T00:00:00.000Z'), after(coming, shown))).toEqual([]);
    const [hidden] = decide(turn('2026-03-03T00:00:00.001Z'), after(coming, shown)) as [VoucherEvent];
    expect(hidden).toEqual({
      type: 'VoucherHidden',
      data: { ...shown.data, at: '2026-03-03T00:00:00.001Z' },
    });
    expect(decide(turn('2026-05-01T00:00:00.000Z'), after(coming, shown, hidden))).toEqual([]);
    expect(decide(turn('2026-05-01T00:00:00.000Z'), after(coming))).toMatchObject([
      { data: { unseen: true } },
    ]);
    const again = { ...checked(), at: '2026-03-03T00:00:00.001Z' };
    const [revised] = decide({ do: 'post', ...again }, after(coming, shown, hidden)) as [VoucherEvent];
    expect(revised).toMatchObject({ data: { replaced: { programId: 101, phase: 'over', voucher: window } } });
    expect(decide(turn('2026-03-04T00:00:00.000Z'), after(coming, withdrawn))).toEqual([]);
  });

  it('has the currency that was recorded last, whatever time does after it', () => {
    const old = golden<VoucherEvent>('VoucherPublished').event;
    const [shown] = decide(turn('2099-01-01T00:00:00.000Z'), after(old)) as [VoucherEvent];
    expect(shown.data).not.toHaveProperty('currency');
    expect(voucherDecider.supersedes?.(shown)).toBe(false);
    expect(after(old, shown)).toMatchObject({ currency: { postedAt: expect.any(String) as unknown } });
    expect(voucherDecider.supersedes?.(revised)).toBe(true);
  });

  it('of a program that is paused is of concern to its owner only (decisions N18)', () => {
    const programs = new Programs();
    for (const type of ['ProgramDefined', 'ProgramPaused', 'SiteDefined', 'SiteConnected'] as const)
      programs.evolve(golden<Parameters<Programs['evolve']>[0]>(type).event);
    const id = [...programs.all()][0]?.id ?? 0;
    const site = [...programs.allSites()][0]!;
    programs.evolve({ type: 'SiteConnected', data: { at: AT, siteId: site.id, programId: id } });
    const { event } = golden<VoucherEvent>('VoucherShown');
    const happened = { ...event, data: { ...event.data, programId: id }, ...EVENT } as ParsedEvent;
    const partiesNow = () => [...(voucherTopic.occurrence(happened, programs)?.parties ?? [])];
    const owner = programs.get(id)?.organisationId;
    expect(partiesNow()).toEqual([owner]);
    programs.evolve({ type: 'ProgramActivated', data: { at: AT, id } });
    expect(partiesNow()).toEqual([owner, site.organisationId]);
    programs.evolve({ type: 'SiteDisconnected', data: { at: AT, siteId: site.id, programId: id } });
    expect(partiesNow()).toEqual([owner]);
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
