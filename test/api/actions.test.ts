import { type ListedAction } from '../../src/operations/actions';
import { tokenHash } from '../../src/network/organisations';
import { TestApp } from '../support/app';
import { FEEDS, NETWORK, OTHER_TOKENS, TOKENS } from './network';

const token = OTHER_TOKENS.operator;
const fingerprint = tokenHash(token).slice(0, 12);
const fid = FEEDS.german;

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

type Answered = Omit<ListedAction, 'by' | 'asked'> & {
  readonly by: string;
  readonly asked: readonly object[];
};

async function listed(keys = ''): Promise<readonly Answered[]> {
  const answer = await app.get(`/ops/1.0/actions${keys}`, { token });
  expect(answer.statusCode).toBe(200);
  return answer.json<readonly Answered[]>();
}

async function map(name: string, keys = '', categoryId = '11'): Promise<number> {
  const body = JSON.stringify({ mappings: [{ feedId: fid, name, categoryId }] });
  return (await app.post(`/ops/1.0/mappings${keys}`, { token, body })).statusCode;
}

describe('GET /ops/1.0/actions (decisions X117)', () => {
  it('lists what was changed over HTTP: by the fingerprint of the token, with the reason', async () => {
    expect(await map('Recorded', ';reason=The%20season%20begins')).toBe(200);
    const unmapped = await app.request('DELETE', `/ops/1.0/mappings;fid=${fid};name=Recorded`, { token });
    expect(unmapped.statusCode).toBe(200);
    const [unmap, mapping, ...others] = await listed();
    expect(others).toEqual([]);
    expect(mapping).toMatchObject({
      action: 'mappings import',
      by: `token ${fingerprint} of organisation 90`,
      reason: 'The season begins',
      asked: [{ name: 'lines', value: '1' }],
      state: 'done',
    });
    expect(unmap).toMatchObject({
      action: 'mappings unmap',
      asked: [
        { name: 'fid', value: String(fid) },
        { name: 'name', value: 'Recorded' },
      ],
    });
    expect(await listed(`;before=${unmap?.number}`)).toEqual([mapping]);
    expect(await listed(';limit=1')).toEqual([unmap]);
    expect(await listed(';action=mappings%20import')).toEqual([mapping]);
    const log = await app.get('/ops/1.0/log;stream=operator-actions', { token });
    expect(log.body.split('\n')[0]).toContain('"OperatorActed"');
    expect(log.body).not.toContain(tokenHash(token));
  });

  it('what is refused, and what changes nothing, is not listed', async () => {
    const before = await listed();
    expect(await map('Other', '', 'none')).toBe(400);
    await app.request('DELETE', `/ops/1.0/mappings;fid=${fid};name=Unknown`, { token });
    expect(await map('Other', `;reason=${'x'.repeat(1001)}`)).toBe(400);
    expect((await app.post('/ops/1.0/claims/9999/release;versionNo=0', { token })).statusCode).toBe(404);
    expect((await app.request('DELETE', '/ops/1.0/asOf/none', { token })).statusCode).toBe(404);
    expect(await listed()).toEqual(before);
    expect((await app.get('/ops/1.0/actions', { token: TOKENS.nord })).statusCode).toBe(403);
  });

  it('a build that answers at once is listed as done when it has ended', async () => {
    expect(await map('Recorded again')).toBe(200);
    await app.settled();
    const position = await app.engines.log.head();
    const built = await app.post(`/ops/1.0/asOf;name=then;projection=vouchers;position=${position}`, {
      token,
    });
    expect(built.statusCode).toBe(200);
    let [last] = await listed();
    while (last?.state === 'unfinished') [last] = await listed();
    expect(last).toMatchObject({ action: 'rebuild', state: 'done' });
    expect((await app.request('DELETE', '/ops/1.0/asOf/then', { token })).statusCode).toBe(204);
    expect((await listed())[0]).toMatchObject({ action: 'as-of drop', state: 'done' });
  });
});
