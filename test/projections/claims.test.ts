import { claims, listClaims } from '../../projections/claims';
import { claimDecider, type ClaimEvent } from '../../src/domain/claims/claim';
import { positionOf } from '../../src/kernel/event';
import { directoryOf, project } from '../projector/sample-events';
import { golden } from '../support/golden';
import { MemoryCollections } from '../world/memory-collections';
import { MemoryStore } from '../world/memory-store';

const events = (...types: readonly string[]): ClaimEvent[] =>
  types.map((type) => golden<ClaimEvent>(type as ClaimEvent['type']).event);
const stored = (...types: readonly string[]) => project(claims, events(...types), directoryOf(), 'claim-17');
const state = (...types: readonly string[]) =>
  events(...types).reduce((before, event) => claimDecider.evolve(before, event), claimDecider.initial);

const FILED = ['ClaimFiled', 'ClaimScreened'] as const;
const REVISED = [...FILED, 'ClaimRevised', 'ClaimScreened'] as const;
const RULED = [...REVISED, 'ClaimRuled'] as const;

const at = (time: string) => Date.parse(`2026-01-${time}.000Z`);

describe('claims as they have been stored for ever (test/golden)', () => {
  it('are filed and screened', () => {
    expect(state(...FILED)).toMatchObject({ is: 'filed', version: 0, statusId: 2, publisherId: 2 });
    expect(state('ClaimFiled-terms')).toMatchObject({ terms: { commission: { percent: 7.5 } } });
    const orderValueOf = (type: string) => stored(type)?.document.claim.orderValue ?? NaN;
    expect(orderValueOf('ClaimFiled-decimals')).toBe(100 * orderValueOf('ClaimFiled'));
    expect(stored(...FILED)).toEqual({
      document: {
        origin: { publisherId: 2, advertiserId: 1, currencyId: 'SEK' },
        version: 0,
        claim: (golden<ClaimEvent>('ClaimFiled').event.data as { readonly claim: object }).claim,
        status: { id: 2, since: at('05T08:00:00'), autoApproveAt: Date.parse('2026-02-04T08:00:00.000Z') },
        created: at('05T08:00:00'),
        lastChanged: at('05T08:00:00'),
      },
      fields: {
        id: '17',
        claimId: 17,
        publisherId: '2',
        advertiserId: '1',
        programId: '31',
        siteId: '51',
        statusId: '2',
        orderNumber: 'Ö-2026 "7"',
        order: 'Ö-2026 "7"',
        timeStamp: at('05T00:00:00'),
        timeStampEvent: at('02T00:00:00'),
        statusChanged: at('05T00:00:00'),
        lastChanged: at('05T08:00:00'),
        autoApproveAt: Date.parse('2026-02-04T08:00:00.000Z'),
      },
    });
  });

  it('have the content and the owner of the last revision, and are still due', () => {
    expect(state(...REVISED)).toMatchObject({ version: 1, statusId: 2, claim: { siteId: 52 } });
    const { fields, document } = stored(...REVISED) ?? {};
    expect(document).toMatchObject({ version: 1, created: at('05T08:00:00'), claim: { eventId: 311 } });
    expect(document?.claim).not.toHaveProperty('epi');
    expect(fields).toMatchObject({ siteId: '52', statusId: '2', orderNumber: 'Ö-2026 "8"' });
    expect(fields).toMatchObject({ timeStampEvent: at('03T00:00:00'), statusChanged: at('05T00:00:00') });
    expect(fields).toHaveProperty('autoApproveAt');
  });

  it('are ruled on, and wait for their transaction', () => {
    expect(state(...RULED)).toMatchObject({ version: 2, statusId: 3, ruling: { by: 'advertiser' } });
    const { fields, document } = stored(...RULED) ?? {};
    expect(document).toMatchObject({
      version: 2,
      status: { id: 3, since: at('07T10:00:00'), message: 'One lamp was returned' },
      adjusted: { orderValue: 5000, expectedCommission: 500 },
      lastChanged: at('07T10:00:00'),
    });
    expect(fields).toMatchObject({ statusId: '3', untracked: at('07T10:00:00') });
    expect(fields).not.toHaveProperty('autoApproveAt');
  });

  it('become a transaction, which their parties do not see as a change', () => {
    const transactionId = '5f2c1c0e7a5b4b7c9d0e1f2a3b4c5d6e';
    expect(state(...RULED, 'ClaimTracked')).toMatchObject({ version: 2, statusId: 3, transactionId });
    const { fields, document } = stored(...RULED, 'ClaimTracked') ?? {};
    expect(document).toMatchObject({ transactionId });
    expect(fields).toMatchObject({ lastChanged: at('07T10:00:00') });
    expect(fields).not.toHaveProperty('untracked');
  });

  it('may be rejected when screened, with a message', () => {
    expect(state('ClaimFiled', 'ClaimScreened-rejected')).toMatchObject({ statusId: 111 });
    const { fields, document } = stored('ClaimFiled', 'ClaimScreened-rejected') ?? {};
    expect(document?.status).toEqual({
      id: 111,
      since: at('05T08:00:00'),
      message: 'Tracked for another publisher',
    });
    expect(fields).not.toHaveProperty('autoApproveAt');
  });

  it('may be rejected by an operator when it is pending at the network (decisions C14)', () => {
    expect(state(...FILED, 'ClaimScreened-operator')).toMatchObject({ statusId: 211, ruling: undefined });
    const { fields, document } = stored(...FILED, 'ClaimScreened-operator') ?? {};
    expect(document?.status).toEqual({ id: 211, since: at('06T08:00:00'), message: 'Ask for less' });
    expect(fields).toMatchObject({ statusId: '211' });
    expect(fields).not.toHaveProperty('autoApproveAt');
  });

  it('are removed when withdrawn, and by nothing but a withdrawal if they were never filed', () => {
    expect(state(...FILED, 'ClaimWithdrawn')).toEqual({ is: 'withdrawn' });
    expect(stored(...FILED, 'ClaimWithdrawn')).toBeUndefined();
    expect(stored('ClaimWithdrawn')).toBeUndefined();
  });
});

const { publisherId, claim } = golden<Extract<ClaimEvent, { type: 'ClaimFiled' }>>('ClaimFiled').event.data;
const SUBJECT = { publisherId, version: 0, claim };

describe('the read model of claims', () => {
  it('says what could not be validated, until it could (decisions C5)', () => {
    const filed = events('ClaimFiled');
    const screened = (statusId: 100 | 106, time: string): ClaimEvent => ({
      type: 'ClaimScreened',
      data: { ...SUBJECT, statusId, at: `2026-01-${time}.000Z` },
    });
    const unscreened = project(claims, [...filed, screened(100, '05T08:00:00')], directoryOf(), 'claim-17');
    expect(unscreened?.fields).toMatchObject({ statusId: '100', unscreened: at('05T08:00:00') });
    const later = [...filed, screened(100, '05T08:00:00'), screened(106, '05T08:05:00')];
    const { fields } = project(claims, later, directoryOf(), 'claim-17') ?? {};
    expect(fields).toMatchObject({ statusId: '106', statusChanged: at('05T00:00:00') });
    expect(fields).not.toHaveProperty('unscreened');
  });

  it('has no advertiser where there was no program', () => {
    const { stream, event } = golden<ClaimEvent>('ClaimFiled');
    const unowned = { ...event, data: { ...event.data, advertiserId: undefined } } as unknown as ClaimEvent;
    expect(project(claims, [unowned], directoryOf(), stream)?.fields).not.toHaveProperty('advertiserId');
  });

  it('does not read the events of batches, whose streams have the same prefix', () => {
    const [prefix = ''] = claims.streams;
    expect('claim-batch-17'.startsWith(prefix)).toBe(true);
    expect('claimkey-17'.startsWith(prefix)).toBe(false);
    expect(claims.handles.filter((type) => type.startsWith('ClaimBatch'))).toEqual([]);
  });
});

describe('a list of claims by name', () => {
  it('has each claim that does not change, though others are filed while it is read (decisions X53)', async () => {
    const store = new MemoryStore(new MemoryCollections(), () => 0);
    const generation = await store.create(claims.collection);
    const { fields, document } = stored(...FILED)!;
    const file = (claimId: number, programId: number) => {
      const claim = { ...document.claim, programId };
      const put = {
        ...{ id: String(claimId), fields: { ...fields, claimId, programId: String(programId) } },
        body: JSON.stringify({ ...document, claim }),
      };
      const target = { collection: claims.collection.name, generation: generation.number };
      return store.write(target, [{ put, version: positionOf(claimId) }]);
    };
    await file(2, 31);
    await file(3, 31);
    await file(4, 32);
    await store.finish(generation);
    await store.swap(generation);
    const by = { field: 'programId', nameOf: (id: number) => `Program ${id}` } as const;
    const everything = { among: {}, lastChanged: {}, timeStampEvent: {} };
    const list = await listClaims(store, everything, { by, descending: false, offset: 0, size: 10 });
    await file(1, 31);
    const found: number[] = [];
    for await (const groups of list.groups) found.push(...groups.flat().map(({ claimId }) => claimId));
    expect(found).toEqual(expect.arrayContaining([2, 3, 4]));
  });
});
