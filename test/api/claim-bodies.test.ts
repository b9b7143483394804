import { type Response } from '../support/app';
import { claimOf, claimWorld, errorsIn } from './claim-network';

const world = claimWorld();

const post = (body: string): Promise<Response> =>
  world.send('POST', '/claims', 'preisblick', {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body,
  });

const numbers = async (): Promise<readonly string[]> =>
  (await world.list()).map(({ orderNumber }) => orderNumber);

describe('a posted list of claims (decisions C3, C7)', () => {
  const two = (first: string, second: string): string =>
    `{${first}:[${JSON.stringify(claimOf('lost'))}],${second}:[${JSON.stringify(claimOf('kept'))}]}`;

  it.each([
    ['as it is', two('"claims"', '"claims"')],
    ['with escapes', two('"claims"', String.raw`"cl\u0061ims"`)],
  ])('that is there twice is UTS_211, %s: no claim is lost silently', async (_, body) => {
    const answer = await post(body);
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      400,
      ['UTS_211 claims is there more than once: expected one list'],
    ]);
    expect(await numbers()).toEqual([]);
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
