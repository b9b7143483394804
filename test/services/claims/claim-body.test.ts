import { type PostedFormat, readPosted } from '../../../src/services/claims/claims-body';
import { refusalOf } from './posted';

const read = (text: string, format: PostedFormat) => readPosted('claims', Buffer.from(text), format).items;
const refused = (text: string, format: PostedFormat) => refusalOf(() => read(text, format)).faults;

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<claims version="1.0" xmlns="urn:com:affilog:uts:openapi:parsing:xml:input" xmlns:c="urn:com:affilog:uts:openapi:parsing:xml:common">
  <claim><c:programId> 31 </c:programId><c:orderNumber> A &amp; 1 </c:orderNumber></claim>
  <claim><c:orderNumber>A-2</c:orderNumber></claim>
</claims>`;

describe('a body of claims', () => {
  it('is an object with a list, whose values are strings or numbers, in JSON (Document 3, Claim posted by a publisher)', () => {
    const body = '{"claims":[{"programId":"31","orderNumber":7},{"programId":31}]}';
    expect(read(body, 'json')).toEqual([{ programId: '31', orderNumber: 7 }, { programId: 31 }]);
  });

  it('has the root claims and elements of two namespaces in XML (Document 3, Claim posted by a publisher)', () => {
    expect(read(XML, 'xml')).toEqual([{ programId: '31', orderNumber: 'A & 1' }, { orderNumber: 'A-2' }]);
  });

  it('may have no namespaces, and no version', () => {
    expect(read('<claims><claim><epi>e</epi></claim></claims>', 'xml')).toEqual([{ epi: 'e' }]);
  });

  it.each<[PostedFormat, string]>([
    ['json', '{"claims":[{"epi":"e"}]}'],
    ['xml', '<claims><claim><epi>e</epi></claim></claims>'],
    ['csv', 'epi\ne'],
  ])('in %s may begin with a byte order mark', (format, body) => {
    expect(read(`\ufeff${body}`, format)).toEqual([{ epi: 'e' }]);
  });

  it('has fields as columns in CSV, in any order and case (decisions C13)', () => {
    const body = '\ufeffOrderNumber;programId;epi\r\n" A;""1""";  31;\r\n\r\nA-2;x;" e "\n';
    expect(read(body, 'csv')).toEqual([
      { orderNumber: ' A;"1"', programId: '31', epi: '' },
      { orderNumber: 'A-2', programId: 'x', epi: ' e ' },
    ]);
  });

  it.each<[why: string, format: PostedFormat, body: string, fault: RegExp]>([
    [
      'no JSON',
      'json',
      '{"claims":[',
      /^UTS_210 the body is not JSON: expected .*, found the end, at byte 11$/,
    ],
    ['an empty body', 'json', '', /^UTS_210 /],
    ['JSON in UTF-16', 'json', '\u0000{', /^UTS_210 /],
    ['JSON that is nested too deeply', 'json', `{"claims":[${'['.repeat(40)}`, /^UTS_210 /],
    ['no XML', 'xml', '<claims><claim>', /^UTS_291 .*at line 1, column/],
    ['an empty XML body', 'xml', '', /^UTS_291 /],
    ['an entity', 'xml', '<!DOCTYPE c [<!ENTITY a "b">]><claims/>', /^UTS_291 a DOCTYPE is not accepted/],
    ['an undeclared prefix', 'xml', '<claims><c:claim/></claims>', /^UTS_291 .*prefix c is not declared/],
    [
      'XML that is nested too deeply',
      'xml',
      '<a>'.repeat(100),
      /^UTS_291 elements are nested deeper than 64/,
    ],
    ['an open quote', 'csv', 'programId,epi\n31,"a\n', /^UTS_212 a cell in double quotes is not closed$/],
    ['a row of other length', 'csv', 'programId,epi\n31\n', /^UTS_212 line 2 has 1 cells: expected 2/],
    [
      'no names of fields',
      'csv',
      '31,52\n31,52\n',
      /^UTS_212 expected the names of fields in the first line: aff/,
    ],
    ['a column twice', 'csv', 'epi,EPI\na,b\n', /^UTS_212 the first line has the column epi more than once$/],
    ['an empty CSV body', 'csv', '', /^UTS_212 /],
  ])(
    'that is %s cannot be read (Document 3, Errors: UTS_210, UTS_291, UTS_212)',
    (_, format, body, fault) => {
      expect(refused(body, format)).toEqual([expect.stringMatching(fault)]);
    },
  );

  it.each<[PostedFormat, Buffer, string]>([
    ['json', Buffer.from([0x7b, 0xff, 0x7d]), 'UTS_210'],
    ['xml', Buffer.from([0x3c, 0x61, 0xff]), 'UTS_291'],
    ['csv', Buffer.from([0x65, 0x70, 0x69, 0x0a, 0xff]), 'UTS_212'],
  ])('of other bytes than UTF-8 in %s cannot be read', (format, bytes, code) => {
    expect(refusalOf(() => readPosted('claims', bytes, format))).toEqual({
      status: 400,
      faults: [expect.stringMatching(`^${code} .*UTF-8`)],
    });
  });

  it.each<[PostedFormat, string, string]>([
    ['json', '[]', 'expected an object with claims, a list of claim objects'],
    ['json', '5', 'expected an object with claims, a list of claim objects'],
    ['json', '{"claims":5}', 'claims: expected a list of claim objects'],
    ['json', '{"claims":[],"claimUpdates":[]}', 'expected an object with claims alone, found claimUpdates'],
    ['json', '{"claimUpdates":[{}],"claims":[]}', 'expected an object with claims alone, found claimUpdates'],
    ['json', '{"claims":{}}', 'claims: expected a list of claim objects'],
    ['xml', '<claimUpdates/>', 'expected a root element claims with claim elements, found claimUpdates'],
    ['xml', '<claims><claim/><c/></claims>', 'expected a root element claims with claim elements, found c'],
  ])('that is %s of something else is UTS_211: %s (Document 3, Errors: UTS_211)', (format, body, message) => {
    expect(refused(body, format)).toEqual([`UTS_211 ${message}`]);
  });

  it.each<[PostedFormat, string, string]>([
    ['json', '{}', 'UTS_240'],
    ['json', '{"claims":null}', 'UTS_240'],
    ['json', '{"claims":[]}', 'UTS_240'],
    ['xml', '<claims version="1.0"/>', 'UTS_200'],
    ['csv', 'programId,epi\n', 'UTS_200'],
  ])(
    'in %s without a claim misses it: %s (decisions C3; Document 3, Errors: UTS_240, UTS_200)',
    (format, body, code) => {
      expect(refused(body, format)).toEqual([`${code} claims must be set: at least one claim`]);
    },
  );

  it('has at most 1,000 claims (decisions C3)', () => {
    const rows = (count: number) => `epi\n${'a\n'.repeat(count)}`;
    expect(read(rows(1000), 'csv')).toHaveLength(1000);
    expect(refused(rows(1001), 'csv')).toEqual([
      'UTS_430 claims has 1001 items: expected at most 1000; post the others separately',
    ]);
  });

  it('in XML has version 1.0 (Document 3, Versioning)', () => {
    expect(refused(XML.replace('version="1.0" xmlns', 'version="2.0" xmlns'), 'xml')).toEqual([
      'UTS_430 claims: version is 2.0, expected 1.0',
    ]);
  });
});
