import { chooseFormat, type Format } from '../../src/wire/api/format';
import { httpFaults } from '../../src/wire/api/errors';

const inService =
  (followsAccept: boolean) => (accept: string | undefined, extension?: Format, contentType?: string) =>
    chooseFormat({
      ...{ accept, extension, contentType, followsAccept, notFound: httpFaults.notFound },
      offered: ['json', 'xml'],
    });

/** On current paths of claims, and everywhere else. */
const [chosen, elsewhere] = [inService(true), inService(false)];

describe('format by Accept where a document fixes JSON (decisions A1)', () => {
  it.each([
    ['application/xml', 'xml'],
    ['text/xml', 'xml'],
    ['application/json;q=0, */*', 'xml'],
    ['application/json;q=0, application/xml;q=0.1', 'xml'],
    ['application/xml, application/json;q=0.1', 'json'],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', 'json'],
    ['application/xml;q=0, */*', 'json'],
    ['*/*', 'json'],
    ['', 'json'],
    [undefined, 'json'],
  ])('%s: %s', (accept, format) => {
    expect(elsewhere(accept)).toBe(format);
    expect(elsewhere(accept, 'json')).toBe('json');
    expect(elsewhere(accept, 'xml')).toBe('xml');
  });

  it.each([
    ['application/json', 'json'],
    ['application/json, */*;q=0.1', 'xml'],
    ['application/xml', 'xml'],
    [undefined, 'xml'],
  ])('%s of a post in XML: %s, which is the default there', (accept, format) => {
    expect(elsewhere(accept, undefined, 'application/xml; charset=utf-8')).toBe(format);
  });

  it.each(['image/png', 'text/csv', 'application/json;q=0'])('%s: 406', (accept) => {
    expect(() => elsewhere(accept)).toThrow(expect.objectContaining({ code: '406', status: 406 }) as Error);
  });
});

describe('format by Accept on current paths of claims (Document 3, Conventions; decisions A1)', () => {
  it.each([
    ['application/xml; charset=utf-8', 'xml'],
    ['application/json; charset=utf-8', 'json'],
    ['application/json;q=0.4, application/xml;q=0.5', 'xml'],
    ['application/xml, application/json', 'xml'],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', 'xml'],
    ['application/xml;q=0, */*', 'json'],
    ['application/json;q=0, */*', 'xml'],
    ['application/json;q=0, application/*', 'xml'],
    ['*/*, application/xml;q=0.1', 'json'],
    ['*/*, application/xml', 'xml'],
    ['*/*;q=0.1, application/json;q=0', 'xml'],
    ['application/*;q=0.2, application/json;q=0.1', 'xml'],
    ['APPLICATION/XML', 'xml'],
    ['*/*', 'json'],
    ['application/*', 'json'],
    ['', 'json'],
    [undefined, 'json'],
  ])('%s: %s', (accept, format) => {
    expect(chosen(accept)).toBe(format);
  });

  it('is over-ruled by the extension, and over-rules the type of the body', () => {
    expect(chosen('application/xml', 'json')).toBe('json');
    expect(chosen('image/png', 'xml')).toBe('xml');
    expect(chosen('application/json', undefined, 'application/xml; charset=utf-8')).toBe('json');
    expect(chosen('*/*', undefined, 'application/xml; charset=utf-8')).toBe('xml');
  });

  it.each(['image/png', 'text/csv', 'application/xml;q=0', 'text/*;q=0, image/*'])(
    '%s admits nothing that there is: 406',
    (accept) => {
      expect(() => chosen(accept)).toThrow(expect.objectContaining({ code: '406', status: 406 }) as Error);
    },
  );

  it('has no path with an extension that is not offered: 404', () => {
    expect(() => chosen(undefined, 'csv')).toThrow(expect.objectContaining({ code: '404' }) as Error);
  });
});
