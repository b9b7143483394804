import { legacyListKeys, listKeys } from '../../../src/services/claims/claim.queries';

/** The orders as the document calls them, and the fields that they are. */
const LEGACY = [
  ['Claim ID', 'claimId'],
  ['program name', 'programName'],
  ['site name', 'siteName'],
  ['status change', 'statusChanged'],
] as const;
const CURRENT_ONLY = [
  ['timeStamp', 'timeStamp'],
  ['timeStampEvent', 'timeStampEvent'],
  ['orderNumber', 'orderNumber'],
] as const;

describe('sortBy (Document 3, List keys; decisions C8)', () => {
  it.each([...LEGACY, ...CURRENT_ONLY])(
    'takes %s as %s, in any case, with spaces or without',
    (text, order) => {
      for (const spelling of [text, text.toUpperCase(), text.replaceAll(' ', ''), order, ` ${order} `])
        expect([spelling, listKeys.sortBy.type.read(spelling)]).toEqual([spelling, order]);
    },
  );

  it.each(LEGACY)('takes %s on the legacy path too (Document 3, Legacy advertiser paths)', (text, order) => {
    expect(legacyListKeys.sortBy.type.read(text)).toBe(order);
  });

  it.each(CURRENT_ONLY)(
    'does not take %s on the legacy path (Document 3, Legacy advertiser paths)',
    (text) => {
      expect(legacyListKeys.sortBy.type.read(text)).toBeUndefined();
    },
  );
});

describe('sortOrder (Document 3, List keys)', () => {
  it.each(['asc', 'desc', 'ASC'])('takes %s', (text) => {
    expect(listKeys.sortOrder.type.read(text)).toBe(text.toLowerCase());
  });

  it.each(['up', 'ascending', ''])('does not take "%s"', (text) => {
    expect(listKeys.sortOrder.type.read(text)).toBeUndefined();
  });
});
