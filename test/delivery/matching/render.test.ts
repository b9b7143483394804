import fc from 'fast-check';
import { compiledBody, isTemplate, parseTemplate } from '../../../src/domain/subscriptions/template';
import { rendererOf } from '../../../src/delivery/matching/messages-of';
import { type Receiver, type ReceiverFormat } from '../../../src/domain/subscriptions/subscription';
import { type Attributes } from '../../../src/domain/subscriptions/topic';
import { withoutForbidden } from '../../../src/wire/xml/write';
import { parseXml } from '../../../src/wire/xml/nodes';
import { anyCharacters } from '../../support/any-characters';
import { cases } from '../../support/size';

function get(receiverUrl: string, attributes: Attributes = {}): unknown {
  return rendererOf({ httpMethod: 'GET', receiverUrl })(attributes);
}

function post(receiverFormat: ReceiverFormat, receiverBody: string, attributes: Attributes = {}): unknown {
  const receiver: Receiver = {
    httpMethod: 'POST',
    receiverUrl: 'https://a.example/',
    receiverFormat,
    receiverBody,
  };
  return rendererOf(receiver)(attributes);
}

const urlOf = (rendered: unknown) => (rendered as { request: { url: string } }).request.url;
const bodyOf = (rendered: unknown) => (rendered as { request: { body: string } }).request.body;

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

const HOSTILE = `a b/../?x=1&y#z%2e+'"\\\n`;

describe('a URL (decisions N10)', () => {
  it('has values percent-encoded in path and query', () => {
    expect(urlOf(get('https://a.example/${epi}/?e=${epi}&s=${siteId}', { epi: 'a b/é&', siteId: 51 }))).toBe(
      'https://a.example/a%20b%2F%C3%A9%26/?e=a%20b%2F%C3%A9%26&s=51',
    );
  });

  it.each([
    ['https://a.example/x?e=${epi}#f=${epi}', 'https://a.example/x?e=%27'],
    ['https://a.example/x?#${epi}', 'https://a.example/x'],
    ['https://a.example/ä|${epi}?e=ä|"\'${epi}', "https://a.example/%C3%A4|'?e=%C3%A4|%22%27%27"],
    ['HTTPS://Ä.Example:443', 'https://xn--4ca.example/'],
    ['http://a.example:8080/b/../c/%2e/d;e=${epi}', "http://a.example:8080/c/d;e='"],
  ])('is the one that is sent: %s (decisions N14)', (url, expected) => {
    expect(urlOf(get(url, { epi: "'" }))).toBe(expected);
  });

  it('has nothing in place of an attribute without a value', () => {
    expect(urlOf(get('https://a.example/x${epi}?e=${constructor}'))).toBe('https://a.example/x?e=');
  });

  it.each([
    'https://${epi}/',
    'https://a.example${epi}',
    'https://a.example:${epi}/',
    'https://${epi}@a.example/',
    '${epi}://a.example/',
    'https:${epi}',
  ])('is not made where a value would stand before the path: %s', (url) => {
    expect(get(url, { epi: 'evil.example' })).toEqual({
      unsendable: expect.stringMatching(/^receiverUrl: expected /) as string,
    });
  });

  it('has at most 8 KiB: one that is longer makes the message unsendable', () => {
    const url = 'https://a.example/?e=${epi}';
    const most = 8192 - 'https://a.example/?e='.length;
    expect(urlOf(get(url, { epi: 'e'.repeat(most) }))).toHaveLength(8192);
    expect(get(url, { epi: 'e'.repeat(most + 1) })).toEqual({
      unsendable: 'its URL is longer than 8192 bytes',
    });
    expect(get(url, { epi: 'é'.repeat(most / 2) })).toHaveProperty('unsendable');
  });

  it('has at most 8 KiB as it is sent: encoded, and without a fragment', () => {
    const tooLong = { unsendable: 'its URL is longer than 8192 bytes' };
    expect(get(`https://a.example/?a=${'一'.repeat(2000)}`)).toEqual(tooLong);
    const most = 8192 - 'https://a.example/'.length;
    const umlauts = Math.floor(most / 6);
    expect(urlOf(get(`https://a.example/${'ä'.repeat(umlauts)}?a`))).toHaveLength(8192);
    expect(get(`https://a.example/${'ä'.repeat(umlauts)}?ab`)).toEqual(tooLong);
    expect(urlOf(get('https://a.example/?a#${epi}', { epi: 'é'.repeat(9000) }))).toBe('https://a.example/?a');
    const dropped = '/b/..'.repeat(300);
    expect(urlOf(get(`https://a.example${dropped}/\${epi}`, { epi: 'e'.repeat(most) }))).toHaveLength(8192);
    expect(get(`https://a.example${dropped}/\${epi}`, { epi: 'e'.repeat(most + 1) })).toEqual(tooLong);
  });

  it.each(['.', '..'])('is not sent to another path because a value is "%s"', (epi) => {
    const unsendable = expect.stringContaining('would change the path') as string;
    expect(get('https://a.example/a/${epi}/c', { epi })).toEqual({ unsendable });
    expect(get('https://a.example/a/${epi}', { epi })).toEqual({ unsendable });
    expect(get('https://a.example/a/.${epi}?b', { epi: '.' })).toEqual({ unsendable });
    expect(get('https://a.example/a/../b?e=/${epi}/', { epi })).toHaveProperty('request');
    expect(get('https://a.example/a${epi}/b', { epi })).toHaveProperty('request');
  });

  it('goes to the same host whatever the values are, and contains them', () => {
    const url = 'https://a.example:8443/p/x${epi}/q?e=${epi}&f=${epi2}#${epi}';
    fc.assert(
      fc.property(anyCharacters(), anyCharacters(), (epi, epi2) => {
        const text = urlOf(get(url, { epi, epi2 }));
        const parsed = new URL(text);
        expect(text).toBe(parsed.origin + parsed.pathname + parsed.search);
        expect([parsed.origin, parsed.username, parsed.password]).toEqual(['https://a.example:8443', '', '']);
        expect(decodeURIComponent(parsed.pathname)).toBe(`/p/x${epi}/q`);
        expect(parsed.searchParams.get('e')).toBe(epi);
        expect(parsed.searchParams.get('f')).toBe(epi2);
      }),
      { numRuns: cases(1000), examples: [[HOSTILE, '\0']] },
    );
  });
});

describe('a body in JSON (decisions N10)', () => {
  it('has text within strings, and values outside of them', () => {
    const template =
      '{"a":"${epi} ${siteId} ${epi2}","b":${epi},"c":${siteId},"d":${epi2},"e":[${orderValue}]}';
    expect(post('JSON', template, { epi: 'a "b"\n', siteId: 51, orderValue: 12.5 })).toEqual({
      request: {
        method: 'POST',
        url: 'https://a.example/',
        contentType: 'application/json; charset=utf-8',
        body: '{"a":"a \\"b\\"\\n 51 ","b":"a \\"b\\"\\n","c":51,"d":null,"e":[12.5]}',
      },
    });
  });

  it.each([
    '{"a":"\\${epi}"}',
    '{"a":"\\u004${epi}"}',
    '{${epi}:1}',
    '{"a":1${siteId}}',
    '{"a":-${siteId}}',
    '{"a":${siteId}${siteId}}',
    '{"a":${epi}',
    '{"a":${}}',
  ])('is not made of a template that may not become JSON: %s', (template) => {
    expect(post('JSON', template, { epi: 'n', siteId: 5 })).toEqual({
      unsendable: expect.stringMatching(/^receiverBody: /) as string,
    });
  });

  it('is JSON whatever the values are, and contains them', () => {
    const template = '{"s":"<${a}\\\\|${b}>","a":${a},"b":${b},"n":[${n},"\\"${a}"]}';
    fc.assert(
      fc.property(anyCharacters(), anyCharacters(), finite, (a, b, n) => {
        expect(JSON.parse(bodyOf(post('JSON', template, { a, b, n })))).toEqual({
          ...{ s: `<${a}\\|${b}>`, a, b },
          n: [JSON.parse(JSON.stringify(n)), `"${a}`],
        });
      }),
      { numRuns: cases(1000), examples: [[HOSTILE, '\ud800', 1e21]] },
    );
  });
});

describe('a body in XML (decisions N10)', () => {
  it('has escaped text', () => {
    const template = `<a b="\${epi}" c='\${epi}'>\${epi}<d>\${epi2}</d></a>`;
    expect(post('XML', template, { epi: `<&'">\n` })).toEqual({
      request: {
        method: 'POST',
        url: 'https://a.example/',
        contentType: 'application/xml; charset=utf-8',
        body: `<a b="&lt;&amp;&#39;&quot;&gt;&#10;" c='&lt;&amp;&#39;&quot;&gt;&#10;'>&lt;&amp;&#39;&quot;&gt;&#10;<d></d></a>`,
      },
    });
  });

  it.each([
    '<${epi}/>',
    '<a ${epi}="b"/>',
    '<a b=${epi}/>',
    '<a><!-- ${epi} --></a>',
    '<a><?b ${epi}?></a>',
    '<a>&${epi};</a>',
    '<a>&#${epi};</a>',
    '<a/>${epi}',
    '<a>]]${epi}></a>',
    '<a>${epi}',
    '<!DOCTYPE a [<!ENTITY b "${epi}">]><a>&b;</a>',
  ])('is not made of a template that may not become XML: %s', (template) => {
    expect(post('XML', template, { epi: 'lt' })).toEqual({
      unsendable: expect.stringMatching(/^receiverBody: /) as string,
    });
  });

  it('is XML whatever the values are, and contains them', () => {
    const template = `<?xml version="1.0"?><!-- > " --><a b="'>\${a}" c='\${b}"'>[\${a}]\${b}></a>`;
    const cdata = '<a><![CDATA[<"]${a}]]${b}>]]></a>';
    fc.assert(
      fc.property(anyCharacters(), anyCharacters(), (a, b) => {
        const values = [withoutForbidden(a), withoutForbidden(b)];
        const root = parseXml(Buffer.from(bodyOf(post('XML', template, { a, b }))));
        expect(root.attributes.b).toBe(`'>${values[0]}`);
        expect(root.attributes.c).toBe(`${values[1]}"`);
        expect(root.text).toBe(`[${values[0]}]${values[1]}>`);
        expect(parseXml(Buffer.from(bodyOf(post('XML', cdata, { a, b })))).text).toBe(
          `<"]${values[0]}]]${values[1]}>`,
        );
      }),
      {
        numRuns: cases(1000),
        examples: [
          [HOSTILE, ']'],
          [']]>', ']]'],
          [']', '>'],
        ],
      },
    );
  });
});

it.each([
  ['XML', '<?xml version="1.1" encoding="ISO-8859-1"?><a>${epi}</a>'],
  ['JSON', '\ufeff{"a":${epi}}'],
] as const)(
  'a body in %s that says that it is not in UTF-8 is sent as it is: it was accepted before the check of that (decisions N10)',
  (format, template) => {
    expect(bodyOf(post(format, template, { epi: 'é' }))).toBe(
      template.replace('${epi}', format === 'JSON' ? '"é"' : 'é'),
    );
  },
);

describe('a body in another format (decisions N10)', () => {
  it('has values as they are', () => {
    expect(post('custom', 'a=${epi};${orderValue}${epi2}', { epi: '<"\n', orderValue: 1299 })).toEqual({
      request: {
        method: 'POST',
        url: 'https://a.example/',
        contentType: 'text/plain; charset=utf-8',
        body: 'a=<"\n;1299',
      },
    });
  });
});

it('equal placeholders of a body are one object: it may have ten thousand', () => {
  const template = parseTemplate('${epi}"${epi}${epi2}${epi}');
  const [first, , again, other, last] = compiledBody(isTemplate(template) ? template : [], 'custom');
  expect(first).toEqual({ name: 'epi', place: 'raw' });
  expect([again, last].map((one) => one === first)).toEqual([true, true]);
  expect(other).toEqual({ name: 'epi2', place: 'raw' });
});

describe('a body that is too large (decisions N10)', () => {
  it('makes the message unsendable from 256 KiB on', () => {
    const most = 256 * 1024;
    expect(bodyOf(post('custom', '${epi}', { epi: 'e'.repeat(most) }))).toHaveLength(most);
    const unsendable = `its body is longer than ${most} bytes`;
    expect(post('custom', '${epi}', { epi: 'e'.repeat(most + 1) })).toEqual({ unsendable });
    expect(post('custom', '${epi}', { epi: 'é'.repeat(most / 2 + 1) })).toEqual({ unsendable });
    expect(post('custom', '${epi}'.repeat(10_000), { epi: 'e'.repeat(100_000) })).toEqual({ unsendable });
  });

  it('makes it unsendable when the delivery log cannot store it', () => {
    expect(post('custom', '${epi}', { epi: '\u0001'.repeat(200_000) })).toEqual({
      unsendable: 'its body has too many control characters',
    });
  });
});
