import { type Response } from '../support/app';
import { XML_UTF8 } from './posted';
import { refusalOf, voucher, VOUCHER_TOKENS, voucherWorld } from './voucher-network';

const world = voucherWorld();
const token = VOUCHER_TOKENS.nord;

const tryPost = (posted: object, path = ''): Promise<Response> =>
  world.app.post(`/1.0/vouchers${path};dryRun=true`, { token, body: JSON.stringify(posted) });

describe('dryRun=true of vouchers (decisions A15)', () => {
  it('answers the id of a voucher that would be edited, and 0 for a new one', async () => {
    const id = await world.create({ sourceId: 'lamps' });
    const other = await world.create({ programId: 102 });
    const before = await world.app.engines.log.head();
    const answers = [
      await tryPost(voucher({ sourceId: 'lamps', title: 'New' })),
      await tryPost(voucher({ sourceId: 'sofas' })),
      await tryPost(voucher()),
      await tryPost(voucher({ programId: 102, sourceId: String(other) })),
      await tryPost(voucher({ programId: 101, sourceId: String(other) })),
    ];
    expect(answers.map((answer) => answer.json<unknown>())).toEqual([[id], [0], [0], [other], [0]]);
    expect(answers.map(({ headers }) => headers['x-dry-run'])).toEqual(Array(5).fill('true'));
    const xml = await world.app.post('/1.0/vouchers.xml;dryRun=TRUE', {
      token,
      body: JSON.stringify(voucher()),
    });
    expect(xml.body).toMatch(/<long>0<\/long>$/);
    expect(await world.app.engines.log.head()).toBe(before);
    expect((await world.list('', 'nord')).map(({ title }) => title)).not.toContain('New');
  });

  it('does not find a voucher that was removed', async () => {
    await world.remove(await world.create({ sourceId: 'gone' }));
    expect((await tryPost(voucher({ sourceId: 'gone' }))).json()).toEqual([0]);
  });

  it('refuses as a post does, and marks the refusal', async () => {
    const answer = await tryPost(voucher({ title: undefined }));
    expect([refusalOf(answer).codes, answer.headers['x-dry-run']]).toEqual(['400 101', 'true']);
  });

  it('answers for each voucher of a bulk post', async () => {
    const id = await world.create({ sourceId: 'lamps' });
    const before = await world.app.engines.log.head();
    const answer = await tryPost(
      [voucher({ sourceId: 'lamps' }), voucher(), voucher({ title: '' }), voucher({ sourceId: 'lamps' })],
      '/bulk',
    );
    const refused = { errors: [{ code: '101', message: 'title must be set' }] };
    expect(answer.json()).toEqual([{ id }, { id: 0 }, refused, { id }]);
    expect(answer.headers['x-dry-run']).toBe('true');
    expect(await world.app.engines.log.head()).toBe(before);
  });
});

describe('posts of vouchers', () => {
  it('with an unknown key are refused, and store nothing (decisions A14)', async () => {
    const before = await world.app.engines.log.head();
    const target = '/1.0/vouchers;foo=1';
    const answer = await world.app.post(target, { token, body: JSON.stringify(voucher()) });
    expect(refusalOf(answer)).toEqual({
      codes: '400 101',
      message: 'foo=1: unknown key; expected one of: dryRun, pretty',
    });
    expect(refusalOf(await world.app.delete('/1.0/vouchers/1;dryRun=true', { token })).codes).toBe('400 101');
    expect(await world.app.engines.log.head()).toBe(before);
  });

  it('name unknown fields in X-Ignored-Fields, stored or refused, in JSON and XML (decisions A15)', async () => {
    const odd = { colour: 'red', titel: 'x', z: null };
    const one = await world.post(voucher(odd));
    expect([one.statusCode, one.headers['x-ignored-fields']]).toEqual([200, 'colour, titel, z']);
    const refused = await world.post(voucher({ ...odd, title: undefined }));
    expect([refused.statusCode, refused.headers['x-ignored-fields']]).toEqual([400, 'colour, titel, z']);
    const bulk = await world.app.post('/1.0/vouchers/bulk', {
      token,
      body: JSON.stringify([voucher({ a: 1 }), 7, voucher({ b: 1, a: 2, title: '' })]),
    });
    expect(bulk.headers['x-ignored-fields']).toBe('a, b');
    const fields = Object.entries(voucher()).map(([name, value]) => `<${name}>${String(value)}</${name}>`);
    const body = `<voucher id="7">${fields.join('')}<colour>red</colour><siteId/></voucher>`;
    const xml = await world.app.post('/1.0/vouchers', { token, headers: XML_UTF8, body });
    expect([xml.statusCode, xml.headers['x-ignored-fields']]).toEqual([200, '%40id, colour']);
    expect((await world.post(voucher())).headers).not.toHaveProperty('x-ignored-fields');
  });
});
