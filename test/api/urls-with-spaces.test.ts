import { TestApp } from '../support/app';
import { FEEDS, NETWORK, TOKENS } from './network';
import { clientOf, outcome, product, refused, XML_UTF8 } from './posted';

const { german } = FEEDS;

let app: TestApp;
const { post, search } = clientOf(() => app);
beforeAll(async () => {
  app = await TestApp.start({ network: NETWORK });
});
afterAll(() => app.close());

const inXml = (productUrl: string, image: string): string =>
  `<products><product sourceProductId="a"><name>A</name><description>D</description><price>1</price>` +
  `<productUrl>${productUrl}</productUrl><productImage>${image}</productImage>` +
  '<categories><category id="1"/></categories></product></products>';

describe('spaces in the URL of a product or an image (decisions P27)', () => {
  const sent = {
    page: 'https://shop.example/a lamp?name=of glass#its top',
    image: ' \n https://img.example/a lamp.jpg ',
  };
  const answered = {
    page: 'https://shop.example/a%20lamp?name=of%20glass#its%20top',
    image: 'https://img.example/a%20lamp.jpg',
  };

  it.each(['json', 'xml'])('are accepted in %s, and sent encoded in every format', async (format) => {
    const posted = [product('a', { productUrl: sent.page, productImage: { url: sent.image } })];
    const answer =
      format === 'json'
        ? await post(german, posted)
        : await app.post(`/1.0/products;fid=${german}`, {
            token: TOKENS.nord,
            headers: XML_UTF8,
            body: inXml(sent.page, sent.image),
          });
    expect(answer.statusCode).toBe(200);
    expect((await search(`;fid=${german}`)).products).toMatchObject([
      { productImage: { url: answered.image }, offers: [{ productUrl: answered.page }] },
    ]);
    for (const path of ['products.xml', 'products.csv', 'productsUnlimited.xml', 'productsUnlimited.csv']) {
      const { body } = await app.get(`/1.0/${path};fid=${german}`, { token: TOKENS.nord });
      expect(body).toContain(answered.page);
      expect(body).toContain(answered.image);
    }
    const { products } = await search(`;fid=${german};sourceproducturl=true`, 'preisblick');
    const [offer] = products[0]!.offers;
    expect(offer).toMatchObject({ sourceProductUrl: answered.page });
    expect(offer?.productUrl).toContain(`url(${encodeURIComponent(answered.page)})`);
  });

  it('are the same as encoded ones: posting them again changes nothing', async () => {
    const other = { productUrl: answered.page, productImage: { url: answered.image } };
    await post(german, [product('same', { productUrl: sent.page, productImage: { url: sent.image } })]);
    const again = await post(german, [product('same', other)]);
    expect(again.headers['x-load-counts']).toContain('unchanged=1');
  });

  it.each([
    'https://a b.example/',
    'https:// shop.example/',
    'not a url',
    'a lamp',
    'ftp://a.example/a lamp',
    ' ',
  ])('do not make a URL of %j: PF_391', async (productUrl) => {
    const answer = await post(german, [product('refused', { productUrl })]);
    expect([outcome(answer), refused(answer)]).toEqual(['400 PF_391', ['PF_391 refused']]);
  });

  it('are no other white space: PF_391', async () => {
    const answer = await post(german, [product('refused', { productUrl: 'https://shop.example/a\tlamp' })]);
    expect(outcome(answer)).toBe('400 PF_391');
  });
});
