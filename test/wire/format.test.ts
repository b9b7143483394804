import { chooseFormat, type Format } from '../../src/wire/format';
import { httpFaults } from '../../src/wire/http-faults';

/** The rules of a service in which `Accept` chooses between JSON and XML, such as claims. */
const chosen = (accept: string | undefined, extension?: Format, contentType?: string) =>
  chooseFormat({
    ...{ accept, extension, contentType, notFound: httpFaults.notFound },
    offered: ['json', 'xml'],
    byAccept: ['json', 'xml'],
  });

describe('format by Accept (decisions A1)', () => {
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
