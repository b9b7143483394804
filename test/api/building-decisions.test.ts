import { type Identifiers } from '../../src/domain/products/feed';
import { groupingIdOf } from '../../src/domain/products/offer';
import { TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product, refusals, XML_UTF8 } from './posted';

const { german } = FEEDS;
const token = TOKENS.nord;

let app: TestApp;
let now = Date.parse('2026-03-01T12:00:00Z');
const { post, search } = clientOf(() => app);
beforeAll(async () => {
  // A clock that goes on each time somebody looks.
  app = await TestApp.start({ network: NETWORK, now: () => new Date((now += 1)) });
});
afterAll(() => app.close());

it('a post that is refused 10,050 times lists 10,000 faults and counts the other 50 (decisions X2)', async () => {
  const bad = Array.from({ length: 10_050 }, (_, at) => product(`bad-${at}`, { price: 'x' }));
  const faults = refusals(await post(german, bad));
  expect(faults.filter(({ sourceProductId = '' }) => sourceProductId.startsWith('bad-'))).toHaveLength(
    10_000,
  );
  expect(faults.slice(10_000)).toEqual([{ code: 'PF_430', message: '50 more faults are not listed' }]);
});

it('white space is trimmed from numbers in XML, and preserved in texts (decisions A11, X3)', async () => {
  const body = `<products><product sourceProductId="spaced">
    <name> Lamp </name> <description>D</description> <productUrl>https://a.example/</productUrl>
    <productImage>https://a.example/</productImage> <price>
      12.50
    </price> <inStock> 7 </inStock> <ean>
      4012345678901 </ean> <categories><category id="1"/></categories>
  </product></products>`;
  const answer = await app.post(`/1.0/products.json;fid=${german}`, { token, headers: XML_UTF8, body });
  expect(outcome(answer)).toBe('200');
  const { products } = await search(`;fid=${german};spId=spaced`);
  expect(products).toMatchObject([
    { name: ' Lamp ', inStock: 7, identifiers: { ean: '4012345678901' }, offers: [{ price: 12.5 }] },
  ]);
});

it('all products of a load, and of a deletion, have the same time of change (decisions X6)', async () => {
  await post(german, [product('a'), product('b'), product('c')]);
  const { products } = await search(`;fid=${german};spId=a,b,c`);
  expect(new Set(products.flatMap(({ offers }) => offers.map(({ modified }) => modified))).size).toBe(1);
  await app.delete(`/1.0/products;fid=${german};spId=a,b,c`, { token });
  const times = new Set<string>();
  for await (const events of app.engines.log.readStream(`feed-${german}`))
    for (const { type, data } of events)
      if (type === 'ProductDelisted') times.add((JSON.parse(data) as { at: string }).at);
  expect(times.size).toBe(1);
});

describe('a GTIN (decisions P8, X9)', () => {
  it.each<[Identifiers, string]>([
    [{ ean: '4012345678901' }, 'ean04012345678901'],
    [{ ean: '0004012345678901' }, 'ean04012345678901'],
    [{ ean: '17' }, 'ean00000000000017'],
    [{ ean: '40170725' }, 'ean00000040170725'],
    // In-store numbers: any shop may use them for anything.
    ...['0212345678901', '0412345678901', '2012345678901', '2912345678901', '20123451', '29123451'].map(
      (ean): [Identifiers, string] => [{ ean }, 'the offer'],
    ),
    ...['212345678901', '412345678901'].map((upc): [Identifiers, string] => [{ upc }, 'the offer']),
    [{ ean: '12012345678901' }, 'the offer'],
    [{ ean: '2012345678901', upc: '012345678905' }, 'ean00012345678905'],
    [{ ean: '0112345678901' }, 'ean00112345678901'],
    [{ ean: '0312345678901' }, 'ean00312345678901'],
    [{ ean: '0512345678901' }, 'ean00512345678901'],
    [{ ean: '1912345678901' }, 'ean01912345678901'],
    [{ ean: '3012345678901' }, 'ean03012345678901'],
    // Dummies.
    ...['9999999999999', '1111111111111', '00000000', '7', '0001', '33333333'].map(
      (ean): [Identifiers, string] => [{ ean }, 'the offer'],
    ),
    [{ ean: '9999999999999', upc: '012345678905' }, 'ean00012345678905'],
    [{ ean: '4012345678902' }, 'ean04012345678902'],
    [{ ean: '000', upc: '12345678905' }, 'ean00012345678905'],
    [{ ean: '123456789012345', upc: '12345678905' }, 'ean00012345678905'],
    [{ upc: '1234-5678' }, 'the offer'],
    [{ ean: '0' }, 'the offer'],
    [{ sku: '4012345678901' }, 'the offer'],
  ])('of %j groups by %s', (identifiers, groupingId) => {
    expect(groupingIdOf(identifiers, 'the offer')).toBe(groupingId);
  });
});

it('a removed category remains the name of a product that has no other (decisions X21)', async () => {
  await post(german, [product('kept', { categories: [{ id: '22' }] })]);
  const { organisations, ...rest } = NETWORK;
  const categories = NETWORK.categories.filter(({ id }) => id !== '22');
  await app.import({ organisations, ...rest, categories }, { prune: true });
  await app.settled();
  const [found] = (await search(`;fid=${german};spId=kept`)).products;
  expect(found).toMatchObject({ categories: [{ id: '22', tdCategoryName: '22' }] });
  expect((await search(`;fid=${german};spId=kept`, 'preisblick')).totalHits).toBe(0);
});
