import fc from 'fast-check';
import { isTemplate, namesIn, parseTemplate } from '../../../src/domain/subscriptions/template';
import { cases } from '../../support/size';

describe('templates (decisions N10)', () => {
  it('consist of texts and placeholders, with their offsets', () => {
    expect(parseTemplate('https://a.example/${orderNumber}?v=${orderValue}#')).toEqual([
      { is: 'text', at: 0, text: 'https://a.example/' },
      { is: 'placeholder', at: 18, name: 'orderNumber' },
      { is: 'text', at: 32, text: '?v=' },
      { is: 'placeholder', at: 35, name: 'orderValue' },
      { is: 'text', at: 48, text: '#' },
    ]);
    expect(parseTemplate('${a}${b}')).toEqual([
      { is: 'placeholder', at: 0, name: 'a' },
      { is: 'placeholder', at: 4, name: 'b' },
    ]);
    expect(parseTemplate('')).toEqual([]);
  });

  it('have single $, { and } as text', () => {
    for (const text of ['$', '$5', '{a}', '$ {a}', '}{'])
      expect(parseTemplate(text)).toEqual([{ is: 'text', at: 0, text }]);
    expect(parseTemplate('$${a}}')).toEqual([
      { is: 'text', at: 0, text: '$' },
      { is: 'placeholder', at: 1, name: 'a' },
      { is: 'text', at: 5, text: '}' },
    ]);
  });

  it.each(['${', '${}', '${a', '${a b}', '${a-b}', '${ a}', 'x${${a}}', '${größe}'])(
    'that have %s are refused, with the place',
    (text) => {
      const fault = parseTemplate(text);
      expect(fault).toEqual({
        is: 'fault',
        at: text.indexOf('${'),
        reason: expect.stringContaining(`"${text.slice(text.indexOf('${'))}" at character`),
      });
    },
  );

  it('are their parts in order, whatever they are', () => {
    const part = fc.oneof(
      fc.stringMatching(/^\w{1,5}$/).map((name) => `\${${name}}`),
      fc.string(),
      fc.constant('${'),
    );
    fc.assert(
      fc.property(
        fc.array(part).map((parts) => parts.join('')),
        (text) => {
          const parsed = parseTemplate(text);
          if (!isTemplate(parsed)) return expect(text.slice(parsed.at)).toMatch(/^\$\{(?!\w+\})/);
          const written = parsed.map((one) => (one.is === 'text' ? one.text : `\${${one.name}}`));
          expect(written.join('')).toBe(text);
          for (const { at, ...one } of parsed)
            expect(text.slice(at)).toMatch(one.is === 'text' ? /^[^]/ : /^\$\{\w+\}/);
          expect(namesIn(parsed).every((name) => text.includes(`\${${name}}`))).toBe(true);
        },
      ),
      { numRuns: cases(2000, 300) },
    );
  });
});
