import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { NotParsable } from '../../src/wire/bytes';
import { parseXml } from '../../src/wire/xml/nodes';
import { readXml } from '../../src/wire/xml/read';
import { writeXml } from '../../src/wire/xml/write';
import { anyCharacters } from '../support/any-characters';

/** Everything that is read, texts joined, as one line each. */
function read(pieces: readonly Buffer[]): string[] {
  const seen: string[] = [];
  const reader = readXml({
    open: (name, attributes) => seen.push(`<${name} ${JSON.stringify(attributes)}`),
    text: (piece) => {
      const last = seen.at(-1) ?? '';
      if (last.startsWith('=')) seen[seen.length - 1] = last + piece;
      else seen.push(`=${piece}`);
    },
    close: (name) => seen.push(`/${name}`),
  });
  for (const piece of pieces) reader.write(piece);
  reader.end();
  return seen;
}

const bytewise = (text: string) => [...Buffer.from(text)].map((byte) => Buffer.from([byte]));

const PRODUCTS = `<?xml version="1.0" encoding="UTF-8"?>
<products xmlns="urn:com:affilog:pf:model:xml:input" xmlns:cm="urn:com:affilog:pf:model:xml:common" version="3.0">
<product sourceProductId="7 &amp; 8"><cm:name>Süßes 😀 &lt;&#65;<![CDATA[<b>&amp;]]]]><![CDATA[></b>]]></cm:name><!-- no - comment --><cm:price/></product>
</products>`;

describe('posted XML (Document 1, XML body shape)', () => {
  it('is read by local names, whatever the chunks (decisions P24)', () => {
    const seen = read([Buffer.from(PRODUCTS)]);
    expect(seen).toEqual([
      '<products {"version":"3.0"}',
      '=\n',
      '<product {"sourceProductId":"7 & 8"}',
      '<name {}',
      '=Süßes 😀 <A<b>&amp;]]></b>',
      '/name',
      '<price {}',
      '/price',
      '/product',
      '=\n',
      '/products',
    ]);
    expect(read(bytewise(PRODUCTS))).toEqual(seen);
    for (let size = 2; size < 50; size += 1) {
      const bytes = Buffer.from(PRODUCTS);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(read(pieces)).toEqual(seen);
    }
  });

  it('has an attribute without a prefix as its own, whatever stands before or after it', () => {
    const expected = ['<a {"version":"1.0"}', '/a'];
    for (const pair of ['x:version="2.0" version="1.0"', 'version="1.0" x:version="2.0"'])
      expect(read([Buffer.from(`<a xmlns:x="u" ${pair}/>`)])).toEqual(expected);
    expect(read([Buffer.from('<a xmlns:x="u" x:version="1.0"/>')])).toEqual(expected);
  });

  it('is read after a byte order mark', () => {
    expect(read(bytewise('\ufeff<a>b</a>'))).toEqual(['<a {}', '=b', '/a']);
  });

  it('takes 100 prefixes in scope, and no more (decisions X11)', () => {
    const declared = (count: number) =>
      Array.from({ length: count }, (_, at) => ` xmlns:x${at}="u"`).join('');
    expect(read([Buffer.from(`<a${declared(100)}/>`)])).toHaveLength(2);
    const one = Buffer.from(`<a${declared(50)}><b/><b${declared(51)}/></a>`);
    expect(() => read([one])).toThrow('more than 100 namespace prefixes in scope');
  });

  it('takes prefixes that are declared, wherever that is (decisions P24)', () => {
    const xml = '<x:a xml:lang="en" x:b="1" xmlns:x="u"><x:b/><c xmlns:x="v" x:d="2"><x:e/></c><x:f/></x:a>';
    const names = read([Buffer.from(xml)]).filter((seen) => seen.startsWith('<'));
    expect(names.map((seen) => seen.split(' ')[0])).toEqual(['<a', '<b', '<c', '<e', '<f']);
  });

  it('takes attributes by local names, and none of them for a member of all objects', () => {
    expect(read([Buffer.from('<a x:id="1" __proto__="2" xmlns:x="u"/>')])).toEqual([
      '<a {"id":"1","__proto__":"2"}',
      '/a',
    ]);
  });

  it.each([
    ['<!DOCTYPE a><a/>', 'a DOCTYPE is not accepted, at line 1'],
    ['<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>', 'a DOCTYPE is not accepted, at line 1'],
    ['<a>&b;</a>', 'undefined entity'],
    ['<a>\n<b></a>', 'unexpected close tag'],
    ['<a>', 'unclosed tag: a'],
    ['<a/><a/>', 'documents may contain only one root, at line 1'],
    ['<a b="1" b="2"/>', 'duplicate attribute: b'],
    ['<a>\u0001</a>', 'disallowed character'],
    ['<a>&#1;</a>', 'malformed character entity'],
    ['<?xml version="1.1"?><a>&#1;</a>', 'malformed character entity'],
    ['', 'document must contain a root element'],
    ['text', 'text'],
    ['{"products":[]}', 'text'],
    ['<a>'.repeat(100), 'elements are nested deeper than 64'],
    ['\ufeff\ufeff<a/>', 'a second byte order mark'],
    ['<x:a/>', 'the namespace prefix x is not declared'],
    ['<a x:b="1"/>', 'the namespace prefix x is not declared'],
    ['<a><b xmlns:x="u"/><x:b/></a>', 'the namespace prefix x is not declared'],
    ['<a><x:b xmlns:x="u"><x:c/></x:b><c x:d=""/></a>', 'the namespace prefix x is not declared'],
    ['<a xmlns:x=""/>', 'the namespace of the prefix x is empty'],
    ['<a xmlns:x="u"><x:y:z/></a>', 'malformed name: x:y:z'],
    ['<a xmlns:x="u"><x:/></a>', 'malformed name: x:'],
  ])('%j is refused: %s', (xml, message) => {
    expect(() => read([Buffer.from(xml)])).toThrow(NotParsable);
    expect(() => read([Buffer.from(xml)])).toThrow(message);
    expect(() => read(bytewise(xml))).toThrow(NotParsable);
  });

  it.each([
    [[0x3c, 0x61, 0x3e, 0xff, 0x3c, 0x2f, 0x61, 0x3e], 'the body is not UTF-8'],
    [[0x3c, 0x61, 0x3e, 0xc3, 0x3c, 0x2f, 0x61, 0x3e], 'the body is not UTF-8'],
    [[0x3c, 0x61, 0x3e, 0xed, 0xa0, 0x80, 0x3c], 'the body is not UTF-8'],
    [[0x3c, 0x61, 0x2f, 0x3e, 0xe2, 0x82], 'the body ends within a UTF-8 character'],
  ])('%j is refused: %s (decisions A10)', (bytes, message) => {
    expect(() => read([Buffer.from(bytes)])).toThrow(message);
    expect(() => read(bytes.map((byte) => Buffer.from([byte])))).toThrow(message);
  });

  it.each(['<a>', '<a><![CDATA[', '<a><!--'])(
    'passes text of any length in pieces, in flat memory: %s',
    (begin) => {
      let length = 0;
      let largest = 0;
      const reader = readXml({
        open: () => undefined,
        text: (piece) => {
          length += piece.length;
          largest = Math.max(largest, piece.length);
        },
        close: () => undefined,
      });
      reader.write(Buffer.from(begin));
      const chunk = Buffer.alloc(65_536, 'ä');
      for (let count = 0; count < 100; count += 1) reader.write(chunk);
      expect(largest).toBeLessThanOrEqual(32_768);
      expect(length).toBe(begin === '<a><!--' ? 0 : 100 * 32_768);
    },
  );

  it.each(['<a b="', '<a ', '<', '<a>&', '<?x ', '</', '<!DOCTYPE a [', '<?xml version="'])(
    'does not collect %j without an end',
    (begin) => {
      const reader = readXml({ open: () => undefined, text: () => undefined, close: () => undefined });
      const chunk = Buffer.alloc(65_536, 'b');
      const write = () => {
        reader.write(Buffer.from(begin));
        for (let count = 0; count < 40; count += 1) reader.write(chunk);
      };
      expect(write).toThrow(NotParsable);
    },
  );

  it('has a parser that V8 does not take for a dictionary, with which it would be half as fast', () => {
    setFlagsFromString('--allow-natives-syntax');
    const isFast = runInNewContext('(parser) => %HasFastProperties(parser)') as (parser: object) => boolean;
    const write = jest.spyOn(SaxesParser.prototype, 'write');
    read([Buffer.from('<?xml version="1.0" encoding="UTF-8"?><a b="c">d<![CDATA[e]]></a>')]);
    expect(write.mock.contexts.map(isFast)).not.toContain(false);
    expect(write).toHaveBeenCalled();
    write.mockRestore();
  });
});

describe('written XML', () => {
  const text = anyCharacters();
  const asRead = (value: string) =>
    value.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Cs}/gu, '\ufffd');

  it('is read as it was written, characters that XML cannot carry replaced', () => {
    fc.assert(
      fc.property(text, text, (attribute, content) => {
        const xml = writeXml({
          result: { $: { a: attribute, 'xmlns:ns2': 'u' }, 'ns2:b': [{ _: content }, content, 7, true] },
        });
        const root = parseXml(Buffer.from(xml));
        expect(root.attributes.a).toBe(asRead(attribute));
        expect(root.children.map((child) => child.text)).toEqual([
          asRead(content),
          asRead(content),
          '7',
          'true',
        ]);
      }),
    );
  });

  it('leaves out what is absent, and keeps what is empty', () => {
    expect(writeXml({ a: { $: { x: undefined, y: 1 }, b: undefined, c: '', d: [], e: {} } })).toBe(
      '<?xml version="1.0" encoding="UTF-8"?><a y="1"><c/><e/></a>',
    );
  });

  it('has line breaks if they are wanted (Document 1, Conventions 6)', () => {
    expect(writeXml({ a: { b: 'c' } }, { pretty: true })).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<a>\n  <b>c</b>\n</a>',
    );
  });
});
