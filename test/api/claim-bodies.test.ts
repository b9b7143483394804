import { type Response } from '../support/app';
import { claimOf, claimWorld, errorsIn, xmlOf } from './claim-network';

const world = claimWorld();

const post = (body: string, contentType = 'application/json; charset=utf-8'): Promise<Response> =>
  world.send('POST', '/claims', 'preisblick', { headers: { 'content-type': contentType }, body });

const numbers = async (): Promise<readonly string[]> =>
  (await world.list()).map(({ orderNumber }) => orderNumber);

describe('a posted list of claims (decisions C3, C7)', () => {
  const one = JSON.stringify({ claims: [claimOf('kept')] });
  const inXml = xmlOf('claims', [claimOf('kept'), claimOf('kept too', { epi: 'b' })]);
  const two = (first: string, second: string): string =>
    `{${first}:[${JSON.stringify(claimOf('lost'))}],${second}:[${JSON.stringify(claimOf('kept'))}]}`;
  const json = 'application/json; charset=utf-8';
  const xml = 'application/xml; charset=utf-8';
  const twice = '"orderValue":1,"orderValue":100';

  it.each([
    ['the list', 'claims', json, two('"claims"', '"claims"')],
    ['the list, with escapes', 'claims', json, two('"claims"', String.raw`"cl\u0061ims"`)],
    ['a field', 'claims[0].orderValue', json, one.replace('"orderValue":100', twice)],
    ['a field that is the same', 'claims[0].epi', json, one.replace('{"aff', '{"epi":"a","epi":"a","aff')],
    ['an unknown field', 'claims[0].colour', json, one.replace('{"aff', '{"colour":1,"colour":2,"aff')],
    ['an element', 'claims[1].epi', xml, inXml.replace('<c:epi>', '<c:epi>a</c:epi><c:epi>')],
  ])('with %s twice is UTS_211, by name: no value is lost silently', async (_, path, type, body) => {
    const answer = await post(body, type);
    expect([answer.statusCode, answer.body]).toEqual([
      400,
      expect.stringContaining(`${path} is given more than once: expected one value`),
    ]);
    expect(answer.body).toContain('UTS_211');
    expect(await numbers()).toEqual([]);
  });

  it('with another list beside it is UTS_211, in JSON as in XML', async () => {
    const both = JSON.stringify({ claims: [claimOf('kept')], claimUpdates: [{ claimId: 1 }] });
    const answer = await post(both);
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      400,
      ['UTS_211 expected an object with claims alone, found claimUpdates'],
    ]);
    const other = await post(inXml.replace('</claims>', '<claimUpdate/></claims>'), xml);
    expect(other.body).toContain('expected a root element claims with claim elements, found claimUpdate');
    expect(await numbers()).toEqual([]);
  });

  it('may have an unknown member beside the list, which is ignored (decisions C7)', async () => {
    const body = JSON.stringify({ version: '1.0', claims: [claimOf('enveloped')] });
    expect((await post(body)).statusCode).toBe(200);
    expect(await numbers()).toContain('enveloped');
  });

  it('may have an unknown element twice, which is ignored (decisions A15)', async () => {
    const body = xmlOf('claims', [claimOf('noted')]).replace('<c:orderValue>', '<note/><note/>$&');
    const answer = await post(body, xml);
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, 'note']);
    expect(await numbers()).toContain('noted');
  });

  it('may have a byte order mark, and its numbers are named as they were sent', async () => {
    const body = JSON.stringify({ claims: [claimOf('marked', { programId: 9876 })] });
    const answer = await post(`\ufeff${body.replace('9876', '90071992547409931')}`);
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      400,
      [expect.stringMatching(/^UTS_\d+ claims\[0\]\.programId: expected .*got '90071992547409931'$/)],
    ]);
  });

  it('of updates has at most 1,000 faults in its answer, whatever they come from', async () => {
    const { claimId } = await world.create('mine');
    await world.create('taken');
    const update = { ...claimOf('taken'), claimId, versionNo: 0 };
    const answer = await world.rule(
      Array.from({ length: 1000 }, () => update),
      'preisblick',
    );
    const errors = errorsIn(answer);
    expect([answer.statusCode, errors.length]).toEqual([409, 1001]);
    expect(errors.at(-1)).toMatch(/^UTS_213 999 more errors/);
  });
});
