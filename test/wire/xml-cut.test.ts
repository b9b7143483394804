import * as fc from 'fast-check';
import { XmlCutter } from '../../src/wire/xml/cut';
import { readXml } from '../../src/wire/xml/read';

interface Cut {
  readonly elements: readonly string[];
  /** The frame, with `\u0000` where an element was. */
  readonly frame: string;
}

function cut(document: string, chunk: number, maxElement = 10_000): Cut {
  const elements: string[] = [];
  let frame = '';
  const cutter = new XmlCutter({
    maxElement,
    onElement: (bytes) => {
      elements.push(bytes.toString());
      frame += '\0';
    },
    onFrame: (bytes) => (frame += bytes.toString('latin1')),
  });
  const bytes = Buffer.from(document);
  for (let at = 0; at < bytes.length; at += chunk) cutter.write(Buffer.from(bytes.subarray(at, at + chunk)));
  cutter.end();
  return { elements, frame: Buffer.from(frame, 'latin1').toString() };
}

const COMMENT = fc.constantFrom(
  '<!-- <a> -->',
  '<!---->',
  '<!--> <p/> -->',
  `<!-- ' " - > -->`,
  '<!-- ]]> ?> -->',
);
const INSTRUCTION = fc.constantFrom('<?a?>', '<?a <p> ?>', '<?a >?>', '<?a "?>');
const CDATA = fc.constantFrom('<![CDATA[]]>', '<![CDATA[<p>]]>', '<![CDATA[]>]]]>', '<![CDATA[--> ?>]]>');
const TEXT = fc.constantFrom('', ' ', '\n', 'x > y', '"', "'", '--', ']]', '/', '\u00fc', '&amp;');
const NAME = fc.constantFrom('p', 'a', 'n:b', '\u00e9');
const ATTRIBUTES = fc.constantFrom(
  '',
  ' a="1"',
  " a='>'",
  ' a="/>"',
  ' a=\'"\' b="\'/"',
  ' a = "x"\n',
  ' a="-->"',
);

const { element } = fc.letrec<{ element: string; content: string }>((tie) => ({
  element: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(NAME, ATTRIBUTES).map(([name, attributes]) => `<${name}${attributes}/>`),
    fc
      .tuple(NAME, ATTRIBUTES, tie('content'))
      .map(([name, attributes, content]) => `<${name}${attributes}>${content}</${name} >`),
  ),
  content: fc
    .array(fc.oneof(tie('element'), TEXT, COMMENT, CDATA, INSTRUCTION), { maxLength: 4 })
    .map((parts) => parts.join('')),
}));
const between = fc
  .array(fc.oneof(COMMENT, INSTRUCTION, CDATA, TEXT), { maxLength: 3 })
  .map((parts) => parts.join(''));
const outside = fc.array(fc.oneof(COMMENT, INSTRUCTION), { maxLength: 2 }).map((parts) => parts.join('\n'));

describe('an XML document that comes in chunks', () => {
  it('is cut into the elements of its root and the frame around them, whatever stands in them', () => {
    const document = fc.record({
      before: outside,
      attributes: ATTRIBUTES,
      parts: fc.array(fc.tuple(between, element), { maxLength: 5 }),
      last: between,
      after: outside,
      chunk: fc.integer({ min: 1, max: 40 }),
    });
    fc.assert(
      fc.property(document, ({ before, attributes, parts, last, after, chunk }) => {
        const start = `${before}<root xmlns:n="u"${attributes}>`;
        const end = `${last}</root>${after}`;
        const whole = start + parts.flat().join('') + end;
        readWhole(whole);
        const found = cut(whole, chunk);
        expect(found.elements).toEqual(parts.map(([, element]) => element));
        expect(found.frame).toBe(start + parts.map(([gap]) => `${gap}\0`).join('') + end);
      }),
      { numRuns: 500 },
    );
  });

  it('is all there, in order, however wrong it is', () => {
    const wrong = fc.array(
      fc.constantFrom('<', '>', '/', '!', '-', '--', '[CDATA[', ']]', '?', '"', "'", 'a', ' '),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(wrong, fc.integer({ min: 1, max: 9 }), (parts, chunk) => {
        const document = parts.join('');
        const { elements, frame } = cut(document, chunk);
        expect(elements.reduce((text, element) => text.replace('\0', () => element), frame)).toBe(document);
        expect(cut(document, document.length || 1)).toEqual({ elements, frame });
      }),
      { numRuns: 1000 },
    );
  });

  it.each([1, 7, 1000])('keeps an element that is too large in its frame (chunks of %d)', (chunk) => {
    const large = `<p><a>${'x'.repeat(200)}</a></p>`;
    expect(cut(`<r><p/>${large}<p>1</p></r>`, chunk, 100)).toEqual({
      elements: ['<p/>', '<p>1</p>'],
      frame: `<r>\0${large}\0</r>`,
    });
  });

  it('is not cut after a DOCTYPE', () => {
    const document = '<!DOCTYPE r [<!ENTITY e "<p/>">]><r><p/></r>';
    expect(cut(document, 5)).toEqual({ elements: [], frame: document });
  });
});

/** The generated document is well-formed. */
function readWhole(document: string): void {
  const reader = readXml({ open: () => undefined, text: () => undefined, close: () => undefined });
  reader.write(Buffer.from(document));
  reader.end();
}
