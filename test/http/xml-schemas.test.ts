import { TestApp } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { type Client, FEEDS, NETWORK, TOKENS } from '../api/network';
import { clientOf, FULL, product, XML_UTF8 } from '../api/posted';

describe('xml schemas', () => {
  const { german, shared } = FEEDS;

  /** As Document 1 shapes a post: every element there is, its own prefix for the common namespace. */
  const POST = `<?xml version="1.0" encoding="UTF-8"?>
<products xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common" version="3.0">
  <product sourceProductId="of xml">
    <cm:name>Lamp &amp; shade</cm:name>
    <cm:description>Of glass</cm:description>
    <cm:productUrl>https://shop.example/lamp</cm:productUrl>
    <cm:productImage>https://img.example/lamp.jpg</cm:productImage>
    <cm:price>12.50</cm:price>
    <cm:categories><cm:category name="Over-Ear" id="11"/><cm:category name="Own"/></cm:categories>
    <cm:fields><cm:field name="Colour">red</cm:field><cm:field name="Cable"/></cm:fields>
    <cm:shippingCost>free</cm:shippingCost>
    <cm:shortDescription>Lamp</cm:shortDescription>
    <cm:promoText>Two for one</cm:promoText>
    <cm:warranty>2 years</cm:warranty>
    <cm:inStock>4</cm:inStock>
    <cm:availability>in stock</cm:availability>
    <cm:deliveryTime>2 days</cm:deliveryTime>
    <cm:condition>new</cm:condition>
    <cm:weight>1 kg</cm:weight>
    <cm:size>XL</cm:size>
    <cm:model>L 1</cm:model>
    <cm:brand>Ørsted</cm:brand>
    <cm:manufacturer>Ørsted A/S</cm:manufacturer>
    <cm:techSpecs>5 W</cm:techSpecs>
    <cm:ean>4012345678901</cm:ean>
    <cm:upc>012345678905</cm:upc>
    <cm:isbn>3-16-148410-X</cm:isbn>
    <cm:mpn>M/1</cm:mpn>
    <cm:sku>S1</cm:sku>
  </product>
  <product sourceProductId="small">
    <cm:price>3</cm:price>
    <cm:categories><cm:category id="1"/></cm:categories>
    <cm:productImage width="500" height="300">https://img.example/s.jpg</cm:productImage>
    <cm:productUrl>https://shop.example/s</cm:productUrl>
    <cm:description>D</cm:description>
    <cm:name>N</cm:name>
  </product>
</products>`;

  let app: TestApp;
  const { post } = clientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: NETWORK });
    await post(german, [{ ...FULL, price: 1 }, product('bare', { ean: '41' }), product('weird\u0085\ufffd')]);
    await post(german, [FULL]);
    await post(shared, [product('other', { ean: '41', categories: [{ name: 'Nobody’s' }, { id: '2' }] })]);
  });
  afterAll(() => app.close());

  const answers = async (targets: readonly string[], client: Client = 'preisblick'): Promise<string[]> =>
    Promise.all(
      targets.map(async (target) => {
        const { headers, body } = await app.get(target, { token: TOKENS[client] });
        expect([target, headers['content-type']]).toEqual([target, 'application/xml; charset=utf-8']);
        return body;
      }),
    );

  const valid = async (file: string, documents: readonly string[]) =>
    expect(await faultsBySchema(app, file, documents)).toEqual([]);

  describe('XML answers are valid (decisions P24)', () => {
    it('search results', async () => {
      const both = `fid=${german},${shared}`;
      const plain = ['', ';priceHistory=true', ';groupOffersByProduct=true', ';q=nothing', ';pretty=true'];
      const keys = [...plain, ';cursor=*;pageSize=1'];
      const everything = ';sourceproducturl=true;dateOutputFormat=iso8601;priceHistory=true';
      const targets = [...keys, everything].map((more) => `/1.0/products.xml;${both}${more}`);
      expect((await answers(targets.slice(5, 6)))[0]).toContain('<nextCursor>');
      await valid('ProductsFeedOutput_v3_0.xsd', [
        ...(await answers(targets)),
        ...(await answers(targets, 'nord')),
      ]);
    });

    it('but not with an additional element', async () => {
      const [answer = ''] = await answers([`/1.0/products.xml;fid=${german}`]);
      const [history = ''] = await answers([`/1.0/products.xml;fid=${german};priceHistory=true`]);
      const others = [
        answer.replace('<ns2:feedId>', '<more/><ns2:feedId>'),
        answer.replace('epoch', 'seconds'),
        history.replace(/(<priceHistory><ns2:price [^>]*>)[\d.]+/, '$1one'),
      ];
      expect(others[2]).toContain('>one<');
      for (const document of others)
        expect(await faultsBySchema(app, 'ProductsFeedOutput_v3_0.xsd', [document])).not.toEqual([]);
    });

    it('error lists of requests and of posts, and empty ones (decisions X30)', async () => {
      const bad = await app.post(`/1.0/products.xml;fid=${german}`, {
        token: TOKENS.nord,
        body: JSON.stringify({ products: [{ sourceProductId: 'bad' }, {}] }),
      });
      const good = await app.post(`/1.0/products.xml;fid=${german}`, {
        token: TOKENS.nord,
        body: JSON.stringify({ products: [product('good')] }),
      });
      const failed = await answers(['/1.0/products.xml;fid=1', '/1.0/products.xml', '/1.0/products/9.9.xml']);
      await valid('ProductErrors_v1_0.xsd', [bad.body, good.body, ...failed]);
      await valid('Errors_v1_0.xsd', await answers(['/1.0/nowhere.xml', '/2.0/x.xml', '/none.xml']));
    });

    it('downloads, and the time of the last update', async () => {
      const keys = ['', ';page=1;pageSize=1;priceHistory=true', ';since=2026-01-01', ';pretty=true'];
      const feeds = keys.map((more) => `/1.0/productsUnlimited.xml;fid=${german}${more}`);
      await valid('ProductsFeedOutput_v3_0.xsd', await answers(feeds));
      const updates = [german, FEEDS.secret].map(
        (fid) => `/1.0/productsUnlimited/lastUpdated.xml;fid=${fid}`,
      );
      await valid('LastUpdated_v1_0.xsd', await answers(updates));
    });

    it('the category tree, mappings, feeds', async () => {
      const trees = ['', ';language=de'].map((keys) => `/1.0/productCategories.xml${keys}`);
      await valid('CategoryTree_v1_0.xsd', await answers(trees));
      const mappings = ['', ';state=mapped'].map(
        (keys) => `/1.0/categoryMappings.xml;fid=${german},${shared}${keys}`,
      );
      await valid('CategoryMappings_v1_0.xsd', await answers(mappings, 'nord'));
      const feeds = ['', `/${german}`].map((path) => `/1.0/productFeeds${path}.xml`);
      await valid('FeedList_v3_0.xsd', await answers([...feeds, '/1.0/productFeeds.xml;programId=1']));
    });
  });

  describe('products posted in XML', () => {
    it('are valid and stored in the shape of Document 1, in any order (decisions P24, X30)', async () => {
      await valid('ProductsFeedInput_v3_0.xsd', [POST]);
      const answer = await app.post(`/1.0/products.json;fid=${german}`, {
        token: TOKENS.nord,
        headers: XML_UTF8,
        body: POST,
      });
      expect([answer.statusCode, answer.body]).toEqual([200, '{"errors":[]}']);
    });

    it.each([
      [
        'an element that nobody knows',
        POST.replace('<cm:brand>', '<cm:brant>').replace('/cm:brand', '/cm:brant'),
      ],
      ['no name', POST.replace(/<cm:name>.*<\/cm:name>/, '')],
      ['a price of three decimals', POST.replace('12.50', '12.505')],
      ['another version', POST.replace('version="3.0"', 'version="4.0"')],
      ['no sourceProductId', POST.replace(' sourceProductId="of xml"', '')],
      ['an image of a negative width', POST.replace('width="500"', 'width="-500"')],
      ['spaces around the width of an image', POST.replace('width="500"', 'width=" 500 "')],
    ])('with %s is not valid', async (_, body) => {
      expect(await faultsBySchema(app, 'ProductsFeedInput_v3_0.xsd', [body])).not.toEqual([]);
    });
  });

  describe('the XML schemas (decisions A8, P24)', () => {
    it('are served without a token, as XML, under the names of Document 1', async () => {
      for (const name of [
        'ProductsFeedCommon_v3_0',
        'ProductsFeedInput_v3_0',
        'ProductsFeedOutput_v3_0',
        'CategoryTree_v1_0',
      ]) {
        const { statusCode, headers } = await app.get(`/1.0/schemas/${name}.xsd`);
        expect([statusCode, headers['content-type']]).toEqual([200, 'application/xml; charset=utf-8']);
      }
    });

    it('are listed if the name is unknown', async () => {
      const { statusCode, body } = await app.get('/1.0/schemas/None.xsd');
      expect([statusCode, body]).toEqual([
        404,
        expect.stringContaining('expected one of ProductsFeedCommon_v3_0.xsd') as string,
      ]);
    });

    it('contain the vendor and the address of this installation (decisions A9)', async () => {
      const settings = { VENDOR: 'acme', BASE_URL: 'https://acme.example' };
      const other = await TestApp.start({ network: NETWORK, settings });
      const common = await other.get('/1.0/schemas/ProductsFeedCommon_v3_0.xsd');
      expect(common.body).toContain('targetNamespace="urn:com:acme:pf:model:xml:common"');
      const errors = await other.get('/1.0/schemas/ProductErrors_v1_0.xsd');
      expect(errors.body).toContain('targetNamespace="https://acme.example/1.0/products"');
      await other.close();
    });
  });
});
