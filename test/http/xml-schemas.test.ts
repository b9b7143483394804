import { TestApp } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { type Client, FEEDS, NETWORK, TOKENS } from '../api/network';
import { clientOf, FULL, product, XML_UTF8 } from '../api/posted';
import { claimOf, claimWorld, xmlOf } from '../api/claim-network';
import { VOUCHER_FIELDS } from '../api/document-tables';
import {
  DAY,
  NOW,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  type VoucherClient,
  voucherClientOf,
} from '../api/voucher-network';
import { postedTransaction, postedTransition } from '../../src/domain/transactions/transaction-fields';
import { CONVERSION_TOKENS, PATH, reportOf, transactionWorld } from '../api/transaction-network';

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

describe('bodies in XML', () => {
  const world = claimWorld();

  /** Every field that is not required. */
  const FURTHER = {
    epi: 'a',
    epi2: 'b',
    trackingUrl: 'https://clk.example/',
    productName: 'Lamp',
    proofOfClaims: 'https://proof.example/',
    advertiserInformation: 'By phone',
  } as const;

  it('are valid by the schema that is served, in the namespaces of the document (Document 3, Claim posted by a publisher)', async () => {
    const revision = { ...claimOf('a', FURTHER), claimId: 1, versionNo: 0 };
    const ruling = { claimId: 1, statusIdClaim: 201, statusMessageClaim: 'Email', versionNo: 0 };
    const documents = [
      xmlOf('claims', [claimOf('a', FURTHER), claimOf('b')]),
      xmlOf('claimUpdates', [revision, ruling]),
    ];
    expect(await faultsBySchema(world.app, 'ClaimsInput_v1_0.xsd', documents)).toEqual([]);
  });

  it('on the legacy path have a schema of their own', async () => {
    const legacy = xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3, orderValue: 5 }]);
    expect(await faultsBySchema(world.app, 'LegacyClaimsInput_v1_0.xsd', [legacy])).toEqual([]);
    const current = xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3, versionNo: 0 }]);
    expect(await faultsBySchema(world.app, 'LegacyClaimsInput_v1_0.xsd', [current])).not.toEqual([]);
  });

  it.each([
    ['a field that is unknown', xmlOf('claims', [claimOf('a', { colour: 1 })])],
    ['a field that is missing', xmlOf('claims', [claimOf('a', { programId: undefined })])],
    ['an amount with a comma', xmlOf('claims', [claimOf('a', { orderValue: '1,5' })])],
    ['another date', xmlOf('claims', [claimOf('a', { timeStampEvent: '1.1.2026' })])],
    ['another namespace', xmlOf('claims', [claimOf('a')]).replace('xml:common', 'xml:other')],
    ['no version', xmlOf('claims', [claimOf('a')]).replace(' version="1.0" xmlns=', ' xmlns=')],
    ['an update without its version', xmlOf('claimUpdates', [{ claimId: 1, statusIdClaim: 3 }])],
  ])('with %s are not valid', async (_, body) => {
    expect(await faultsBySchema(world.app, 'ClaimsInput_v1_0.xsd', [body])).not.toEqual([]);
  });
});

describe('voucher schemas', () => {
  /**
   * Every field that may be posted (Document 2, Voucher posted by an advertiser), in another order than the document's.
   */
  const POST = `<?xml version="1.0" encoding="UTF-8"?>
<voucher>
  <languageId>de</languageId>
  <title>Ten per cent off &lt;lamps></title>
  <siteId>1101</siteId>
  <programId> 101 </programId>
  <voucherTypeId>1</voucherTypeId>
  <code>LAMPS-10</code>
  <siteId>1202</siteId>
  <shortDescription>Ten off</shortDescription>
  <description>Lamps only.</description>
  <startDate>${NOW}</startDate>
  <endDate>${NOW + DAY}</endDate>
  <sourceId>lamps</sourceId>
  <landingUrl>https://nord.example/?a=1&amp;b=2</landingUrl>
  <publishStartDate>${NOW}</publishStartDate>
  <publishEndDate/>
  <publisherInformation>Ask us</publisherInformation>
  <discountAmount>10.5</discountAmount>
  <isPercentage>true</isPercentage>
</voucher>`;

  let app: TestApp;
  const { create, remove } = voucherClientOf(() => app);
  beforeAll(async () => {
    app = await TestApp.start({ network: VOUCHER_NETWORK, now: () => new Date(NOW) });
    const id = await create({ sourceId: 'one', siteIds: [1101], landingUrl: 'https://nord.example/' });
    await create({ sourceId: 'one', discountAmount: 0.00000001, isPercentage: true, title: 'A <b> & "c"' });
    await create({ languageId: 'sv', voucherTypeId: 1, code: 'X' });
    await remove(await create());
    expect(id).toBe(1);
  });
  afterAll(() => app.close());

  async function answers(paths: readonly string[], as: VoucherClient = 'nord'): Promise<string[]> {
    const sent = await Promise.all(
      paths.map((path) => app.get(`/1.0/vouchers${path}`, { token: VOUCHER_TOKENS[as] })),
    );
    expect(new Set(sent.map(({ headers }) => headers['content-type']))).toEqual(
      new Set(['application/xml; charset=utf-8']),
    );
    return sent.map(({ body }) => body);
  }

  const post = (body: string) =>
    app.post('/1.0/vouchers', { token: VOUCHER_TOKENS.nord, headers: XML_UTF8, body });

  describe('XML answers about vouchers are valid (decisions P24, X61)', () => {
    it('lists, for owners and publishers', async () => {
      const paths = ['', ';dateOutputFormat=iso8601', ';id=999', ';pretty=true'].map((keys) => `.xml${keys}`);
      const documents = [...(await answers(paths)), ...(await answers(paths, 'preisblick'))];
      expect(documents.join('').match(/<voucher>/g)!.length).toBeGreaterThan(8);
      expect(await faultsBySchema(app, 'VoucherList_v1_0.xsd', documents)).toEqual([]);
    });

    it('versions', async () => {
      const documents = await answers(['/1/versions.xml', '/3/versions.xml;dateOutputFormat=iso8601']);
      expect(await faultsBySchema(app, 'VoucherVersions_v1_0.xsd', documents)).toEqual([]);
    });

    it('but not with an additional or a missing element', async () => {
      const [list = ''] = await answers(['.xml;id=1']);
      const [versions = ''] = await answers(['/1/versions.xml']);
      const wrong = [
        list.replace('<title>', '<more/><title>'),
        list.replace(/<updateDate>\d+/, '<updateDate>soon'),
        list.replace(/<title>.*<\/title>/, ''),
        list.replace('<siteSpecific>false', '<siteSpecific>no'),
      ];
      for (const document of wrong)
        expect([document, await faultsBySchema(app, 'VoucherList_v1_0.xsd', [document])]).not.toEqual([
          document,
          [],
        ]);
      const lacking = versions.replace(/ time="\d+"/, '');
      expect(await faultsBySchema(app, 'VoucherVersions_v1_0.xsd', [lacking])).not.toEqual([]);
    });

    it('error lists', async () => {
      const documents = await answers(['.xml;page=-1', '/999/versions.xml']);
      const posted = await post('<voucher/>');
      expect(await faultsBySchema(app, 'VoucherErrors_v1_0.xsd', [...documents, posted.body])).toEqual([]);
    });
  });

  describe('vouchers posted in XML', () => {
    it('are valid with every field in any order, are stored, and have a valid answer (decisions X61)', async () => {
      const element = (name: string) => `<${name === 'siteIds' ? 'siteId' : name}[/>]`;
      for (const field of VOUCHER_FIELDS) expect(POST).toMatch(new RegExp(element(field)));
      expect(await faultsBySchema(app, 'Voucher_v1_0.xsd', [POST])).toEqual([]);
      const answer = await post(POST);
      expect(answer.statusCode).toBe(200);
      expect(await faultsBySchema(app, 'VoucherKey_v1_0.xsd', [answer.body])).toEqual([]);
    });

    it.each([
      ['another root element', POST.replaceAll('voucher>', 'vouchers>')],
      ['an unknown element', POST.replace('<code>', '<colour/><code>')],
      ['a date in ISO 8601', POST.replace(String(NOW), '2026-03-01')],
      ['an amount with a comma', POST.replace('10.5', '10,5')],
      ['a boolean that is none', POST.replace('true', 'yes')],
      ['an element in a text', POST.replace('LAMPS-10', '<b/>')],
    ])('with %s is not valid', async (_, body) => {
      expect(await faultsBySchema(app, 'Voucher_v1_0.xsd', [body])).not.toEqual([]);
    });
  });
});

describe('transaction schemas', () => {
  const world = transactionWorld();
  const { create, move, report } = world;

  const elements = (values: Readonly<Record<string, unknown>>) =>
    Object.entries(values)
      .map(
        ([name, value]) =>
          `<${name}>${String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</${name}>`,
      )
      .join('\n  ');

  /** Every field that may be posted (decisions T2), in another order than that of the schema. */
  const REPORT = {
    validate: true,
    visitorId: 'v <1>',
    reportInfo: 'f1=a&f2=Wall%20lamp&f3=1.50&f4=2|f1=b',
    productId: 'p',
    epi2: 'two',
    epi: 'one & only',
    batchId: 9,
    locationId: 8,
    adId: 7,
    mediaCost: '1.25',
    tdCommission: 2.5,
    publisherCommission: 5,
    eventTypeId: 10,
    timeOfVisit: '2026-03-01T10:00:00+01:00',
    timeOfEvent: NOW - 1000,
    currencyId: 'SEK',
    orderValue: 129.9,
    orderNumber: 'XS-1',
    siteId: 1101,
    eventId: 301,
    programId: 101,
  };
  const AMENDED = {
    reportInfo: 'f1=b',
    mediaCost: 0,
    tdCommission: 1,
    publisherCommission: 2,
    orderValue: 3,
  };
  const APPROVAL = { ...AMENDED, deniedReasonId: 2, action: 'approve', legacyTransactionId: 'XS-1_301_1' };

  const transaction = `<transaction>${elements(REPORT)}</transaction>`;
  const transition = `<transition>${elements(APPROVAL)}</transition>`;

  async function post(path: string, body: string) {
    const answer = await world.app.post(`${PATH}${path}`, {
      token: CONVERSION_TOKENS.nord,
      headers: XML_UTF8,
      body,
    });
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
    return answer;
  }

  const valid = async (file: string, ...documents: readonly string[]) =>
    expect(await faultsBySchema(world.app, file, documents)).toEqual([]);

  describe('XML documents about transactions are valid (decisions P24, T2, T5, T6)', () => {
    it('a report with every field, its answer, and the transaction', async () => {
      expect(Object.keys(REPORT).sort()).toEqual(Object.keys(postedTransaction.fields).sort());
      await valid('PostedTransaction_v1_0.xsd', transaction);
      const answer = await post('', transaction);
      expect(answer.statusCode).toBe(201);
      const moved = await post('/transitions', transition);
      expect(moved.statusCode).toBe(200);
      await valid('PostedTransition_v1_0.xsd', transition);
      await valid('TransactionResult_v1_0.xsd', answer.body, moved.body);
      const [, id] = /<transactionId>(\w+)</.exec(answer.body) ?? [];
      await valid(
        'Transaction_v1_0.xsd',
        await read(`/${id}.xml`),
        await read(`/${id}.xml;dateOutputFormat=epoch`),
      );
      await valid('Transactions_v1_0.xsd', await read(`/${id}/transitions.xml`));
    });

    it('lists of reports and of requests, with their results', async () => {
      const several = `<transactions>${transaction}<transaction/>${transaction}</transactions>`;
      await valid('TransactionResults_v1_0.xsd', (await post('/bulk', several)).body);
      await valid('PostedTransactions_v1_0.xsd', `<transactions>${transaction}${transaction}</transactions>`);
      const moves = `<transitions>${transition}</transitions>`;
      await valid('PostedTransitions_v1_0.xsd', moves);
      const wrong = `<transitions><transition/>${transition}</transitions>`;
      await valid(
        'TransactionResults_v1_0.xsd',
        (await post('/transitions/bulk', moves)).body,
        (await post('/transitions/bulk', wrong)).body,
        (await post('/transitions/bulk', '<transitions/>')).body,
      );
    });

    it('lists and totals of all states, and empty ones', async () => {
      await create('XS-held', { validate: false });
      await create('XS-invalid', { siteId: 1201 });
      await create('XS-paused', { programId: 104 });
      const { transactionId } = await create('XS-lead', { eventId: 302 });
      await move({ transactionId, action: 'pay', paymentId: 3 }, 'operator');
      const keys = ['', ';dateOutputFormat=epoch', ';orderNumber=none', ';pretty=true'];
      await valid('Transactions_v1_0.xsd', ...(await Promise.all(keys.map((key) => read(`.xml${key}`)))));
      const totals = [keys[0], keys[2], keys[3], ';groupBy=week,programId'].map((key) =>
        read(`/totals.xml${key}`),
      );
      await valid('TransactionTotals_v1_0.xsd', ...(await Promise.all(totals)));
    });

    it('error lists', async () => {
      const answers = [await post('', '<transaction/>'), await post('/transitions', '<transition/>')];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400]);
      await valid(
        'ConversionErrors_v1_0.xsd',
        ...answers.map(({ body }) => body),
        await read('/7.xml'),
        await read('.xml;page=-1'),
      );
    });
  });

  async function read(path: string): Promise<string> {
    return (await world.app.get(`${PATH}${path}`, { token: CONVERSION_TOKENS.nord })).body;
  }

  describe('the schemas refuse what the operations refuse', () => {
    it.each<[string, object]>([
      ['an amount with five decimals', { orderValue: '1.00005' }],
      ['a negative amount', { orderValue: -1 }],
      ['an unknown type of event', { eventTypeId: 'x' }],
      ['a switch that is neither', { validate: 'yes' }],
    ])('a report with %s', async (_, changes) => {
      const body = `<transaction>${elements({ ...REPORT, ...changes })}</transaction>`;
      expect((await report({ ...reportOf('XS-2'), ...changes })).statusCode).toBe(400);
      expect((await post('', body)).statusCode).toBe(400);
      expect(await faultsBySchema(world.app, 'PostedTransaction_v1_0.xsd', [body])).not.toEqual([]);
    });

    it('an unknown action', async () => {
      const { transactionId } = await create('XS-3');
      const body = `<transition>${elements({ transactionId, action: 'reject' })}</transition>`;
      expect((await post('/transitions', body)).statusCode).toBe(400);
      expect(await faultsBySchema(world.app, 'PostedTransition_v1_0.xsd', [body])).not.toEqual([]);
      expect(Object.keys(postedTransition.fields)).toEqual(
        expect.arrayContaining([...Object.keys(APPROVAL), 'transactionId', 'paymentId']),
      );
    });
  });
});
