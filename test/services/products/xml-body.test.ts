import * as fc from 'fast-check';
import { tmpdir } from 'node:os';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { type ReadProduct } from '../../../src/services/products/load/ingest/columns';
import { ProductIntake, XmlBody } from '../../../src/services/products/load/ingest/product-intake';
import { Spool } from '../../../src/services/products/load/ingest/spool';
import { type WrittenElements, xmlProducts } from '../../../src/services/products/load/ingest/validate';

const OURS: WrittenElements = { format: 'xml', prefixes: [] };
const TERMS = { currency: 'EUR', now: Date.parse('2026-06-15T12:00:00Z') };
const RSS: WrittenElements = { format: 'merchant', root: 'rss', prefixes: [], terms: TERMS };
const ATOM: WrittenElements = { ...RSS, root: 'feed' };

const PARTS = [
  '<?xml version="1.0"?>',
  '<products version="3.0">',
  '<products>',
  '<products xmlns:c="u">',
  '</products>',
  '<product sourceProductId="a">',
  "<product sourceProductId='b'>",
  '<product/>',
  '<c:product xmlns:c="u"/>',
  '</product>',
  '<name>n &lt;</name>',
  '<name>',
  '</name>',
  '<price>1</price>',
  '<c:categories><category name="x > y"/></c:categories>',
  '<!-- <product/> -->',
  '<![CDATA[</product>]]>',
  '<?p </products>?>',
  '<other/>',
  '<!DOCTYPE p>',
  ' ',
  'text',
  '&amp;',
] as const;

const RSS_PARTS = [
  '<?xml version="1.0"?>',
  '<rss xmlns:g="u">',
  '<rss>',
  '</rss>',
  '<channel>',
  '<channel xmlns:d="u">',
  '</channel>',
  '<title>Shop</title>',
  '<item>',
  '<item/>',
  '<items/>',
  '</item>',
  '<g:item xmlns:g="u"><g:id>b</g:id></g:item>',
  '<g:id>a</g:id>',
  '<d:price>1 EUR</d:price>',
  '<link href="https://shop.example/"/>',
  '<!-- <item> -->',
  '<![CDATA[</item>]]>',
  '<!DOCTYPE p>',
  ' ',
  'text',
] as const;

const EDITS = ['<', '>', '/', '!', '"', "'", '-', '&', ']', '?', ' ', '\u0001'] as const;

/**
 * What comes of a body: the products that are spooled, and what is wrong with others, or the code it is refused with.
 */
async function received(read: (intake: ProductIntake) => Promise<void>): Promise<unknown> {
  const spool = new Spool(SYSTEM_CLOCK, tmpdir());
  const knowsCategory = (): boolean => true;
  const intake = new ProductIntake({ spool, knowsCategory });
  try {
    await read(intake);
    await intake.complete();
    const spooled: string[] = [];
    for await (const some of spool.read())
      for (const { head, text } of some) spooled.push(`${head.sequence} ${text().toString()}`);
    return { spooled, faults: intake.faults.listed };
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await spool.close();
  }
}

async function inProducts(text: string, chunk: number, written = OURS): Promise<unknown> {
  return received(async (intake) => {
    const body = new XmlBody(intake, written);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += chunk) {
      body.write(Buffer.from(bytes.subarray(at, at + chunk)));
      await intake.ready();
    }
    body.end();
  });
}

async function inOnePiece(text: string, written = OURS): Promise<unknown> {
  return received(async (intake) => {
    const products: ReadProduct[] = [];
    const onOversized = (): never => {
      throw new Error('no product is that large');
    };
    intake.written = written;
    const reader = xmlProducts(written, { onProduct: (product) => products.push(product), onOversized });
    reader.write(Buffer.from(text));
    reader.end();
    if (written !== OURS && products.length === 0) throw Object.assign(new Error(), { code: 'PF_210' });
    for (const [at, product] of products.entries()) intake.addParsed(product, at + 1);
  });
}

describe('a body in XML (Document 1, XML body shape)', () => {
  const product = fc
    .shuffledSubarray([
      '<name>n</name>',
      '<price>1</price>',
      '<description>d</description><productUrl>https://shop.example/</productUrl>',
      '<productImage>https://img.example/</productImage><categories><category name="c"/></categories>',
      '<fields><field name="f">v</field></fields>',
      '<!-- </product> -->',
      '<name><![CDATA[<x>]]></name>',
      '<brand a="/>">b</brand>',
      '<c:size>s</c:size>',
      '<d:size xmlns:d="u">s</d:size>',
    ])
    .map((parts) => `<product sourceProductId="a>b">${parts.join('\n')}</product>`);
  const good = fc
    .array(fc.oneof(product, fc.constantFrom(' ', '\n', 'text', '<!-- <product/> -->', '<product/>')))
    .map(
      (parts) =>
        `<?xml version="1.0"?><!-- c --><products xmlns:c="u" version="3.0">${parts.join('')}</products>\n`,
    );
  const edited = (whole: fc.Arbitrary<string>) =>
    fc
      .tuple(whole, fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...EDITS)), { maxLength: 2 }))
      .map(([text, edits]) =>
        edits.reduce((before, [place, gone, put]) => {
          const at = place % (before.length + 1);
          return before.slice(0, at) + put + before.slice(at + gone);
        }, text),
      );
  const jumbled = (parts: readonly string[]) =>
    fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((some) => some.join(''));
  const item = fc
    .shuffledSubarray([
      ...['<g:id>a</g:id>', '<title>n</title>', '<g:title>m</g:title>', '<g:price>1 EUR</g:price>'],
      '<description>d</description><link>https://shop.example/</link>',
      '<g:image_link>https://img.example/</g:image_link><g:product_type>c</g:product_type>',
      '<g:shipping><g:country>DE</g:country><g:price>2 EUR</g:price></g:shipping>',
      ...['<!-- </item> -->', '<g:color><![CDATA[</item>]]></g:color>', '<d:size xmlns:d="u">s</d:size>'],
    ])
    .map((parts) => parts.join('\n'));
  const between = fc.constantFrom(
    ' ',
    '\n',
    'text',
    '<title>Shop > a</title>',
    '<!-- <item/> -->',
    '<item/>',
  );
  const rss = fc
    .array(
      fc.oneof(
        item.map((text) => `<item>${text}</item>`),
        between,
      ),
    )
    .map((parts) => `<?xml version="1.0"?><rss xmlns:g="u"><channel>${parts.join('')}</channel></rss>\n`);
  const atom = fc
    .array(
      fc.oneof(
        item.map((text) => `<entry>${text}</entry>`),
        between,
      ),
    )
    .map((parts) => `<feed xmlns="a" xmlns:g="u">${parts.join('')}</feed>`);

  it.each([
    ['of products', good, OURS],
    ['with wrong characters in it', edited(good), OURS],
    ['of parts in any order', jumbled(PARTS), OURS],
    ['that is RSS (decisions P36)', rss, RSS],
    ['that is RSS with wrong characters in it', edited(rss), RSS],
    ['of parts of RSS in any order', jumbled(RSS_PARTS), RSS],
    ['that is Atom', atom, ATOM],
  ])(
    '%s has the same products, or is refused alike, whether it is cut or parsed as a whole',
    async (_, bodies, written) => {
      await fc.assert(
        fc.asyncProperty(bodies, fc.integer({ min: 1, max: 50 }), async (text, chunk) => {
          expect(await inProducts(text, chunk, written)).toEqual(await inOnePiece(text, written));
        }),
        { numRuns: 500 },
      );
    },
  );
});

describe('texts that JSON escapes', () => {
  const whole = [
    '<g:id>a</g:id><title>n</title><g:price>1 EUR</g:price><link>https://shop.example/</link>',
    '<g:image_link>https://img.example/</g:image_link><g:product_type>c</g:product_type>',
  ].join('');
  const own = `<name>n</name><description>d</description><price>1</price><productUrl>https://shop.example/</productUrl>
    <productImage>https://img.example/</productImage><categories><category name="c"/></categories>`;

  it.each([
    ['a text', '<description>a\n<b/>c</description>'],
    ['a text after an element', '<description>a<b>x</b>\nc</description>'],
    ['white space between elements in a text', '<description>a<b/>\t<b/>c</description>'],
    ['a section', '<description><![CDATA[a\nc]]></description>'],
    ['a reference', '<description>a&quot;c</description>'],
    ['a quotation mark', '<description>a"c</description>'],
  ])('are escaped in %s of an item of RSS (decisions P36)', async (_, description) => {
    await sameOnceCut(`<rss xmlns:g="u"><channel><item>${description}${whole}</item></channel></rss>`, RSS);
  });

  it.each([
    ['a text', '<brand>a\tc</brand>'],
    ['white space', '<brand>\n</brand>'],
    ['a custom field', '<fields><field name="f">\na</field></fields>'],
    ['a section', '<brand><![CDATA[a\nc]]></brand>'],
    ['a reference', '<brand>a&quot;c</brand>'],
    ['an attribute', "<fields><field name='\"'>a</field></fields>"],
  ])('are escaped in %s of a product (Document 1, XML body shape)', async (_, parts) => {
    await sameOnceCut(`<products><product sourceProductId="a">${own}${parts}</product></products>`, OURS);
  });

  it('are escaped wherever they are', async () => {
    const usual = fc.constantFrom('a', ' ', '\n', '\t', '&amp;', '<b/>', '<b>x</b>', '<b>\n</b>');
    const others = fc.constantFrom(
      '"',
      "'",
      '\\',
      'ü',
      '&quot;',
      "<b c='\"'/>",
      '<![CDATA[\n]]>',
      '<!-- " -->',
    );
    const text = fc
      .array(fc.oneof({ weight: 20, arbitrary: usual }, { weight: 1, arbitrary: others }), { maxLength: 6 })
      .map((some) => some.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        const texts = `<description>d${one}</description><g:color>${other}</g:color>`;
        await sameOnceCut(`<rss xmlns:g="u"><channel><item>${texts}${whole}</item></channel></rss>`, RSS);
        const fields = `<fields><field name="f">${one.replaceAll('<b', '<!-- b --><b')}</field></fields>`;
        const ofOurs = `<products><product sourceProductId="a">${own}${fields}</product></products>`;
        expect(await inProducts(ofOurs, 1_000)).toEqual(await inOnePiece(ofOurs));
      }),
    );
  });

  async function sameOnceCut(text: string, written: WrittenElements): Promise<void> {
    const cut = await inProducts(text, 1_000, written);
    expect(cut).toEqual(await inOnePiece(text, written));
    const { spooled } = cut as { readonly spooled: readonly string[] };
    expect(spooled).toEqual([expect.stringMatching(/^1 \{/)]);
    for (const one of spooled) expect(JSON.parse(one.slice(2))).toBeDefined();
  }
});

test('prefixes of the root are declared for all products, even when the first one is too large', async () => {
  const large = `<product sourceProductId="large"><name>${'n'.repeat(1_100_000)}</name></product>`;
  const small = '<product sourceProductId="small"><x:name>n</x:name></product>';
  const outcome = await inProducts(`<products xmlns:x="u">${large}${small}</products>`, 65_536);

  // Each is refused by itself, and the body is read to its end.
  const { faults } = outcome as { readonly faults: readonly { readonly sourceProductId: string }[] };
  expect(new Set(faults.map(({ sourceProductId }) => sourceProductId))).toEqual(new Set(['large', 'small']));
});
