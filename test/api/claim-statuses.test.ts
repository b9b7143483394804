import { faultsBySchema } from '../support/xml-schemas';
import { claimWorld, errorsIn } from './claim-network';
import { STATUS_FIELDS, STATUS_TABLE } from './claim-tables';

const world = claimWorld();

const rows = STATUS_TABLE.map(([statusId, statusName, statusState, requireStatusMessage]) => ({
  statusId,
  statusName,
  statusState,
  requireStatusMessage,
}));
const legacy = rows.filter(({ statusId }) => statusId <= 211);

describe('the list of statuses', () => {
  it.each(['nord', 'preisblick'] as const)(
    'has each row of the status table, for %s (Document 3, States and transitions; Document 3, Status)',
    async (client) => {
      const answer = await world.send('GET', '/claimStatuses', client);
      expect([answer.statusCode, answer.json()]).toEqual([200, rows]);
      expect(Object.keys(rows[0]!)).toEqual(STATUS_FIELDS);
    },
  );

  it('ends at 211 on the legacy path (Document 3, Legacy advertiser paths; decisions C8)', async () => {
    for (const path of ['/uts/claimStatuses', '/uts/claimStatuses.json'])
      expect((await world.send('GET', path, 'nord')).json()).toEqual(legacy);
    const xml = await world.send('GET', '/uts/claimStatuses.xml', 'nord');
    expect([xml.headers['content-type'], xml.body.match(/<statusId>/g)?.length]).toEqual([
      'application/xml; charset=utf-8',
      legacy.length,
    ]);
  });

  it('is XML if Accept says so, and pretty if asked (Document 3, Endpoints: Current paths)', async () => {
    const headers = { accept: 'application/xml; charset=utf-8' };
    const answer = await world.send('GET', '/claimStatuses', 'nord', { headers });
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
    expect(answer.body).toContain(
      '<claimStatus><statusId>111</statusId><statusName>Already tracked for other publisher</statusName>' +
        '<statusState>REJECTED</statusState><requireStatusMessage>true</requireStatusMessage></claimStatus>',
    );
    expect(await faultsBySchema(world.app, 'ClaimStatuses_v1_0.xsd', [answer.body])).toEqual([]);
    const pretty = await world.send('GET', '/claimStatuses;pretty=true', 'nord');
    expect(pretty.body).toContain('\n');
    expect(pretty.json()).toEqual(rows);
  });

  it('may be read from pages of other origins (Document 3, Conventions)', async () => {
    const headers = { origin: 'https://shop.example' };
    for (const path of ['/claimStatuses', '/uts/claimStatuses.xml']) {
      const answer = await world.send('GET', path, 'nord', { headers });
      expect(answer.headers['access-control-allow-origin']).toBe('*');
    }
  });

  it('on the legacy path is for advertisers only (Document 3, Errors: UTS_304; decisions C1)', async () => {
    const answer = await world.send('GET', '/uts/claimStatuses', 'preisblick');
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      403,
      ['UTS_304 the token is one of a publisher: expected advertiser'],
    ]);
  });
});
