import fc from 'fast-check';
import { Builder } from 'xml2js';
import {
  isList,
  withoutForbidden,
  type XmlContent,
  type XmlElement,
  xmlPieces,
} from '../../src/wire/xml/write';
import { jsonPieces, writeJson } from '../../src/wire/json/write';
import { anyCharacters } from '../support/any-characters';

const whole = (pieces: Iterable<string>) => [...pieces].join('');

describe('a document in pieces', () => {
  it('is the text of JSON.stringify', () => {
    const object = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())));
    fc.assert(
      fc.property(object, fc.boolean(), (value, pretty) => {
        expect(whole(jsonPieces(value, { pretty }))).toBe(writeJson(value, { pretty }));
      }),
      { numRuns: 500 },
    );
  });

  it("is the text of xml2js's builder", () => {
    fc.assert(
      fc.property(documents, fc.boolean(), (document, pretty) => {
        expect(whole(xmlPieces(document, { pretty }))).toBe(built(document, pretty));
      }),
      { numRuns: 1000 },
    );
  });

  it('has a piece for each item of its list', () => {
    const items = ['first', 'second', 'third'];
    const json = [...jsonPieces({ header: { total: 3 }, items })];
    const xml = [...xmlPieces({ result: { header: { total: 3 }, items: { item: items } } })];
    for (const pieces of [json, xml])
      expect(items.map((item) => pieces.filter((piece) => piece.includes(item)).length)).toEqual([1, 1, 1]);
  });
});

function built(document: XmlElement, pretty: boolean): string {
  const renderOpts = pretty ? { pretty, indent: '  ', newline: '\n' } : { pretty };
  const builder = new Builder({ xmldec: { version: '1.0', encoding: 'UTF-8' }, renderOpts });
  return builder.buildObject(writable(document));
}

/** The builder would write absent children as empty elements and stop at forbidden characters. */
function writable(content: XmlContent): object | string {
  if (typeof content !== 'object') return withoutForbidden(String(content));
  const children = Object.entries(content).flatMap(([name, child]) =>
    child === undefined ? [] : [[name, isList(child) ? child.map(writable) : writable(child)] as const],
  );
  return Object.fromEntries(children);
}

const names = fc.constantFrom('a', 'b', 'ns2:c', 'd-e', 'é');
const values = fc.oneof(
  anyCharacters(),
  fc.string({ unit: fc.constantFrom('&', '<', '>', '"', "'", '\t', '\n', '\r', ' ', '\0', '\ud800', 'x') }),
  fc.integer(),
  fc.boolean(),
);

/** Elements with attributes, text, children, some of them absent. */
const { element } = fc.letrec<{ element: XmlElement; content: XmlElement | string | number | boolean }>(
  (tie) => ({
    content: fc.oneof({ depthSize: 'small' }, values, tie('element')),
    element: fc
      .tuple(
        fc.option(fc.dictionary(names, fc.option(values, { nil: undefined })), { nil: undefined }),
        fc.oneof(
          values.map((text) => ({ _: text })),
          fc.dictionary(fc.oneof(names, fc.constant('_')), values, { maxKeys: 3 }),
          fc.dictionary(
            names,
            fc.option(fc.oneof(tie('content'), fc.array(tie('content'), { maxLength: 3 })), {
              nil: undefined,
            }),
            { maxKeys: 4 },
          ),
        ),
      )
      .map(([attributes, inside]) => ({
        ...(attributes === undefined ? {} : { $: attributes }),
        ...inside,
      })),
  }),
);
const documents = fc.tuple(names, element).map(([name, root]): XmlElement => ({ [name]: root }));
