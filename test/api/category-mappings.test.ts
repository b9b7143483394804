import { CATEGORY_MAPPINGS } from '../../src/network/categories/category-mappings';
import { TestApp } from '../support/app';
import { answerIn } from '../support/openapi';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product } from './posted';
import { el, parse } from './xml-elements';

const { german, swedish, italian } = FEEDS;

let app: TestApp;
const { post } = clientOf(() => app);
const ask = (keys: string, extension = '') =>
  app.get(`/1.0/categoryMappings${extension}${keys}`, { token: TOKENS.nord });
const mappings = async (keys: string) => {
  const response = await ask(keys);
  expect(response.statusCode).toBe(200);
  return answerIn(CATEGORY_MAPPINGS, response.json()).categoryMappings;
};

beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  await post(german, [
    product('a', { categories: [{ name: 'Over-Ear' }, { name: 'Cables' }] }),
    product('b', { categories: [{ name: 'Cables' }, { name: 'Cables' }] }),
    product('c', { categories: [{ name: 'Cables', id: '12' }] }),
    product('d', { categories: [{ id: '111' }] }),
    product('e', { categories: [{ name: '', tdCategoryName: 'Home', id: '12' }] }),
  ]);
  await post(swedish, [product('a', { categories: [{ name: 'Lampor' }] })]);
  await app.settled();
});
afterAll(() => app.close());

const overEar = {
  feedId: german,
  categoryName: 'Over-Ear',
  productCount: 1,
  state: 'mapped',
  tdCategoryId: '11',
  tdCategoryName: 'Headphones',
};
const cables = { feedId: german, categoryName: 'Cables', productCount: 2, state: 'unmapped' };
const lampor = { feedId: swedish, categoryName: 'Lampor', productCount: 1, state: 'unmapped' };

describe('the category mapping status (Document 1, Category mapping status)', () => {
  it('lists the unmapped categories of a feed (decisions P21)', async () => {
    expect(await mappings(`;fid=${german};state=unmapped`)).toEqual([cables]);
  });

  it('lists the mapped ones with their targets; one with two mappings is listed twice (decisions P21)', async () => {
    const listed = await mappings(`;fid=${german};state=mapped`);
    expect(listed).toContainEqual(overEar);
    expect(listed).toContainEqual({
      ...cables,
      productCount: 1,
      state: 'mapped',
      tdCategoryId: '12',
      tdCategoryName: 'Speakers',
    });
  });

  it('names a category that was posted without a name by its id (decisions X28)', async () => {
    const listed = await mappings(`;fid=${german};state=mapped`);
    expect(listed.find(({ tdCategoryId }) => tdCategoryId === '111')?.categoryName).toBe('111');
    expect(listed.map(({ categoryName }) => categoryName)).toContain('Home');
  });

  it.each(['', ';state='])('lists both with %j (decisions P21)', async (state) => {
    const both = await mappings(`;fid=${german}${state}`);
    const mapped = await mappings(`;fid=${german};state=mapped`);
    expect(both).toHaveLength(mapped.length + 1);
    expect(both).toEqual(expect.arrayContaining([cables, ...mapped]));
  });

  it.each([`;fid=${german},${swedish}`, `;fid=${german};fid=${swedish}`])(
    'of several feeds: %s',
    async (fids) => {
      expect(await mappings(`${fids};state=unmapped`)).toEqual([cables, lampor]);
    },
  );

  it('follows a mapping and its removal immediately', async () => {
    await app.import({ mappings: [{ feedId: swedish, name: 'Lampor', categoryId: '21' }] });
    await app.settled();
    const mapped = { ...lampor, state: 'mapped', tdCategoryId: '21', tdCategoryName: 'Lamps' };
    expect(await mappings(`;fid=${swedish}`)).toEqual([mapped]);
    await app.import(NETWORK, { prune: true });
    await app.settled();
    expect(await mappings(`;fid=${swedish}`)).toEqual([lampor]);
  });

  it('is in XML by extension or by format, which overrides the extension (decisions P21)', async () => {
    const expected = el(
      'categoryMappings',
      {},
      el('categoryMapping', { ...lampor, feedId: `${swedish}`, productCount: '1' }),
    );
    expect(await parse((await ask(`;fid=${swedish}`, '.xml')).body)).toEqual(expected);
    expect(await parse((await ask(`;fid=${swedish};format=xml`, '.json')).body)).toEqual(expected);
    expect((await ask(`;fid=${swedish};format=json`, '.xml')).json()).toEqual({ categoryMappings: [lampor] });
  });

  it('supports pretty and jsonp (Document 1, Conventions 5, 6)', async () => {
    expect((await ask(`;fid=${swedish};pretty=true`)).body).toMatch(/^\{\n {2}"categoryMappings": \[\n/);
    expect((await ask(`;fid=${swedish}?jsonp=f`)).body).toMatch(/^\/\*\*\/f\(\{"categoryMappings":\[\{/);
  });

  it.each([
    ['', '400 PF_200'],
    [`;fid=${german},x`, '400 PF_260'],
    [`;fid=${german}|${swedish}`, '400 PF_270'],
    [`;fid=${german},${italian}`, '400 PF_392'],
    [`;fid=${german};state=both`, '400 PF_430'],
    [`;fid=${german};format=csv`, '400 PF_430'],
  ])('refuses %j with %s', async (keys, refusal) => {
    expect(outcome(await ask(keys))).toBe(refusal);
  });

  it('is for advertisers only (Document 1, Authentication 3)', async () => {
    const response = await app.get(`/1.0/categoryMappings;fid=${german}`, { token: TOKENS.preisblick });
    expect(outcome(response)).toBe('400 PF_300');
  });
});
