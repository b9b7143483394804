import { claimOf, claimWorld, type Listed } from './claim-network';

const world = claimWorld();

/** The numbers of the orders on a page, the number of all, and the size of the page if it was capped. */
async function page(keys: string): Promise<readonly unknown[]> {
  const answer = await world.send('GET', `/claims${keys}`, 'nord');
  const orders = answer.json<Listed[]>().map(({ orderNumber }) => orderNumber);
  const { 'x-total-count': total, 'x-page-size': size } = answer.headers;
  return [orders.length, orders.at(0), orders.at(-1), total, size];
}

describe('pages of 1,001 claims (Document 3, List keys; decisions C8)', () => {
  beforeAll(async () => {
    const claims = Array.from({ length: 1001 }, (_, at) => claimOf(String(at + 1)));
    for (const some of [claims.slice(0, 1000), claims.slice(1000)])
      expect((await world.file(some)).statusCode).toBe(200);
    await world.app.settled();
  });

  it.each([
    ['', [1000, '1001', '2', '1001', undefined]],
    [';limit=1000', [1000, '1001', '2', '1001', undefined]],
    [';limit=1001', [1000, '1001', '2', '1001', '1000']],
    [';limit=2', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=1', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=0', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=2', [2, '1000', '999', '1001', undefined]],
    [';limit=2;offset=1;tdconnect=false', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=0;tdconnect=true', [2, '1001', '1000', '1001', undefined]],
    [';limit=2;offset=1;tdconnect=true', [2, '1000', '999', '1001', undefined]],
    [';offset=1000;tdconnect=true', [1, '1', '1', '1001', undefined]],
    [';offset=1001;tdconnect=true', [0, undefined, undefined, '1001', undefined]],
    [';offset=1001', [1, '1', '1', '1001', undefined]],
  ])('"%s"', async (keys, expected) => {
    expect(await page(keys)).toEqual(expected);
  });
});
