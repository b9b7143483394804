import fc from 'fast-check';
import { ADVERTISER, CLAIM_TOKENS, PUBLISHER } from './server';

const METHODS = ['GET', 'GET', 'GET', 'POST', 'POST', 'HEAD', 'DELETE', 'OPTIONS'];
const ODD_METHODS = ['PUT', 'PATCH', 'QUERY', 'PROPFIND', 'TRACE', 'CONNECT', 'FOO', 'get', '', 'G\0T'];

const PATHS = [
  '/1.0/products;fid=22;q=a%20b;page=1;pageSize=10',
  '/1.0/products.xml;fid=22,23;orderBy=priceAsc;priceHistory=true',
  '/1.0/products;cursor=*;fid=22',
  '/1.0/products.csv;fid=22;csvFlattenFields=true',
  '/1.0/products;fid=22;mode=replace',
  '/1.0/products;fid=22;spId=a,b',
  '/1.0/products/imports;fid=22',
  '/1.0/productsUnlimited;fid=22;compress=gz',
  '/1.0/productsUnlimited;fid=22;since=2026-01-01',
  '/1.0/productsUnlimited/lastUpdated;fid=22',
  '/1.0/productCategories;language=de',
  '/1.0/categoryMappings;state=mapped',
  '/1.0/productFeeds/22',
  '/1.0/vouchers;programId=101;keywords=a',
  '/1.0/vouchers/bulk',
  '/1.0/vouchers/7/versions',
  '/1.0/claims;statusId=1,2;sortBy=status%20change;tdconnect=true;offset=1',
  '/1.0/claims/1;versionNo=0',
  '/1.0/claims/1/versions',
  '/1.0/claims/check',
  '/1.0/claimUpdates',
  '/1.0/claimStatuses;pretty=true',
  '/1.0/uts/claims.xml;limit=5',
  '/1.0/uts/claimUpdates.json',
  '/ops/1.0/mappings;fid=22',
  '/1.0/schemas/ProductErrors_v1_0.xsd',
  '/1.0/openapi.json',
  '/docs/index.html',
  '/health/ready',
  '/1.0/%70roducts',
  '/2.0/products',
  '*',
];

const QUERIES = [
  `?token=${PUBLISHER}`,
  `?token=${ADVERTISER}`,
  `?token=${ADVERTISER}&jsonp=f.g`,
  `?token=${CLAIM_TOKENS.publisher}`,
  `?token=${CLAIM_TOKENS.advertiser}`,
  '?token=zzz',
  '',
];

const HEADERS = [
  'Content-Type: application/json; charset=utf-8',
  'Content-Type: application/xml; charset=utf-8',
  'Content-Type: text/csv; charset=utf-8',
  'Content-Encoding: gzip',
  'Accept: text/csv',
  'Accept: application/xml;q=0.1, */*',
  'Accept-Encoding: gzip',
  'Host: y',
  'Expect: 100-continue',
  'Expect: x',
  'Transfer-Encoding: gzip, chunked',
  'Content-Length: 5',
  'X-Min-Position: 0000000000000000001',
  'If-None-Match: *',
  'Range: bytes=0-1',
  'Connection: Upgrade\r\nUpgrade: h2c',
  'Origin: https://x.example',
  ' folded: x',
  'Bad Header: x',
  'X: \xff\x00',
];

const PRODUCT = `{"sourceProductId":"a","name":"A","description":"B","productUrl":"https://a.example/","productImage":{"url":"https://a.example/i.png"},"price":1.5,"categories":[{"id":"1"}],"fields":[{"name":"n","value":"v"}]}`;
const BODIES = [
  '',
  `{"products":[${PRODUCT}]}`,
  `{"products":[${PRODUCT},${PRODUCT}]}`,
  '{"products":[{},{},{}]}',
  '[{"programId":101,"title":"t"}]',
  '{"programId":101,"title":"t","code":"c","startDate":"2026-01-01"}',
  '<products xmlns:c="u"><product sourceProductId="a"><c:name>A &amp; B</c:name><price>1</price></product></products>',
  '<voucher><programId>101</programId><title><![CDATA[t]]></title></voucher>',
  '{"claims":[{"affiliateSiteId":"1101","programId":"101","timeStampEvent":"2026-01-01","eventId":17,"orderNumber":"a","orderValue":1.5}]}',
  '{"claimUpdates":[{"claimId":1,"statusIdClaim":201,"statusMessageClaim":"Email","versionNo":0}]}',
  '<claims version="1.0" xmlns:c="u"><claim><c:programId>101</c:programId><c:epi>&amp;</c:epi></claim></claims>',
  'affiliateSiteId,programId,timeStampEvent,eventId,orderNumber,orderValue\r\n1101,101,2026-01-01,17,b,"1"\r\n',
  '{"mappings":[{"feedId":22,"name":"n","categoryId":"1"}]}',
  'feedId,name,categoryId\r\n22,n,1\r\n',
];

/** Replacements of some characters. */
const PIECES = [
  ...[
    '',
    '%',
    '%00',
    '%2F',
    '%3B',
    '%ff',
    '%E2%82',
    ';',
    ';;',
    '=',
    ',',
    '/',
    '//',
    '/../',
    '?',
    '&',
    '#',
    '+',
  ],
  ...['\0', '\r', '\n', '\r\n', '\t', ' ', '"', "'", '<', '>', '&', '{', '}', '[', ']', '\\', '\\u0000', ':'],
  ...[
    '\xff',
    '\xef\xbb\xbf',
    '\xc3\xa9',
    'é',
    '-1',
    '0',
    '1e400',
    '9'.repeat(30),
    'null',
    'true',
    '__proto__',
  ],
  ...['<!DOCTYPE a [<!ENTITY b "c">]>', '&b;', '<x:y/>', '<![CDATA[', '<!--', ']]>', 'a'.repeat(2000)],
];

interface Edit {
  readonly at: number;
  readonly gone: number;
  readonly put: string;
}

const edits = (most: number) =>
  fc.array(fc.record({ at: fc.nat(), gone: fc.nat(3), put: fc.constantFrom(...PIECES) }), {
    maxLength: most,
  });

function edited(text: string, all: readonly Edit[]): string {
  return all.reduce((before, { at, gone, put }) => {
    const place = at % (before.length + 1);
    return before.slice(0, place) + put + before.slice(place + gone);
  }, text);
}

const request = fc
  .record({
    method: fc.oneof(
      { arbitrary: fc.constantFrom(...METHODS), weight: 6 },
      { arbitrary: fc.constantFrom(...ODD_METHODS), weight: 1 },
    ),
    path: fc.constantFrom(...PATHS),
    query: fc.constantFrom(...QUERIES),
    targetEdits: edits(2),
    headers: fc.array(fc.constantFrom(...HEADERS), { maxLength: 4 }),
    body: fc.constantFrom(...BODIES),
    bodyEdits: edits(3),
    length: fc.constantFrom('right', 'right', 'right', 'chunked', 'short', 'long', 'none'),
    wholeEdits: fc.oneof({ arbitrary: fc.constant([]), weight: 4 }, { arbitrary: edits(2), weight: 1 }),
  })
  .map(({ method, path, query, targetEdits, headers, body, bodyEdits, length, wholeEdits }) => {
    const sent = edited(body, bodyEdits);
    const bytes = Buffer.byteLength(sent, 'latin1');
    const framing = {
      right: [`Content-Length: ${bytes}`],
      short: [`Content-Length: ${Math.max(0, bytes - 3)}`],
      long: [`Content-Length: ${bytes + 3}`],
      chunked: ['Transfer-Encoding: chunked'],
      none: [],
    }[length];
    const framed = length === 'chunked' ? `${bytes.toString(16)}\r\n${sent}\r\n0\r\n\r\n` : sent;
    const line = `${method} ${edited(path + query, targetEdits)} HTTP/1.1`;
    return edited(`${[line, 'Host: x', ...headers, ...framing].join('\r\n')}\r\n\r\n${framed}`, wholeEdits);
  });

/** Requests of all services with mutations, as latin1 bytes; deterministic for a seed. */
export function mutatedRequests(count: number, seed: number): readonly string[] {
  return fc.sample(request, { numRuns: count, seed });
}
