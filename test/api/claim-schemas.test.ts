import { faultsBySchema } from '../support/xml-schemas';
import { claimOf, claimWorld, xmlOf } from './claim-network';

const world = claimWorld();

/** Every field that is not required. */
const FURTHER = {
  epi: 'a',
  epi2: 'b',
  trackingUrl: 'https://clk.example/',
  productName: 'Lamp',
  proofOfClaims: 'https://proof.example/',
  advertiserInformation: 'By phone',
} as const;

describe('bodies in XML', () => {
  it('are valid by the schema that is served, in the namespaces of the document (Document 3, Claim posted by a publisher)', async () => {
    const revision = { ...claimOf('a', FURTHER), claimId: 1, versionNo: 0 };
    const ruling = { claimId: 1, statusIdClaim: 201, statusMessageClaim: 'Email', versionNo: 0 };
    const documents = [
      xmlOf('claims', [claimOf('a', FURTHER), claimOf('b')]),
      xmlOf('claimUpdates', [revision, ruling]),
    ];
    expect(await faultsBySchema(world.app, 'ClaimsInput_v1_0.xsd', documents)).toEqual([]);
  });

  it('on the legacy path have a schema of their own', async () => {
    const legacy = xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3, orderValue: 5 }]);
    expect(await faultsBySchema(world.app, 'LegacyClaimsInput_v1_0.xsd', [legacy])).toEqual([]);
    const current = xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3, versionNo: 0 }]);
    expect(await faultsBySchema(world.app, 'LegacyClaimsInput_v1_0.xsd', [current])).not.toEqual([]);
  });

  it.each([
    ['a field that is unknown', xmlOf('claims', [claimOf('a', { colour: 1 })])],
    ['a field that is missing', xmlOf('claims', [claimOf('a', { programId: undefined })])],
    ['an amount with a comma', xmlOf('claims', [claimOf('a', { orderValue: '1,5' })])],
    ['another date', xmlOf('claims', [claimOf('a', { timeStampEvent: '1.1.2026' })])],
    ['another namespace', xmlOf('claims', [claimOf('a')]).replace('xml:common', 'xml:other')],
    ['no version', xmlOf('claims', [claimOf('a')]).replace(' version="1.0" xmlns=', ' xmlns=')],
    ['an update without its version', xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3 }])],
  ])('with %s are not valid', async (_, body) => {
    expect(await faultsBySchema(world.app, 'ClaimsInput_v1_0.xsd', [body])).not.toEqual([]);
  });
});
