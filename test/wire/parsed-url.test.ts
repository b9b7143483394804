import { isWebUrl } from '../../src/wire/url';
import { compiledUrl, sentUrl } from '../../src/domain/subscriptions/template';
import { urlFault } from '../../src/services/subscriptions/receiver-check';

/** Calls after which V8 has optimised a function. */
const MANY = 30_000;

const textOf = (text: string) => [{ is: 'text', at: 0, text }] as const;

test.each<[string, (url: string) => boolean]>([
  ['products and vouchers', isWebUrl],
  ['messages', (url) => sentUrl(url)?.hostname === 'xn--4ca.example'],
  ['receivers that are posted', (url) => urlFault(textOf(url), () => undefined) === undefined],
  ['receivers that are notified', (url) => compiledUrl(textOf(url)).length === 1],
])(
  'URLs of %s may have a host with an umlaut, however many were read before (decisions P2, N10)',
  (_, isRead) => {
    let unread = 0;
    for (let count = 0; count < MANY; count += 1) {
      // Another port each time: none is cached.
      if (!isRead(`https://ä.example:${1024 + count}/`)) unread += 1;
    }
    expect(unread).toBe(0);
  },
);
