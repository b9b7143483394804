import { type Field } from '../../../src/wire/record/record';
import {
  ignoredIn,
  postedLegacyRuling,
  postedRuling,
  readPosted,
} from '../../../src/services/claims/claims-body';
import { checkRulings, rulingIn } from '../../../src/services/claims/claim-check';
import { CHANNELS, POSTED_RULING, STATUS_TABLE } from '../../api/claim-tables';
import { refusalOf } from './posted';

const list = (...items: readonly unknown[]) =>
  readPosted('claimUpdates', Buffer.from(JSON.stringify({ claimUpdates: items })), 'json');
const ruling = (changes: object = {}) => ({ claimId: 7, statusIdClaim: 3, versionNo: 0, ...changes });
const check = (...items: readonly unknown[]) => checkRulings(list(...items));
const refused = (...items: readonly unknown[]) => refusalOf(() => check(...items));

/** Statuses that an advertiser may set (Document 3, Limits: Statuses an advertiser may set; `docs/decisions.md#c9`). */
const ALLOWED = STATUS_TABLE.map(([id]) => id).filter((id) => id === 3 || id > 200);
const FORBIDDEN = STATUS_TABLE.map(([id]) => id).filter((id) => !ALLOWED.includes(id));

describe('updates posted by an advertiser', () => {
  it('have the fields of the document (Document 3, Claim update posted by an advertiser)', () => {
    const fields = Object.entries<Field>(postedRuling.fields);
    const required = fields.filter(([, field]) => field.required === true).map(([name]) => name);
    expect(required.sort()).toEqual(POSTED_RULING.required.toSorted());
    expect(fields.map(([name]) => name).sort()).toEqual(
      [...POSTED_RULING.required, ...POSTED_RULING.optional].sort(),
    );
    expect(Object.keys(postedLegacyRuling.fields)).toEqual(
      Object.keys(postedRuling.fields).filter((name) => name !== 'versionNo'),
    );
  });

  it('approve with corrections, as strings or numbers (Document 3, States and transitions; decisions C2)', () => {
    const sent = {
      claimId: '7',
      statusIdClaim: '3',
      versionNo: '2',
      orderValue: '99.9',
      expectedCommission: 5,
    };
    expect(check(sent)).toEqual([
      { claimId: 7, version: 2, ruling: { statusId: 3, orderValue: 99.9, expectedCommission: 5 } },
    ]);
    const { ruling: sentRuling } = check(sent)[0]!;
    expect(rulingIn('EUR', sentRuling)).toEqual({
      ruling: { statusId: 3, orderValue: 9990, expectedCommission: 500 },
      faults: [],
    });
    expect(rulingIn('JPY', sentRuling).faults).toMatchObject([
      { message: "orderValue: expected an amount without decimals, as JPY has them, such as 13, got '99.9'" },
    ]);
  });

  it.each(POSTED_RULING.required)('need %s (Document 3, Errors: UTS_240)', (name) => {
    expect(refused(ruling(), ruling({ [name]: null })).faults).toEqual([
      `UTS_240 claimUpdates[1].${name} must be set`,
    ]);
  });

  it.each(ALLOWED)('may set status %i (decisions C9)', (id) => {
    const message = id === 201 ? { statusMessageClaim: 'Display' } : {};
    expect(check(ruling({ statusIdClaim: id, ...message }))).toMatchObject([{ ruling: { statusId: id } }]);
  });

  it.each(FORBIDDEN)('may not set status %i: UTS_306 (Document 3, Errors: UTS_306; decisions C9)', (id) => {
    expect(refused(ruling({ statusIdClaim: id }))).toEqual({
      status: 403,
      faults: [`UTS_306 claimUpdates[0].statusIdClaim: expected 3 or one of 201 to 213, got '${id}'`],
    });
  });

  it.each([0, 4, 99, 117, 203, 214, -3])(
    'cannot set status %i, which does not exist: UTS_394 (Document 3, Errors: UTS_394; decisions C9)',
    (id) => {
      expect(refused(ruling({ statusIdClaim: id }))).toEqual({
        status: 400,
        faults: [`UTS_394 claimUpdates[0].statusIdClaim: expected 3 or one of 201 to 213, got '${id}'`],
      });
    },
  );

  it('need a status that is a number (Document 3, Errors: UTS_260)', () => {
    expect(refused(ruling({ statusIdClaim: 'approved' })).faults).toEqual([
      "UTS_260 claimUpdates[0].statusIdClaim: expected an integer, got 'approved'",
    ]);
  });
});

describe('the message of status 201 (Document 3, Claim update posted by an advertiser)', () => {
  it.each(CHANNELS)('may be %s', (statusMessageClaim) => {
    expect(check(ruling({ statusIdClaim: 201, statusMessageClaim }))).toMatchObject([
      { ruling: { message: statusMessageClaim } },
    ]);
  });

  it.each(['display', 'SEARCH', ' Email', 'TV'])(
    'is case-sensitive, and no other: %s (decisions C9)',
    (message) => {
      expect(refused(ruling({ statusIdClaim: 201, statusMessageClaim: message })).faults).toEqual([
        `UTS_430 claimUpdates[0].statusMessageClaim: expected one of ${CHANNELS.join(', ')}, got '${message}'`,
      ]);
    },
  );

  it('must be set: UTS_200 (Document 3, Errors: UTS_200; decisions C9)', () => {
    for (const statusMessageClaim of [undefined, null, ''])
      expect(refused(ruling({ statusIdClaim: 201, statusMessageClaim })).faults).toEqual([
        'UTS_200 claimUpdates[0].statusMessageClaim must be set where statusIdClaim is 201 ' +
          `(Attributed to another marketing channel): one of ${CHANNELS.join(', ')}`,
      ]);
  });

  it.each(['x'.repeat(256), 5, true, {}])(
    'is one fault, UTS_430, where it is no message at all: %p',
    (message) => {
      const { faults } = refused(ruling({ statusIdClaim: 201, statusMessageClaim: message }));
      expect(faults).toEqual([expect.stringMatching(/^UTS_430 claimUpdates\[0\]\.statusMessageClaim: /)]);
    },
  );

  it('is optional for other statuses, with at most 255 characters (decisions C9)', () => {
    const message = 'x'.repeat(255);
    expect(check(ruling({ statusIdClaim: 202, statusMessageClaim: message }))).toMatchObject([
      { ruling: { message } },
    ]);
    expect(refused(ruling({ statusIdClaim: 202, statusMessageClaim: `${message}x` })).faults).toEqual([
      expect.stringMatching(/^UTS_430 claimUpdates\[0\].statusMessageClaim: expected at most 255 characters/),
    ]);
  });
});

describe('corrections', () => {
  it.each(['orderValue', 'expectedCommission'])(
    'of %s are UTS_430 unless the claim is approved (Document 3, Errors: UTS_430; decisions C9)',
    (name) => {
      expect(refused(ruling({ statusIdClaim: 202, [name]: '12.50' })).faults).toEqual([
        `UTS_430 claimUpdates[0].${name}: expected none, unless statusIdClaim is 3, got '12.5'`,
      ]);
    },
  );
});

describe('updates on the legacy path', () => {
  const legacy = (changes: object = {}) => checkRulings(list(ruling(changes)), true);

  it('are of version 0, whatever versionNo says (Document 3, Legacy advertiser paths; decisions C8)', () => {
    expect(legacy({ versionNo: undefined })).toEqual([{ claimId: 7, version: 0, ruling: { statusId: 3 } }]);
    expect(legacy({ versionNo: 4 })).toEqual(legacy({ versionNo: undefined }));
    expect(ignoredIn(list(ruling()), postedLegacyRuling)).toEqual({ 'X-Ignored-Fields': 'versionNo' });
  });

  it.each([212, 213])('may not set status %i (Document 3, Limits: Statuses an advertiser may set)', (id) => {
    expect(refusalOf(() => legacy({ statusIdClaim: id })).faults).toEqual([
      `UTS_306 claimUpdates[0].statusIdClaim: expected 3 or one of 201 to 211, got '${id}'`,
    ]);
  });
});
