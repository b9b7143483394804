import { type Case } from './refused-subscriptions';
import { GET_RECEIVER, withReceiver } from './subscription-network';

const url = (receiverUrl: string) => withReceiver({ receiverUrl }, GET_RECEIVER);

export const REFUSED_URLS: readonly Case[] = [
  ...[
    'shop.example/a',
    '//shop.example/a',
    '/a',
    'https:/a',
    'https://',
    'https:///a',
    'https://shop.example/a b',
    'https://shop.example\\@evil.example/',
    'https://shop.example/\n',
    'https://shop.example/${',
    'https://shop.example/${}',
    'https://shop.example/${order Number}',
    'https://shop.example/${orderNumber',
    '${orderNumber}',
    '${epi}://shop.example/',
    'http${epi}://shop.example/',
    'https://${epi}/',
    'https://${epi}.shop.example/',
    'https://shop.example${epi}/',
    'https://shop.example:${siteId}/',
    'https://shop.example:8443${siteId}/',
    'https://${epi}@shop.example/',
    'https://user@shop.example/',
    'https://user:password@shop.example/',
    'https://shop.example:x/',
    'https://shop.example:99999/',
    'https://[::1/',
    'https://sh op.example/',
    ...[22, 25, 81, 444, 1023, 3306, 5432, 6379, 9200, 2525, 27017].map(
      (port) => `http://shop.example:${port}/`,
    ),
  ].map((one): Case => [
    `the URL ${JSON.stringify(one)} (Document 2, Subscription errors: CON_270; decisions N9, N10)`,
    url(one),
    '400 CON_270',
    /^receivers\[0\]\.receiverUrl: .*; expected /s,
  ]),
  [
    'a URL that is longer than 8 KiB as it is sent, whatever the values are (Document 2, Subscription errors: CON_270; decisions N10)',
    url(`https://shop.example/?a=${'一'.repeat(1500)}${'${epi}'.repeat(80)}`),
    '400 CON_270',
    /^receivers\[0\]\.receiverUrl: it has 13524 bytes as it is sent, without values; expected at most 8192, got '/,
  ],
  [
    'placeholders in the URL of a POST (Document 2, Subscription errors: CON_270)',
    withReceiver({ receiverUrl: 'https://shop.example/${orderNumber}' }),
    '400 CON_270',
    /expected no placeholders where httpMethod is POST: use receiverBody/,
  ],
  ...['ftp://shop.example/${epi}', 'mailto:a@shop.example', 'ws://shop.example/', 'file:///etc/passwd'].map(
    (one): Case => [
      `the URL ${one} (Document 2, Subscription errors: CON_280)`,
      url(one),
      '400 CON_280',
      /^receivers\[0\]\.receiverUrl: its protocol is \w+; expected http or https, got '/,
    ],
  ),
];

export const REFUSED_BODIES: readonly Case[] = [
  ...[
    ['{"a": "${orderNumber"}', 'JSON'],
    ['{"a": ${}}', 'JSON'],
    ['{"a": ${orderNumber}', 'JSON'],
    ['{"a": -${orderValue}}', 'JSON'],
    ['{"a": ${orderValue}${orderValue}}', 'JSON'],
    ['{${orderNumber}: 1}', 'JSON'],
    ['{"a": "\\${orderNumber}"}', 'JSON'],
    ['{"a": "\\u00${orderNumber}"}', 'JSON'],
    ["{'a': 1}", 'JSON'],
    ['order ${orderNumber}', 'JSON'],
    ['<a>${orderNumber}</b>', 'XML'],
    ['<${orderNumber}/>', 'XML'],
    ['<a ${orderNumber}="x"/>', 'XML'],
    ['<a b=${orderNumber}/>', 'XML'],
    ['<a>&${orderNumber};</a>', 'XML'],
    ['<a><!-- ${orderNumber} --></a>', 'XML'],
    ['<a>]]${orderNumber}></a>', 'XML'],
    ['<!DOCTYPE a><a/>', 'XML'],
    ['${orderNumber}', 'XML'],
    ['order ${', 'custom'],
  ].map(([text = '', format]): Case => [
    `the body ${text} as ${format} (Document 2, Subscription errors: CON_290; decisions N10)`,
    withReceiver({ receiverBody: text, receiverFormat: format }),
    '400 CON_290',
    /^receivers\[0\]\.receiverBody: /,
  ]),
  ...[
    [
      '<?xml version="1.0" encoding="ISO-8859-1"?><a>${epi}</a>',
      'encoding ISO-8859-1; expected UTF-8, or none',
    ],
    ["<?xml version='1.0' encoding = 'UTF-16'?><a/>", 'encoding UTF-16; expected UTF-8, or none'],
    [
      '<?xml version="1.0"\n encoding="nonsense" standalone="yes"?><a/>',
      'encoding nonsense; expected UTF-8, or none',
    ],
    ['\ufeff<?xml version="1.0" encoding="utf8"?><a/>', 'encoding utf8; expected UTF-8, or none'],
    ['<?xml version="1.1"?><a>${epi}</a>', 'version 1.1; expected 1.0'],
    ['<?xml version="1.1" encoding="UTF-8"?><a/>', 'version 1.1; expected 1.0'],
  ].map(([text = '', reason = '']): Case => [
    `the body ${text} as XML, which is sent in UTF-8 (Document 2, Subscription errors: CON_290; decisions N10)`,
    withReceiver({ receiverBody: text, receiverFormat: 'XML' }),
    '400 CON_290',
    new RegExp(`^receivers\\[0\\]\\.receiverBody: .*its XML declaration has ${reason}`),
  ]),
  [
    'a body in JSON with a byte order mark (Document 2, Subscription errors: CON_290; decisions N10)',
    withReceiver({ receiverBody: '\ufeff{"a": ${orderValue}}', receiverFormat: 'JSON' }),
    '400 CON_290',
    /^receivers\[0\]\.receiverBody: .*it begins with a byte order mark, U\+FEFF; expected none/,
  ],
];
