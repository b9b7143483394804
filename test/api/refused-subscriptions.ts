import { GET_RECEIVER, POST_RECEIVER, subscription, withReceiver } from './subscription-network';
import { type ConversionClient } from './transaction-network';

/** What is posted, as whom, and what the refusal says: its status and codes, and its message. */
export type Case = readonly [
  why: string,
  posted: unknown,
  codes: string,
  message: RegExp | string,
  as?: ConversionClient,
];

const filtered = (filter: object) => subscription({ filter: { messageTypeIds: [4], ...filter } });
const custom = (changes: object) =>
  subscription({
    customAttribute: {
      tdAttributes: ['siteId'],
      userAttribute: 'mine',
      rules: [{ inputs: ['1101'], output: 'x' }],
      ...changes,
    },
  });

/** Of the filter: what the caller may not be told of. */
export const REFUSED_FILTERS: readonly Case[] = [
  [
    'a program that does not exist (Document 2, Subscription errors: CON_220)',
    filtered({ programIds: [101, 999] }),
    '404 CON_220',
    'filter.programIds has 999: expected existing, active programs',
  ],
  [
    'programs that are paused or closed (Document 2, Subscription errors: CON_220)',
    filtered({ programIds: [103, 104] }),
    '404 CON_220 CON_220',
    /has 103: .*has 104: /,
  ],
  [
    'a program of another advertiser (Document 2, Subscription errors: CON_230)',
    filtered({ programIds: [201] }),
    '403 CON_230',
    'filter.programIds has 201: expected programs of yours',
  ],
  [
    'a program that no site is connected to (Document 2, Subscription errors: CON_230)',
    filtered({ programIds: [101, 201] }),
    '403 CON_230',
    'filter.programIds has 201: expected programs that a site of yours is connected to',
    'deals',
  ],
  [
    'a program that another site is connected to (decisions N11)',
    filtered({ programIds: [101, 102] }),
    '403 CON_230',
    'filter.programIds has 102: expected programs that site 1101 is connected to',
    'preisblick',
  ],
  [
    'an event of another advertiser, and an unknown one (Document 2, Subscription errors: CON_240)',
    filtered({ eventIds: [301, 401, 7] }),
    '403 CON_240 CON_240',
    /filter\.eventIds has 401: expected events of programs of yours; filter\.eventIds has 7: /,
  ],
  [
    'an event of a program that no site is connected to (Document 2, Subscription errors: CON_240)',
    filtered({ eventIds: [401] }),
    '403 CON_240',
    /expected events of programs that a site of yours is connected to/,
    'deals',
  ],
  [
    'a site of another publisher (Document 2, Subscription errors: CON_430)',
    filtered({ siteIds: [1101, 1201] }),
    '400 CON_430',
    'filter.siteIds has 1101: expected sites of yours: 1201, 1202, 1203',
    'deals',
  ],
  [
    'a site that the token is not for (Document 2, Subscription errors: CON_430; decisions N11)',
    filtered({ siteIds: [1102] }),
    '400 CON_430',
    'filter.siteIds has 1102: expected sites of yours: 1101',
    'preisblick',
  ],
  [
    'a site that is not connected to the advertiser (Document 2, Subscription errors: CON_430)',
    filtered({ siteIds: [1101, 1202] }),
    '400 CON_430',
    'filter.siteIds has 1202: expected sites that are connected to a program of yours',
    'casa',
  ],
  [
    'message type 9 for an advertiser (Document 2, Subscription errors: CON_420)',
    filtered({ messageTypeIds: [4, 9] }),
    '400 CON_420',
    /filter\.messageTypeIds has 9: expected/,
  ],
];

export const REFUSED_FIELDS: readonly Case[] = [
  ...[undefined, null, []].map((receivers): Case => [
    `receivers that are ${JSON.stringify(receivers)} (Document 2, Subscription errors: CON_250)`,
    subscription({ receivers }),
    '400 CON_250',
    'receivers must be set: at least one receiver',
  ]),
  [
    'a receiver without a method (Document 2, Subscription errors: CON_260)',
    subscription({ receivers: [GET_RECEIVER, { ...GET_RECEIVER, httpMethod: undefined }] }),
    '400 CON_260',
    'receivers[1].httpMethod must be set',
  ],
  [
    'no format of a POST (Document 2, Subscription errors: CON_320)',
    withReceiver({ receiverFormat: undefined }),
    '400 CON_320',
    'receivers[0].receiverFormat must be set where httpMethod is POST',
  ],
  [
    'a body of a GET (Document 2, Subscription errors: CON_370)',
    withReceiver({ receiverBody: '{}' }, GET_RECEIVER),
    '400 CON_370',
    "receivers[0].receiverBody: expected none where httpMethod is GET, got '{}'",
  ],
  [
    'a format of a GET (Document 2, Subscription errors: CON_380)',
    withReceiver({ receiverFormat: 'XML' }, GET_RECEIVER),
    '400 CON_380',
    "receivers[0].receiverFormat: expected none where httpMethod is GET, got 'XML'",
  ],
  [
    'another format (Document 2, Subscription errors: CON_390)',
    withReceiver({ receiverFormat: 'YAML' }),
    '400 CON_390',
    "receivers[0].receiverFormat: expected one of JSON, XML, custom, got 'YAML'",
  ],
  [
    'a placeholder that is no attribute (Document 2, Subscription errors: CON_440)',
    withReceiver({ receiverUrl: 'https://shop.example/${stateName}?o=${orderNumber}' }, GET_RECEIVER),
    '400 CON_440',
    /receivers\[0\]\.receiverUrl: expected placeholders among adId, .* visitorId, got '\$\{stateName\}'/,
  ],
  [
    'placeholders of a body that are no attributes (Document 2, Subscription errors: CON_440)',
    withReceiver({ receiverBody: '{"a": "${changed}", "b": "${mine}${mine}"}' }),
    '400 CON_440 CON_440',
    /got '\$\{changed\}'.*receiverBody.*got '\$\{mine\}'/,
  ],
  [
    'attribute names that there are not in a custom attribute (Document 2, Subscription errors: CON_440; decisions N13)',
    custom({ tdAttributes: ['site'] }),
    '400 CON_440',
    /^customAttribute\.tdAttributes: expected names among adId.*, got 'site'$/,
  ],
  ...['siteId', 'my site', 'größe'].map((userAttribute): Case => [
    `the name ${userAttribute} of a custom attribute (Document 2, Subscription errors: CON_440; decisions N13)`,
    custom({ userAttribute }),
    '400 CON_440',
    /^customAttribute\.userAttribute: expected a name of letters, digits and _ that no attribute has, got/,
  ]),
  ...['XXY', 'euro', 5].map((to): Case => [
    `the currency ${to} (Document 2, Subscription errors: CON_400)`,
    subscription({ currencyConversion: { to } }),
    '400 CON_400',
    `currencyConversion.to: expected an ISO 4217 code such as EUR, got '${to}'`,
  ]),
  ...[undefined, null, {}, { messageTypeIds: [] }, { messageTypeIds: null, siteIds: [] }].map(
    (filter): Case => [
      `the filter ${JSON.stringify(filter)} (Document 2, Subscription errors: CON_410)`,
      subscription({ filter }),
      '400 CON_410',
      'filter.messageTypeIds must be set: at least one id',
    ],
  ),
  [
    'the filter of another service (Document 2, Subscription errors: CON_410)',
    subscription({ filter: { changeTypeIds: [1] } }),
    '400 CON_410',
    'filter.messageTypeIds must be set: at least one id; found changeTypeIds, which is not known',
  ],
];

/** Of any field, and of limits (decisions N10, N13, N15). */
export const REFUSED_CONTENT: readonly Case[] = (
  [
    ['subscriptionName', { subscriptionName: 'x'.repeat(256) }, /at most 255 characters/],
    ['subscriptionName', { subscriptionName: 5 }, /expected a string/],
    ['filter', { filter: [] }, /expected an object/],
    [
      'filter.programIds',
      { filter: { messageTypeIds: [4], programIds: ['x'] } },
      /a list of at most 1000 integers/,
    ],
    [
      'filter.siteIds',
      { filter: { messageTypeIds: [4], siteIds: Array(1001).fill(1101) } },
      /a list of at most 1000 integers/,
    ],
    ['filter.eventTypeIds', { filter: { messageTypeIds: [4], eventTypeIds: [6] } }, /5 Post-click sale/],
    ['filter.messageTypeIds', { filter: { messageTypeIds: [10] } }, /1 Tracked, .* 9 Paid/],
    ['receivers', { receivers: {} }, /a list of at most 10 receivers/],
    ['receivers', { receivers: Array(11).fill(GET_RECEIVER) }, /a list of at most 10 receivers/],
    ['receivers[0].httpMethod', { receivers: [{ ...GET_RECEIVER, httpMethod: 'PUT' }] }, /GET, POST.*PUT/],
    ['receivers[0].receiverUrl', { receivers: [{ httpMethod: 'GET' }] }, /must be set/],
    [
      'receivers[0].receiverUrl',
      { receivers: [{ ...GET_RECEIVER, receiverUrl: `https://a.example/${'x'.repeat(2031)}` }] },
      /at most 2048 characters/,
    ],
    [
      'receivers[0].receiverBody',
      { receivers: [{ ...POST_RECEIVER, receiverBody: undefined }] },
      /must be set where httpMethod is POST/,
    ],
    [
      'receivers[0].receiverBody',
      { receivers: [{ ...POST_RECEIVER, receiverBody: `"${'ü'.repeat(32 * 1024)}"` }] },
      /has 65538 bytes: expected at most 65536/,
    ],
    ['receivers[0].disabled', { receivers: [{ ...GET_RECEIVER, disabled: 'no' }] }, /true or false/],
    ['currencyConversion', { currencyConversion: 'EUR' }, /an object/],
    ['currencyConversion.to', { currencyConversion: { to: '' } }, /must be set/],
    ['customAttribute.tdAttributes', custom({ tdAttributes: [] }), /must be set: at least one attribute/],
    [
      'customAttribute.tdAttributes',
      custom({ tdAttributes: Array(11).fill('epi') }),
      /a list of at most 10 attributes/,
    ],
    ['customAttribute.userAttribute', custom({ userAttribute: '' }), /must be set/],
    ['customAttribute.userAttribute', custom({ userAttribute: 'x'.repeat(101) }), /at most 100 characters/],
    ['customAttribute.rules', custom({ rules: [] }), /must be set: at least one rule/],
    [
      'customAttribute.rules',
      custom({ rules: Array(1001).fill({ inputs: ['x'], output: 'y' }) }),
      /a list of at most 1000 rules/,
    ],
    [
      'customAttribute.rules[0].inputs',
      custom({ rules: [{ inputs: ['x', 'y'], output: 'z' }] }),
      /1 inputs, one of each of tdAttributes/,
    ],
    ['disabled', { disabled: 1 }, /true or false/],
    ['strictOrder', { strictOrder: [] }, /true or false/],
  ] as const
).map(([field, changes, message]) => [
  `${field} with ${JSON.stringify(changes).slice(0, 60)} (Document 2, Subscription errors: CON_350; decisions N13, N15)`,
  subscription(changes),
  '400 CON_350',
  new RegExp(`${field.replace(/[[\].]/g, '\\$&')}.*${message.source}`, 's'),
]);
