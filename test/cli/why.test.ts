import { type Visibility } from '../../src/network/visibility';
import { FEEDS, TOKENS } from '../api/network';
import { clientOf, product } from '../api/posted';
import { VOUCHER_NETWORK, voucherClientOf } from '../api/voucher-network';
import { TestApp } from '../support/app';
import { run } from './run';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start({ network: VOUCHER_NETWORK });
});
afterAll(() => app.close());

const { post } = clientOf(() => app);
const { create } = voucherClientOf(() => app);
const why = (...args: readonly string[]) => run(['why', ...args], { DATA_DIR: app.folder });

describe('affilog why (decisions X110)', () => {
  it('prints each condition of a product, and what helps where it does not hold', async () => {
    await post(FEEDS.german, [product('it’s new', { categories: [{ name: 'Headphone' }] })]);
    const { code, out, err } = await why('product', String(FEEDS.german), 'it’s new', '--publisher', '13');
    expect([code, err]).toEqual([0, '']);
    expect(out.split('\n')).toEqual([
      'not visible',
      expect.stringMatching(
        /^ {2}yes {2}projected: the read model products is live, as of position \d+; the log/,
      ),
      expect.stringMatching(/^ {2}yes {2}stored: Product it’s new, 10\.00 EUR, last changed at /),
      '  NO   mapped: "Headphone" is mapped to no category',
      expect.stringMatching(
        /^ {7}affilog mappings map --feed 22001 --name 'Headphone' --category 11; similar ones: 11/,
      ),
      '  yes  feed active: "active" of feed 22001 (Germany) is true',
      '  yes  feed visible: "visible" of feed 22001 (Germany) is true',
      '  NO   connected: publisher 13 (Lonely) has site 1301: none is connected to program 101',
      expect.stringContaining('affilog network import'),
      '  yes  not parked: all its events could be used',
      '',
    ]);
  });

  it('says when a product was removed, by which load or deletion, and what undoes that (decisions X149)', async () => {
    const removedBy = async (id: string): Promise<readonly [string, string]> => {
      await app.settled();
      const [, , missing = '', remedy = ''] = (await why('product', `${FEEDS.german}-${id}`)).out.split('\n');
      return [missing, remedy];
    };
    const lamps = (...ids: readonly string[]) => ids.map((id) => product(id));
    await post(FEEDS.german, lamps('lamp-1', 'lamp-2'));
    const { headers } = await post(FEEDS.german, lamps('lamp-2'), { keys: ';mode=replace' });
    const load = String(headers['x-load-id']);
    const [missing, remedy] = await removedBy('lamp-1');
    expect(missing).toMatch(
      new RegExp(
        `^ {2}NO {3}stored: feed 22001 has no product with the sourceProductId lamp-1; it was removed at \\S+Z \\(log position ` +
          `\\d+\\) by load \\(replace\\) ${load}, which ended at log position \\d+$`,
      ),
    );
    expect(remedy).toContain(
      `; \`affilog feeds restore 22001 --before ${load} --reason TEXT\` undoes all of that`,
    );
    await app.delete(`/1.0/products;fid=${FEEDS.german};spId=lamp-2`, { token: TOKENS.nord });
    expect((await removedBy('lamp-2'))[0]).toMatch(/ by deletion \S{36}, which ended at log position \d+$/);
    expect((await removedBy('lamp-3'))[0]).toMatch(/sourceProductId lamp-3$/);
    await post(FEEDS.german, [product('it’s new', { categories: [{ name: 'Headphone' }] })]);
    await app.settled();
  });

  it('prints JSON as it is answered over HTTP', async () => {
    const id = await create({ siteIds: [1202], endDate: Date.now() + 86_400_000 });
    const { out } = await why('voucher', String(id), '--site', '1101', '--json');
    const failed = (JSON.parse(out) as Visibility).conditions.filter(({ holds }) => !holds);
    expect(failed.map(({ condition }) => condition)).toEqual(['for the site']);
    expect((await why('voucher', String(id))).out).toMatch(/^visible\n/);
  });

  it('begins with a read model that is paused, since when, by whom, and what resumes it (decisions X145)', async () => {
    const projections = (verb: string) => run(['projections', verb, 'products'], { DATA_DIR: app.folder });
    const product = async () => (await why('product', String(FEEDS.german), 'it’s new')).out.split('\n');
    expect((await projections('pause')).code).toBe(0);
    const [, first, remedy] = await product();
    expect(first).toMatch(
      /^ {2}NO {3}projected: the read model products is paused since \S+Z by user \S+, as of position \d+; the log ends at \d+/,
    );
    expect(remedy).toBe('       resume it with `affilog projections resume products`');
    expect((await projections('resume')).code).toBe(0);
    await app.settled();
    expect((await product())[1]).toContain('  yes  projected: the read model products is live');
  });

  it('is followed by what read models know of a product, by the same name (decisions X132)', async () => {
    const documents = (...args: readonly string[]) => run(['documents', ...args], { DATA_DIR: app.folder });
    const id = `${FEEDS.german}-it’s new`;
    expect((await documents('products', id)).out).toMatch(/^products\t[0-9a-f-]{36}\t\{.*it’s new/);
    expect((await documents('price-history', id)).out).toMatch(
      /^price-history\t[0-9a-f-]{36}\t\{"feedId":22001,/,
    );
    expect((await documents('products', '7-none')).out).toBe('products\t7-none\tnone\n');
    expect((await documents('--position', '1')).out).toBe('no read model has a document of this event\n');
  });

  it('says of a product that nothing has happened to what one is notified of, and of the last load', async () => {
    const id = `${FEEDS.german}-it’s new`;
    const { code, out, err } = await why('delivery', id);
    expect([code, err]).toEqual([0, '']);
    expect(out.split('\n')).toEqual([
      `product ${id}`,
      '   nothing has happened to it that one is notified of: price fell, back in stock, feed changed',
      '   nobody has subscribed to products, and changes are recorded only while somebody has',
      expect.stringMatching(
        /^ {3}the last load of feed 22001 was at \S+Z: update, done; 1 new, 0 revised, 0 with another price, 0 removed$/,
      ),
      '',
    ]);
    expect((await why('delivery', String(FEEDS.unconnected))).out).toContain('nothing was loaded to feed');
    expect((await why('delivery', '7-none')).code).not.toBe(0);
  });

  it.each([
    [['product', '7', 'x'], 'feed 7: expected the id of a feed'],
    [['voucher', '7000'], '7000: expected the id of a voucher'],
    [['voucher', 'x'], 'Expected an integer'],
  ])('%j is refused', async (args, message) => {
    expect(await why(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  it('explains deliveries as notifications explain does', async () => {
    expect((await why('delivery', '--help')).out).toContain('--subscription <id>');
    const [one, other] = [
      await why('delivery', 'none'),
      await run(['notifications', 'explain', 'none'], { DATA_DIR: app.folder }),
    ];
    expect(one).toEqual(other);
    expect(one.code).not.toBe(0);
  });
});
