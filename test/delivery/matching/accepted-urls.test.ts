import fc from 'fast-check';
import { rendererOf } from '../../../src/delivery/matching/messages-of';
import { isTemplate, parseTemplate } from '../../../src/domain/subscriptions/template';
import { urlFault } from '../../../src/services/subscriptions/receiver-check';
import { anyCharacters } from '../../support/any-characters';
import { cases } from '../../support/size';

/** URLs that are almost in order, with placeholders anywhere. */
const urls = fc
  .array(
    fc.oneof(
      {
        arbitrary: fc.constantFrom(
          '${epi}',
          '${epi}',
          'a',
          '/',
          '?',
          '#',
          '=',
          '&',
          '.',
          '..',
          '@',
          ':',
          '%2e',
        ),
        weight: 8,
      },
      {
        arbitrary: fc.constantFrom(':80', '//', '\\', '[', ']', ' ', '%', 'é', '${', '}', 'http:', '$'),
        weight: 2,
      },
    ),
    { maxLength: 12 },
  )
  .chain((rest) =>
    fc
      .constantFrom(
        'https://a.example',
        'https://a.example/',
        'http://a.example:8080',
        'HTTP://A.example',
        'https:/',
        '',
      )
      .map((begin) => begin + rest.join('')),
  );

test('a URL that is accepted goes to its host with whatever values and is shown as it is sent, or is a dead letter for a path of dots (decisions N10, N14)', () => {
  let accepted = 0;
  const isDots = expect.stringContaining('would change the path') as string;
  fc.assert(
    fc.property(
      urls,
      anyCharacters({ maxLength: 5 }),
      fc.constantFrom('', '.', '..', '%2e', '/..'),
      (url, text, more) => {
        const template = parseTemplate(url);
        if (!isTemplate(template) || urlFault(template, () => undefined) !== undefined) return;
        accepted += 1;
        const rendered = rendererOf({ httpMethod: 'GET', receiverUrl: url })({ epi: text + more });
        if ('unsendable' in rendered) {
          expect(rendered.unsendable).toEqual(isDots);
          return;
        }
        const [plain, sent] = [url.replaceAll('${epi}', 'x'), rendered.request.url].map(
          (one) => new URL(one),
        ) as [URL, URL];
        expect(sent.origin).toBe(plain.origin);
        expect(rendered.request.url).toBe(sent.origin + sent.pathname + sent.search);
        // Node.js 20 leaves some segments of dots as they are: `/.a/..`.
        fc.pre(!/\/\.{1,2}(\/|$)/.test(plain.pathname + sent.pathname));
        const segments = (one: URL) => one.pathname.split('/').length;
        expect(segments(sent)).toBe(segments(plain));
      },
    ),
    { numRuns: cases(20_000, 3000) },
  );
  expect(accepted).toBeGreaterThan(500);
});
