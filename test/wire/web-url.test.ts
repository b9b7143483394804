import { isWebUrl } from '../../src/wire/url';

describe('an absolute http or https URL (Document 1, Conventions; decisions P2)', () => {
  it.each(['http://a.example', 'HTTPS://a.example:8080/p?q=(1)#f', 'https://ä.example/ü', 'http://[::1]/'])(
    '%s is one',
    (url) => expect(isWebUrl(url)).toBe(true),
  );

  it.each([
    'ftp://a.example',
    '//a.example',
    'http://',
    'http://a b/',
    'http://a.example/a b',
    'http://a:b/',
  ])('%s is none', (url) => expect(isWebUrl(url)).toBe(false));
});
