import { offerId } from '../../src/domain/products/offer';
import { type ReadModelState } from '../../src/operations/projections';
import { FEEDS, NETWORK } from '../api/network';
import { clientOf, product } from '../api/posted';
import { TestApp } from '../support/app';
import { run } from './run';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
  await clientOf(() => app).post(FEEDS.german, [product('one'), product('two')]);
});
afterAll(() => app.close());

const affilog = async (...args: readonly string[]) => await run(args, { DATA_DIR: app.folder });
const projections = async (...args: readonly string[]) => await affilog('projections', ...args);
const WHY = ['--reason', 'a test'];
const statesOf = async (...names: readonly string[]) =>
  (await projections('list', ...names, '--json')).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ReadModelState);

describe('affilog projections (decisions X122, X123, X126 to X128)', () => {
  it('lists read models as a table and as JSON', async () => {
    const { code, out, err } = await projections();
    expect([code, err]).toEqual([0, '']);
    const [head, ...lines] = out.split('\n');
    expect(head).toMatch(/^name +state +generation +position +lag +events\/s +end +size +parked$/);
    expect(lines.find((line) => line.startsWith('products '))).toMatch(
      / live +\d+ +\d+ +0 events, 0 s .* KB +0$/,
    );
    expect((await statesOf('products')).map(({ name, state }) => [name, state])).toEqual([
      ['products', 'live'],
    ]);
  });

  it('pauses and resumes', async () => {
    expect((await projections('pause', 'vouchers')).out).toBe('paused: vouchers\n');
    expect((await projections('list', 'vouchers')).out).toContain('`affilog projections resume vouchers`');
    expect((await projections('resume', 'all')).out).toBe('resumed: vouchers\n');
    expect((await projections('resume', 'all')).out).toBe('nothing was paused\n');
  });

  it('rebuilds, swaps in, rolls back and discards', async () => {
    const built = await affilog('rebuild', 'products', 'vouchers', '--no-swap');
    expect(built.out).toMatch(
      /^products: generation \d+, 2 documents, 0 differ from the former one; `affilog projections swap products --reason TEXT` makes it live\nvouchers: /,
    );
    expect((await projections('list', 'products')).out).toContain('is ready to be swapped in until');
    expect((await projections('swap', 'products', ...WHY)).out).toMatch(
      /^products: generation \d+ is live in place of \d+\n$/,
    );
    expect((await projections('list', 'products')).out).toContain('is kept for a rollback until');
    expect((await projections('rollback', 'products', ...WHY)).out).toMatch(
      /^products: generation \d+ is live/,
    );
    expect((await projections('discard', 'all', ...WHY)).out).toMatch(
      /^dropped: products-g\d+, vouchers-g\d+\n$/,
    );
    expect(await projections('rollback', 'products', ...WHY)).toMatchObject({
      code: 1,
      err: 'affilog: products has no former generation that is kept: `affilog projections` lists what there is\n',
    });
  });

  it('compares with the log, all documents or a sample', async () => {
    expect((await projections('verify', 'products')).out).toMatch(
      /^products: 2 documents \(.*\), 0 differ, as of position \d+\n$/,
    );
    expect((await affilog('rebuild', 'products', '--dry-run')).out).toMatch(/^products: 2 documents/);
    expect((await projections('verification', 'claims')).err).toContain('claims has not been compared yet');
    const target = { collection: 'products' };
    const id = offerId(FEEDS.german, 'one');
    const [found] = await app.engines.store.get(target, [id]);
    const { search } = clientOf(() => app);
    expect((await search(`;fid=${FEEDS.german}`)).ids).toHaveLength(2);
    await app.engines.store.write(target, [{ version: found!.version, remove: id }]);
    const { code, out } = await projections('verify', 'products');
    expect(code).toBe(1);
    expect(out).toContain('1 differ');
    expect(out).toContain('    live does not have it\n');
    expect(JSON.parse((await projections('verification', 'products')).out)).toMatchObject({ differing: 1 });
  });

  it.each([
    [['rebuild', 'products', '--sample', '5'], '--sample: needs --dry-run'],
    [['rebuild', 'products', '--dry-run', '--force'], '--dry-run: swaps nothing in'],
    [['rebuild', 'a', 'b', '--as', 'x', '--at', '2026-01-01'], '--as: takes one name'],
    [['projections', 'pause', 'offers'], 'offers: expected the name of a projection'],
    [['projections', 'rollback', 'products'], '--reason: expected a text of 1 to 1000 characters'],
    [['projections', 'discard', 'products', '--reason', ' '], '--reason: expected a text'],
  ])('%j is refused', async (args, message) => {
    expect(await affilog(...args)).toMatchObject({
      code: 2,
      err: expect.stringContaining(message) as string,
    });
  });
});
