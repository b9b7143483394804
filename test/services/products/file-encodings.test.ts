import { HEADER, type Options, read, refusal, ROW } from './read-body';

describe('a file in another encoding (decisions P42)', () => {
  const declared = (encoding?: string) => ({ file: { encoding } });
  const NAME = 'Für 5 € – “Œuvre”';
  const text = `${HEADER}\n${ROW.replace('A lamp', NAME)}`;
  const xml = (declaration: string, name = NAME) =>
    `<?xml version="1.0" ${declaration}?>\n<products><product sourceProductId="p1"><name>Lamp</name><description>${name}</description>` +
    '<price>12.50</price><productUrl>https://shop.example/1</productUrl><productImage>https://img.example/1.png</productImage>' +
    '<category name="Lamps"/></product></products>';
  const CP1252: Readonly<Record<string, number>> = { '€': 0x80, '–': 0x96, '“': 0x93, '”': 0x94, Œ: 0x8c };
  const windows = (of: string) => Buffer.from(Array.from(of, (one) => CP1252[one] ?? one.charCodeAt(0)));
  const utf16 = (of: string) => Buffer.from(of, 'utf16le');
  const swapped = (of: string) => Buffer.from(utf16(of)).swap16();
  const CASES: readonly (readonly [string, Buffer, Options])[] = [
    ['rows that are declared to be windows-1252', windows(text), declared('windows-1252')],
    ['rows of any format', windows(text), { ...declared('windows-1252'), format: 'any' }],
    ['rows in UTF-16 with a byte order mark', utf16(`\ufeff${text}`), declared()],
    ['rows in big-endian UTF-16', swapped(`\ufeff${text}`), { ...declared(), format: 'any' }],
    ['rows in UTF-16 that is declared', utf16(text), declared('utf-16le')],
    [
      'rows whose byte order mark knows better',
      Buffer.from(`\ufeff${text}`),
      { ...declared('windows-1252'), size: 1 },
    ],
    ['XML that declares it', windows(xml('encoding="Windows-1252"')), { ...declared(), format: 'xml' }],
    [
      'XML that declares Latin-1',
      windows(xml("encoding='ISO-8859-1'")),
      { ...declared(), format: 'any', size: 1 },
    ],
    ['XML with a declared charset', windows(xml('')), { format: 'xml', ...declared('windows-1252') }],
    ['XML in UTF-16', utf16(`\ufeff${xml('encoding="UTF-16"')}`), { ...declared(), format: 'xml' }],
    [
      'XML in UTF-16 without a mark',
      swapped(xml('encoding="UTF-16"')),
      { ...declared(), format: 'any', size: 3 },
    ],
  ];
  it.each(CASES)('is read: %s', async (_, bytes, options) => {
    const { products, faults } = await read(bytes, options);
    expect(faults).toEqual([]);
    expect(products).toMatchObject([{ sourceProductId: 'p1', description: NAME }]);
  });

  it('of eight bits has its own characters', async () => {
    const bytes = Buffer.from(text.replace(NAME, 'A\xa4\xa6'), 'latin1');
    const { products } = await read(bytes, declared('iso-8859-15'));
    expect(products).toMatchObject([{ description: 'A€Š' }]);
  });

  it('is recognised by what it is in UTF-8, and its faults name line and column', async () => {
    const { products, faults } = await read(utf16(`\ufeff${text}\n${ROW.replace('12.50', 'é')}`), declared());
    expect(products).toHaveLength(1);
    expect(faults).toEqual([expect.stringMatching(/^PF_280 p1 line 3: column price: .* got 'é'$/)]);
  });

  it('is not what a posted body may be (Document 1, Conventions 8)', async () => {
    for (const [bytes, format] of [
      [utf16(`\ufeff${text}`), 'csv'],
      [windows(xml('encoding="Windows-1252"')), 'xml'],
      [utf16(`\ufeff${xml('encoding="UTF-16"')}`), 'xml'],
    ] as const)
      expect(await refusal(bytes, { format })).toMatch(/^PF_210 /);
  });

  it.each<readonly [string, Buffer, Options, string]>([
    ['is not what it says', Buffer.from([0xd8, 0, 0xd8, 0]), declared('utf-16be'), 'it is not utf-16be'],
    [
      'contradicts its declaration',
      Buffer.from(xml('encoding="ISO-8859-1"')),
      { format: 'xml', ...declared('utf-8') },
      'the XML declaration has the encoding ISO-8859-1: expected UTF-8',
    ],
    [
      'declares what nobody knows',
      Buffer.from(xml('encoding="EBCDIC"')),
      { ...declared(), format: 'xml' },
      'the XML declaration has the encoding EBCDIC',
    ],
  ])('is refused if it %s', async (_, bytes, options, message) => {
    const found = await refusal(bytes, options);
    expect(found).toMatch(/^PF_210 /);
    expect(found).toContain(message);
  });
});
