import { type Response } from '../support/app';
import { claimOf, CLAIM_NETWORK, CLAIM_TOKENS, xmlOf } from './claim-network';
import { FEEDS, OTHER_TOKENS, TOKENS } from './network';
import { product } from './posted';
import { subscription, SUBSCRIPTIONS } from './subscription-network';
import { CONVERSION_TOKENS, PATH, reportOf } from './transaction-network';
import { voucher, VOUCHER_TOKENS } from './voucher-network';
import { worldOf } from './world';

const world = worldOf(CLAIM_NETWORK, () => ({}));

const { nord } = CONVERSION_TOKENS;
const ops = OTHER_TOKENS.operator;
const elements = (root: string, fields: object): string =>
  `<${root}>${Object.entries(fields)
    .map(([name, value]) => `<${name}>${String(value)}</${name}>`)
    .join('')}</${root}>`;

const PRODUCT_XML =
  '<products><product sourceProductId="é"><name>é</name><description>A</description><price>1</price>' +
  '<productUrl>https://shop.example/1</productUrl><productImage>https://img.example/1.jpg</productImage>' +
  '<category name="A"/></product></products>';
const feed = `/1.0/products;fid=${FEEDS.german}`;

type Sent = readonly [format: 'json' | 'xml' | 'csv', path: string, token: string, body: string];

/** Each posted format of each service, with an é in it. */
const BODIES: readonly Sent[] = [
  ['json', feed, TOKENS.nord, JSON.stringify({ products: [product('a', { name: 'é' })] })],
  ['xml', feed, TOKENS.nord, PRODUCT_XML],
  ['json', '/1.0/vouchers', VOUCHER_TOKENS.nord, JSON.stringify(voucher({ title: 'é' }))],
  ['json', '/1.0/vouchers/bulk', VOUCHER_TOKENS.nord, JSON.stringify([voucher({ title: 'é' })])],
  ['xml', '/1.0/vouchers', VOUCHER_TOKENS.nord, elements('voucher', voucher({ title: 'é' }))],
  ['json', PATH, nord, JSON.stringify(reportOf('é'))],
  ['xml', PATH, nord, elements('transaction', reportOf('é'))],
  ['json', `${PATH}/bulk`, nord, JSON.stringify([reportOf('é')])],
  ['xml', `${PATH}/bulk`, nord, `<transactions>${elements('transaction', reportOf('é'))}</transactions>`],
  ['json', `${PATH}/transitions/bulk`, nord, JSON.stringify([{ legacyTransactionId: 'é' }])],
  [
    'xml',
    `${PATH}/transitions/bulk`,
    nord,
    '<transitions><transition><action>é</action></transition></transitions>',
  ],
  ['json', SUBSCRIPTIONS, nord, JSON.stringify(subscription({ subscriptionName: 'é' }))],
  ['json', '/1.0/claims/check', CLAIM_TOKENS.preisblick, JSON.stringify({ claims: [claimOf('é')] })],
  [
    'xml',
    '/1.0/claims/check',
    CLAIM_TOKENS.preisblick,
    xmlOf('claims', [claimOf('é')]).replace(/<\?xml[^>]*>/, ''),
  ],
  ['csv', '/1.0/claims/check', CLAIM_TOKENS.preisblick, csvOf(claimOf('é'))],
  ['json', '/ops/1.0/mappings', ops, JSON.stringify({ mappings: [{ feedId: FEEDS.german, name: 'é' }] })],
  ['csv', '/ops/1.0/mappings', ops, `feedId,name,categoryId\n${FEEDS.german},é,`],
];

function csvOf(fields: object): string {
  return `${Object.keys(fields).join(',')}\n${Object.values(fields).map(String).join(',')}\n`;
}

const TYPES = { json: 'application/json', xml: 'application/xml', csv: 'text/csv' } as const;

function post([format, path, token]: Sent, body: string | Buffer, charset = ''): Promise<Response> {
  const headers = { 'content-type': `${TYPES[format]}${charset}` };
  return world.app.post(path, { token, headers, body });
}

const XML = BODIES.filter(([format]) => format === 'xml');
const UNREADABLE = /PF_210|"101"|<code>101<|CON_310|UTS_210|UTS_291|UTS_212|"400"/;

describe('a posted body is in UTF-8 (decisions A10)', () => {
  it.each(BODIES)('in %s to %s it need not say so', async (...sent) => {
    const [, , , body] = sent;
    const [without, said] = [await post(sent, body), await post(sent, body, '; Charset="UTF8"')];
    expect(without.statusCode).toBeLessThan(300);
    expect(said.statusCode).toBeLessThan(300);
  });

  it.each(BODIES)('in %s to %s it is refused with another charset', async (...sent) => {
    for (const charset of ['; charset=iso-8859-1', '; charset=utf-16', '; charset=utf-8; charset=latin1'])
      expect([charset, [400, 415].includes((await post(sent, sent[3], charset)).statusCode)]).toEqual([
        charset,
        true,
      ]);
  });

  it.each(BODIES)('in %s to %s it is refused if it is another encoding', async (...sent) => {
    const [, , , body] = sent;
    for (const bytes of [Buffer.from(body, 'latin1'), Buffer.from(`\ufeff${body}`, 'utf16le')]) {
      const answer = await post(sent, bytes);
      expect([answer.statusCode, answer.body]).toEqual([400, expect.stringMatching(UNREADABLE)]);
    }
  });

  it.each(XML)('in %s to %s it may declare UTF-8, and no other encoding', async (...sent) => {
    const [, , , body] = sent;
    const declared = (encoding: string) => post(sent, `<?xml version="1.0" encoding="${encoding}"?>${body}`);
    for (const encoding of ['UTF-8', 'utf-8', 'utf8'])
      expect((await declared(encoding)).statusCode).toBeLessThan(300);
    for (const encoding of ['ISO-8859-1', 'UTF-16', 'US-ASCII']) {
      const answer = await declared(encoding);
      expect([answer.statusCode, answer.body]).toEqual([
        400,
        expect.stringContaining(`the XML declaration has the encoding ${encoding}: expected UTF-8, or none`),
      ]);
      expect(answer.body).toMatch(UNREADABLE);
    }
  });
});
