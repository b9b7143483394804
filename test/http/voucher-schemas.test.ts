import { TestApp } from '../support/app';
import { faultsBySchema } from '../support/xml-schemas';
import { XML_UTF8 } from '../api/posted';
import { VOUCHER_FIELDS } from '../api/document-tables';
import {
  DAY,
  NOW,
  VOUCHER_NETWORK,
  VOUCHER_TOKENS,
  type VoucherClient,
  voucherClientOf,
} from '../api/voucher-network';

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
