import { type Response } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { CLAIM_TOKENS, claimOf, claimWorld, errorsIn, xmlOf } from './claim-network';

const world = claimWorld();
const OPEN = 1;
beforeAll(async () => {
  expect((await world.create('open')).claimId).toBe(OPEN);
});

const codesIn = (answer: Response) => errorsIn(answer).map((error) => error.split(' ')[0]);

describe('error bodies (Document 3, Errors)', () => {
  const accept = { accept: 'application/xml; charset=utf-8' };

  it('of creations and updates are, in XML, a Response in the namespace of uts', async () => {
    const posted = await world.xml(
      '/claims',
      xmlOf('claims', [claimOf('a', { programId: 'x' })]),
      'preisblick',
    );
    const updated = await world.xml('/claimUpdates', xmlOf('claimUpdates', [{ claimId: 'x' }]), 'nord');
    const legacy = await world.xml('/uts/claimUpdates', '<x/>', 'nord');
    expect(posted.body).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><Response xmlns="https://api.example/1.0/uts"><errors><e>' +
        "<code>UTS_260</code><message>claims[0].programId: expected an integer, got 'x'</message>" +
        '</e></errors></Response>',
    );
    expect([posted, updated, legacy].map(({ statusCode }) => statusCode)).toEqual([400, 400, 400]);
    const documents = [posted, updated, legacy].map(({ body }) => body);
    expect(await faultsBySchema(world.app, 'ClaimErrors_v1_0.xsd', documents)).toEqual([]);
  });

  it('of deletions are, in XML, errors with error elements', async () => {
    const path = `/claims/${OPEN}`;
    const refused = await world.send('DELETE', `${path};versionNo=9`, 'preisblick', { headers: accept });
    const missing = await world.send('DELETE', path, 'preisblick', { headers: accept });
    const noToken = await world.app.delete(`/1.0${path}`, { headers: accept });
    expect(missing.body).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><errors><error><code>UTS_200</code>' +
        `<message>versionNo is missing: /1.0${path};versionNo=…</message></error></errors>`,
    );
    const documents = [refused, missing, noToken].map(({ body }) => body);
    expect(await faultsBySchema(world.app, 'ClaimDeletionErrors_v1_0.xsd', documents)).toEqual([]);
  });

  it('are in the format that Accept prefers, whatever was posted (decisions A1)', async () => {
    const json = { 'content-type': 'application/json; charset=utf-8' };
    const xml = { 'content-type': 'application/xml; charset=utf-8' };
    const types = await Promise.all(
      [
        { headers: { ...json, ...accept }, body: '{' },
        { headers: { ...xml, accept: 'application/json' }, body: '<' },
        { headers: xml, body: '<' },
        { headers: { ...json, accept: '*/*' }, body: '{' },
      ].map(
        async (request) =>
          (await world.send('POST', '/claims', 'preisblick', request)).headers['content-type'],
      ),
    );
    const [asJson, asXml] = ['application/json; charset=utf-8', 'application/xml; charset=utf-8'];
    expect(types).toEqual([asXml, asJson, asXml, asJson]);
  });

  it('on legacy paths are in the format of the extension (Document 3, Conventions)', async () => {
    const xml = await world.send('GET', '/uts/claims.xml;statusId=x', 'nord');
    const json = await world.send('GET', '/uts/claims.json;statusId=x', 'nord', { headers: accept });
    expect([xml.body.slice(38, 47), codesIn(json)]).toEqual(['<Response', ['UTS_260']]);
  });
});

describe('a body without a content type', () => {
  it('is UTS_370, and an empty one UTS_420 (Document 3, Errors: UTS_370, UTS_420)', async () => {
    const url = `/1.0/claims?token=${CLAIM_TOKENS.preisblick}`;
    const without = await world.app.http.inject({ method: 'POST', url, payload: '{"claims":[]}' });
    const empty = await world.send('POST', '/claims', 'preisblick', {
      headers: { 'content-type': '' },
      body: '{}',
    });
    expect([without, empty].map((answer) => [answer.statusCode, codesIn(answer)])).toEqual([
      [415, ['UTS_370']],
      [415, ['UTS_420']],
    ]);
  });
});
