import { type Response } from '../support/app';
import { claimOf, CLAIM_NETWORK, CLAIM_TOKENS, claimClientOf, xmlOf } from './claim-network';
import { FEEDS, TOKENS } from './network';
import { XML_UTF8 } from './posted';
import { CONVERSION_TOKENS, PATH, reportOf } from './transaction-network';
import { voucher, voucherClientOf, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';

const world = worldOf(CLAIM_NETWORK, voucherClientOf);

const postXml = (path: string, token: string, body: string): Promise<Response> =>
  world.app.post(`${path}.json`, { token, headers: XML_UTF8, body });

const elementsOf = (fields: object): string =>
  Object.entries(fields)
    .map(([name, value]) => `\n  <${name}>${String(value)}</${name}>`)
    .join('');

const indented = (id: string): string => `\n\t  ${id}\r\n  `;

/** Not the white space of XML: a character of the identifier. */
const NBSP = '\u00a0';

describe('identifiers that are the text of an XML element lose the white space at their ends (decisions A11, X3)', () => {
  it('the order number of a transaction: the indented one is the same order', async () => {
    const post = (id: string) =>
      postXml(PATH, CONVERSION_TOKENS.nord, `<transaction>${elementsOf(reportOf(id))}</transaction>`);
    const json = await world.app.post(PATH, {
      token: CONVERSION_TOKENS.nord,
      body: JSON.stringify(reportOf('A 1')),
    });
    const xml = await post(indented('A 1'));
    expect([json.statusCode, xml.statusCode]).toEqual([201, 200]);
    expect(xml.json()).toEqual({ ...json.json<object>(), outcome: 'known' });
    expect((await post(`${NBSP}A 1`)).statusCode).toBe(201);
    expect((await post('<![CDATA[ A 1 ]]>')).statusCode).toBe(200);
  });

  it('of white space only they are missing', async () => {
    const body = `<transaction>${elementsOf(reportOf(indented('')))}</transaction>`;
    const answer = await postXml(PATH, CONVERSION_TOKENS.nord, body);
    expect([answer.statusCode, answer.body]).toEqual([
      400,
      expect.stringContaining('orderNumber must be set'),
    ]);
  });

  it('the ids of a transaction in a transition', async () => {
    const body = JSON.stringify(reportOf('A 2'));
    const created = await world.app.post(PATH, { token: CONVERSION_TOKENS.nord, body });
    const ids = created.json<{ transactionId: string; legacyTransactionId: string }>();
    for (const name of ['transactionId', 'legacyTransactionId'] as const) {
      const request = elementsOf({ [name]: indented(ids[name]), action: indented('approve') });
      const moved = await postXml(
        `${PATH}/transitions`,
        CONVERSION_TOKENS.nord,
        `<transition>${request}</transition>`,
      );
      expect(moved.json<object>()).toMatchObject({ transactionId: ids.transactionId });
    }
  });

  it('texts beside them do not, and in JSON no identifier does', async () => {
    const report = { ...reportOf(' J '), epi: ' e ' };
    const body = `<transaction>${elementsOf(report)}</transaction>`;
    const xml = await postXml(PATH, CONVERSION_TOKENS.nord, body);
    const json = await world.app.post(PATH, { token: CONVERSION_TOKENS.nord, body: JSON.stringify(report) });
    expect([xml.statusCode, json.statusCode]).toEqual([201, 201]);
    const { body: listed } = await world.app.get(`${PATH};orderNumber=J,%20J%20`, {
      token: CONVERSION_TOKENS.nord,
    });
    const found = JSON.parse(listed) as { orderNumber: string; epi: string }[];
    expect(found.map(({ orderNumber, epi }) => `${orderNumber}|${epi}`).sort()).toEqual([' J | e ', 'J| e ']);
  });

  it('the sourceId and the codes of a voucher: the indented ones edit the same voucher', async () => {
    const id = await world.create({ sourceId: 'spring' });
    const fields = {
      ...voucher(),
      sourceId: indented('spring'),
      languageId: indented('de'),
      title: ' Title ',
    };
    const answer = await postXml(
      '/1.0/vouchers',
      VOUCHER_TOKENS.nord,
      `<voucher>${elementsOf(fields)}</voucher>`,
    );
    expect(answer.json<number[]>()).toEqual([id]);
    const { body } = await world.app.get(`/1.0/vouchers;id=${id}`, { token: VOUCHER_TOKENS.nord });
    expect(JSON.parse(body)).toMatchObject([{ sourceId: 'spring', languageId: 'de', title: ' Title ' }]);
  });

  it('the order number of a claim', async () => {
    const claim = claimOf('C 1', { advertiserInformation: ' a ' });
    const body = xmlOf('claims', [claim]).replace('>C 1<', `>${indented('C 1')}<`);
    const answer = await world.app.post('/1.0/claims', {
      token: CLAIM_TOKENS.preisblick,
      headers: XML_UTF8,
      body,
    });
    expect(answer.statusCode).toBe(200);
    const list = await claimClientOf(() => world.app).list();
    expect(list).toMatchObject([{ orderNumber: 'C 1', advertiserInformation: ' a ' }]);
  });

  it('the identifiers of a product, while attributes and texts are as posted', async () => {
    const body = `<products><product sourceProductId=" p "><name> N </name><description>D</description>
      <productUrl>https://a.example/</productUrl><productImage>https://a.example/</productImage><price>1</price>
      <sku> s </sku><identifiers><mpn>${indented('m 1')}</mpn><isbn>${NBSP}i</isbn></identifiers>
      <category id="11"/></product></products>`;
    const path = `/1.0/products.json;fid=${FEEDS.german}`;
    const answer = await world.app.post(path, { token: TOKENS.nord, headers: XML_UTF8, body });
    expect(answer.statusCode).toBe(200);
    const { body: found } = await world.app.get(path, { token: TOKENS.nord });
    expect((JSON.parse(found) as { products: unknown }).products).toMatchObject([
      {
        name: ' N ',
        identifiers: { sku: 's', mpn: 'm 1', isbn: `${NBSP}i` },
        offers: [{ sourceProductId: ' p ' }],
      },
    ]);
  });
});
