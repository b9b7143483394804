import { claimDecider } from '../../src/domain/claims/claim';
import { execute } from '../../src/kernel/decider';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { type Response } from '../support/app';
import { automatedClaims } from './automated-claims';
import { claimOf, claimWorld, INQUIRY, type Listed } from './claim-network';
import { OTHER_TOKENS } from './network';
import { reportOf, transactionClientOf } from './transaction-network';
import { DAY, NOW } from './voucher-network';

const world = claimWorld();
const transactions = transactionClientOf(() => world.app);
const { automate, stateOf } = automatedClaims(world);

const ask = (path: string, method: 'GET' | 'POST' = 'POST'): Promise<Response> =>
  world.app.request(method, `/ops/1.0/claims${path}`, { token: OTHER_TOKENS.operator });
const list = async (keys = ''): Promise<readonly string[]> =>
  (await ask(keys, 'GET')).json<readonly Listed[]>().map(({ orderNumber }) => orderNumber);
const refusal = ({ statusCode, body }: Response): string => `${statusCode} ${body}`;

/** Files a claim that expects more than its program pays: status 105. */
async function mismatched(orderNumber: string): Promise<number> {
  const { claimId, statusId } = await world.create(orderNumber, { expectedCommission: 100 });
  expect(statusId).toBe(105);
  return claimId;
}

describe('claims that are pending at the network (Document 3, States and transitions; decisions C14)', () => {
  it('are listed for operators, the oldest first', async () => {
    const id = await mismatched('first');
    await mismatched('second');
    await world.create('awaits');
    expect(await list()).toEqual(['first', 'second']);
    expect(await list(';limit=1;offset=1')).toEqual(['second']);
    expect(await list(`;claimId=${id}`)).toEqual(['first']);
    expect(await list(';programId=102')).toEqual([]);
    expect(await list(';statusId=2')).toEqual(['awaits']);
    const answer = await ask(';limit=1', 'GET');
    expect(answer.headers['x-total-count']).toBe('2');
    expect(answer.json()).toMatchObject([{ claimId: id, statusId: 105, expectedCommission: '100.00' }]);
    expect(refusal(await ask(';limit=0', 'GET'))).toMatch(/^400 .*limit=0/);
    const foreign = await world.app.get('/ops/1.0/claims', {
      token: OTHER_TOKENS.operator.replace(/^./, 'x'),
    });
    expect(foreign.statusCode).toBe(403);
  });

  it('are released: their advertiser rules on them, and their days start then (decisions C11)', async () => {
    const id = await mismatched('released');
    world.passTo(NOW + DAY);
    const answer = await ask(`/${id}/release;versionNo=0`);
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
    expect(await stateOf(id)).toMatchObject({ statusId: 2, version: 0 });
    expect(await list(`;claimId=${id}`)).toEqual([]);
    const [listed] = await world.list(`;claimId=${id}`, 'nord');
    expect(listed).toMatchObject({ statusId: 2, versionNo: 0, daysToAutoApprove: 30 });
    await automate(NOW + 31 * DAY - 1);
    expect(await stateOf(id)).toMatchObject({ statusId: 2 });
    await automate(NOW + 31 * DAY);
    expect(await stateOf(id)).toMatchObject({ statusId: 3 });
  });

  it('are not released if their order has been tracked: they get the status of screening (decisions C5)', async () => {
    const id = await mismatched('tracked meanwhile');
    expect((await transactions.report(reportOf('tracked meanwhile'))).statusCode).toBe(201);
    await world.app.settled();
    expect((await ask(`/${id}/release;versionNo=0`)).statusCode).toBe(204);
    expect(await stateOf(id)).toMatchObject({ statusId: 107 });
  });

  it('are rejected by any status that rejects; the publisher sees by whom, and may delete them', async () => {
    const id = await mismatched('rejected');
    expect((await ask(`/${id}/reject;versionNo=0;statusId=211;message=Ask+for+less`)).statusCode).toBe(204);
    const versions = await world.send('GET', `/claims/${id}/versions`, 'preisblick');
    expect(versions.json()).toMatchObject([
      { by: 'publisher', statusId: 105 },
      { by: 'operator', statusId: 211, statusMessage: 'Ask for less', versionNo: 0 },
    ]);
    const inXml = await world.send('GET', `/claims/${id}/versions.xml`, 'preisblick');
    expect(inXml.body).toContain('<by>operator</by>');
    expect((await world.send('DELETE', `/claims/${id};versionNo=0`, 'preisblick')).statusCode).toBe(200);
  });

  it('may be corrected by their publisher after a rejection of 1XX', async () => {
    const id = await mismatched('corrected');
    expect((await ask(`/${id}/reject;versionNo=0;statusId=104`)).statusCode).toBe(204);
    const update = { ...claimOf('corrected'), claimId: id, versionNo: 0 };
    const answer = await world.json('/claimUpdates', { claimUpdates: [update] }, 'preisblick');
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(await stateOf(id)).toMatchObject({ statusId: 2, version: 1 });
  });

  it.each([
    ['reject;versionNo=0;statusId=2', /^400 .*statusId=2: expected one that rejects: 101, /],
    ['reject;versionNo=0;statusId=105', /^400 .*statusId=105/],
    ['reject;versionNo=0;statusId=999', /^400 .*statusId=999/],
    ['reject;versionNo=0', /^400 .*statusId is missing/],
    ['reject;versionNo=0;statusId=201', /^400 .*message is missing: status 201/],
    ['reject;versionNo=0;statusId=111', /^400 .*message is missing: status 111/],
    ['reject;versionNo=0;statusId=201;message=search', /^400 .*expected one of Display, Search/],
    [
      `reject;versionNo=0;statusId=205;message=${'x'.repeat(256)}`,
      /^400 .*256 characters: expected at most 255/,
    ],
    ['reject;versionNo=0;statusId=205;message=%01', /^400 .*XML/],
    ['release', /^400 .*versionNo is missing/],
    ['release;versionNo=1', /^409 .*latest version of the claim is 0/],
    ['reject;versionNo=1;statusId=205', /^409 .*latest version of the claim is 0/],
  ])('stay as they are after %s', async (path, expected) => {
    const id = await mismatched(path.slice(0, 200));
    expect(refusal(await ask(`/${id}/${path}`))).toMatch(expected);
    expect(await stateOf(id)).toMatchObject({ statusId: 105 });
  });

  it('are all that operators decide: any other status is 409, an unknown claim 404', async () => {
    const { claimId } = await world.create('not theirs');
    expect(refusal(await ask(`/${claimId}/release;versionNo=0`))).toMatch(/^409 .*"409".*status 2/);
    expect(refusal(await ask('/999/release;versionNo=0'))).toMatch(/^404 .*"404".*999/);
    expect(refusal(await ask('/x/release;versionNo=0'))).toMatch(/^400 /);
  });

  it('are pending also when they could not be validated, and are not screened again once decided', async () => {
    const { log } = world.app.engines;
    const claim = {
      ...{
        siteId: 1101,
        programId: 101,
        transactionDate: '2026-02-20',
        eventId: INQUIRY,
        orderNumber: 'unread',
      },
      ...{ orderValue: 10_000, expectedCommission: 750 },
    };
    const origin = { publisherId: 11, advertiserId: 1, currencyId: 'EUR' };
    const at = new Date(NOW).toISOString();
    const screening = { statusId: 100 } as const;
    await execute(SYSTEM_CLOCK, log, claimDecider, 7000, { do: 'file', at, origin, claim, screening });
    await world.app.settled();
    expect(await list(';claimId=7000')).toEqual(['unread']);
    expect((await ask('/7000/reject;versionNo=0;statusId=204')).statusCode).toBe(204);
    await automate(NOW + 1000);
    expect(await stateOf(7000)).toMatchObject({ statusId: 204 });
  });
});
