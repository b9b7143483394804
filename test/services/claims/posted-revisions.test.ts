import { type Field } from '../../../src/wire/record/record';
import { postedRevision, readPosted } from '../../../src/services/claims/claims-body';
import { checkClaims, checkRevisions } from '../../../src/services/claims/claim-check';
import { POSTED_REVISION } from '../../api/claim-tables';
import { small } from '../../network/small-directory';
import { claim, refusalOf } from './posted';

const directory = small();
const caller = { organisationId: 5 };

describe('updates posted by a publisher', () => {
  const update = (changes: object = {}) => ({ ...claim(), claimId: 7, versionNo: 2, ...changes });
  const list = (...items: readonly unknown[]) =>
    readPosted('claimUpdates', Buffer.from(JSON.stringify({ claimUpdates: items })), 'json');
  const revise = (...items: readonly unknown[]) => checkRevisions(list(...items), { directory, caller });

  it('have the fields of the document (Document 3, Claim update posted by a publisher)', () => {
    const fields = Object.entries<Field>(postedRevision.fields);
    const required = fields.filter(([, field]) => field.required === true).map(([name]) => name);
    expect(required.sort()).toEqual(POSTED_REVISION.required.toSorted());
    expect(fields.map(([name]) => name).sort()).toEqual(
      [...POSTED_REVISION.required, ...POSTED_REVISION.optional].sort(),
    );
  });

  it('name the claim and its version, and replace its content', () => {
    const filed = readPosted('claims', Buffer.from(JSON.stringify({ claims: [claim()] })), 'json');
    const { siteId, orderValue } = checkClaims(filed, { directory, caller })[0]!.claim;
    expect(revise(update({ expectedCommission: '7.50' }))).toMatchObject([
      { claimId: 7, version: 2, claim: { siteId, orderValue, expectedCommission: 750 } },
    ]);
    expect(Object.keys(revise(update())[0]!.claim)).not.toContain('versionNo');
  });

  it.each(POSTED_REVISION.required)('need %s (Document 3, Errors: UTS_240)', (name) => {
    expect(refusalOf(() => revise(update({ [name]: undefined }))).faults).toEqual([
      `UTS_240 claimUpdates[0].${name} must be set`,
    ]);
  });

  it('are checked like claims (Document 3, Errors: UTS_396, UTS_430)', () => {
    const { faults } = refusalOf(() => revise(update({ affiliateSiteId: 61, eventId: 311 })));
    expect(faults.map((fault) => fault.slice(0, 39))).toEqual([
      'UTS_396 claimUpdates[0].affiliateSiteId',
      'UTS_430 claimUpdates[0].expectedCommiss',
    ]);
  });
});
