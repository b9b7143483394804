import { faultsBySchema } from '../support/xml-schemas';
import { claimOf, claimWorld, errorsIn, INQUIRY, type Listed, xmlOf } from './claim-network';
import { ALWAYS_LISTED, LISTED_CLAIM, POSTED_CLAIM, STATUS_FIELDS, STATUS_TABLE } from './claim-tables';
import { DAY, NOW } from './voucher-network';

const world = claimWorld();

const XML = { accept: 'application/xml; charset=utf-8' } as const;

/** Every field that may be posted. */
const full = (orderNumber: string) =>
  claimOf(orderNumber, {
    epi: 'spring & "sale"',
    epi2: 'two',
    trackingUrl: 'https://clk.example/click?p=101&a=1101',
    productName: 'Lamp <X>',
    proofOfClaims: 'https://proof.example/1.png?a=1&b=2',
    advertiserInformation: 'Ordered by phone,\nsee "mail"',
  });

/** What the list has of such a claim. */
const listedOf = (orderNumber: string) => ({
  timeStamp: '2026-03-01',
  statusId: 2,
  statusName: 'Awaiting approval',
  statusState: 'PENDING_ADVERTISER',
  statusChanged: '2026-03-01',
  publisherId: 11,
  affiliateSiteId: 1101,
  siteName: 'Site 1101',
  programId: 101,
  programName: 'Nordlicht DE',
  timeStampEvent: '2026-02-20',
  eventId: INQUIRY,
  orderNumber,
  orderValue: 100,
  epi: 'spring & "sale"',
  epi2: 'two',
  trackingUrl: 'https://clk.example/click?p=101&a=1101',
  productName: 'Lamp <X>',
  expectedCommission: '7.50',
  proofOfClaims: 'https://proof.example/1.png?a=1&b=2',
  advertiserInformation: 'Ordered by phone,\nsee "mail"',
  daysToAutoApprove: 30,
  versionNo: 0,
  eventName: 'Inquiry',
});

const byOrder = async (orderNumber: string): Promise<Listed | undefined> =>
  (await world.list('', 'nord')).find((claim) => claim.orderNumber === orderNumber);

const asTexts = (claim: Record<string, unknown>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(claim).map(([name, value]) => [name, String(value)]));

const csvOf = (...claims: readonly Readonly<Record<string, string>>[]): string => {
  const columns = [...POSTED_CLAIM.optional, ...POSTED_CLAIM.required];
  const cell = (value = '') => `"${value.replaceAll('"', '""')}"`;
  const rows = claims.map((claim) => columns.map((column) => cell(claim[column])).join(','));
  return [columns.join(','), ...rows, ''].join('\r\n');
};

describe('filing claims (Document 3, Claim posted by a publisher)', () => {
  it.each([
    ['JSON', () => world.file([full('JSON')])],
    ['XML', () => world.xml('/claims', xmlOf('claims', [full('XML')]), 'preisblick')],
    [
      'CSV',
      () => {
        const headers = { 'content-type': 'text/csv; charset=utf-8' };
        return world.send('POST', '/claims', 'preisblick', { headers, body: csvOf(asTexts(full('CSV'))) });
      },
    ],
  ] as const)(
    'in %s answers with HTTP 200 without a body, and lists every field (Document 3, Endpoints: Current paths; decisions C13)',
    async (format, post) => {
      const { statusCode, body, headers } = await post();
      expect([statusCode, body, headers['content-type'], headers['x-ignored-fields']]).toEqual([
        200,
        '',
        undefined,
        undefined,
      ]);
      expect(headers['x-log-position']).toMatch(/^\d+$/);
      const found = await byOrder(format);
      expect(found).toEqual({ claimId: expect.any(Number), ...listedOf(format) });
    },
  );

  it('takes several at once, with values as strings (decisions C2, C3)', async () => {
    expect(
      (await world.file([asTexts(claimOf('bulk 1')), claimOf('bulk 2', { programId: 201 })])).statusCode,
    ).toBe(200);
    expect(await byOrder('bulk 1')).toMatchObject({ orderValue: 100, expectedCommission: '7.50' });
    expect((await world.list('', 'casa')).map(({ orderNumber }) => orderNumber)).toEqual(['bulk 2']);
  });

  it('stores nothing if one claim is refused (decisions C3)', async () => {
    const answer = await world.file([claimOf('good'), claimOf('bad', { orderValue: -1 })]);
    expect([answer.statusCode, await byOrder('good')]).toEqual([400, undefined]);
  });

  it('names faults of keys beside faults of fields, in every claim (Document 3, Errors: UTS_397; decisions C3)', async () => {
    expect((await world.file([claimOf('beside')])).statusCode).toBe(200);
    const posted = [
      claimOf('beside', { orderValue: -1 }),
      claimOf('free of faults'),
      { ...claimOf('no key', { orderValue: -1 }), timeStampEvent: 'soon' },
      claimOf('beside'),
      claimOf('free of faults', { epi: 'x' }),
      5,
    ];
    for (const path of ['/claims', '/claims/check']) {
      const answer = await world.json(path, { claims: posted }, 'preisblick');
      expect([answer.statusCode, errorsIn(answer).map((error) => error.slice(0, 27))]).toEqual([
        400,
        [
          'UTS_430 claims[0].orderValu',
          'UTS_265 claims[2].timeStamp',
          'UTS_430 claims[2].orderValu',
          'UTS_211 claims[5]: expected',
          'UTS_397 claims[0]: there is',
          'UTS_397 claims[3]: there is',
          'UTS_397 claims[4]: timeStam',
        ],
      ]);
      expect(errorsIn(answer).at(-1)).toContain('are those of claims[1]');
    }
    expect(await byOrder('free of faults')).toBeUndefined();
  });

  it('names all claims whose keys are taken, by others or within the post (Document 3, Errors: UTS_397; decisions C3, C4)', async () => {
    expect((await world.file([claimOf('taken')])).statusCode).toBe(200);
    const again = claimOf('twice', { epi: 'other', orderValue: 5, expectedCommission: 1 });
    const others = [claimOf('twice', { timeStampEvent: '2026-02-19' }), claimOf('twice', { eventId: 999 })];
    const posted = [
      claimOf('twice'),
      claimOf('free'),
      again,
      ...others,
      claimOf('taken'),
      again,
      claimOf('taken'),
    ];
    const repeated =
      'timeStampEvent, programId, eventId and orderNumber are those of claims[0]: expected each combination once';
    const taken = `there is a claim with timeStampEvent 2026-02-20, programId 101, eventId ${INQUIRY} and orderNumber "taken": expected another combination`;
    for (const path of ['/claims', '/claims/check']) {
      const answer = await world.json(path, { claims: posted }, 'preisblick');
      expect([answer.statusCode, errorsIn(answer)]).toEqual([
        409,
        [
          `UTS_397 claims[2]: ${repeated}`,
          `UTS_397 claims[5]: ${taken}`,
          `UTS_397 claims[6]: ${repeated}`,
          `UTS_397 claims[7]: ${taken}`,
        ],
      ]);
    }
    expect([await byOrder('free'), await byOrder('twice')]).toEqual([undefined, undefined]);
  });

  it('names unknown fields, which it ignores (decisions A15)', async () => {
    const json = await world.file([claimOf('ignoring', { colour: 1, statusId: 3 })]);
    expect([json.statusCode, json.headers['x-ignored-fields']]).toEqual([200, 'colour, statusId']);
    const xml = xmlOf('claims', [claimOf('ignoring too', { colour: 1 })]);
    expect((await world.xml('/claims', xml, 'preisblick')).headers['x-ignored-fields']).toBe('colour');
    const refused = await world.file([{ colour: 1 }]);
    expect([refused.statusCode, refused.headers['x-ignored-fields']]).toEqual([400, 'colour']);
  });
});

describe('the list (Document 3, Claim as listed)', () => {
  it('has each field of the table, those that are always there and the others', async () => {
    const found = await world.list('', 'nord');
    const names = new Set(found.flatMap((claim) => Object.keys(claim)));
    for (const claim of found) expect(Object.keys(claim)).toEqual(expect.arrayContaining([...ALWAYS_LISTED]));
    const later = ['statusMessage', 'adjustedOrderValue', 'adjustedExpectedCommission'];
    expect(LISTED_CLAIM.filter((name) => !names.has(name))).toEqual(later);
    expect([...names].filter((name) => !LISTED_CLAIM.includes(name))).toEqual([]);
  });

  it('names what stands in the place of a key, such as the second status of `;statusId=2;3` (decisions A14)', async () => {
    const answer = await world.send('GET', '/claims;statusId=2;3', 'nord');
    expect([answer.statusCode, answer.headers['x-ignored-keys']]).toEqual([200, '3']);
  });

  it('is by claim id, descending (Document 3, Limits: Default sort)', async () => {
    const ids = (await world.list('', 'nord')).map(({ claimId }) => claimId);
    expect(ids.length).toBeGreaterThan(3);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    const explicit = await world.list(';sortBy=claimId;sortOrder=desc', 'nord');
    expect(explicit.map(({ claimId }) => claimId)).toEqual(ids);
  });

  it('is XML by Accept, with claims and claim elements, and valid (decisions C8)', async () => {
    const answer = await world.send('GET', '/claims', 'nord', { headers: XML });
    expect(answer.headers).toMatchObject({ 'content-type': XML.accept, vary: 'Accept, Accept-Encoding' });
    expect(answer.body).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?><claims><claim><claimId>\d+<\/claimId>/,
    );
    expect(answer.body).toContain('<productName>Lamp &lt;X&gt;</productName>');
    expect(await faultsBySchema(world.app, 'Claims_v1_0.xsd', [answer.body])).toEqual([]);
  });

  it.each([
    ['by the extension', '/claims.csv', {}],
    ['by Accept', '/claims', { accept: 'text/csv' }],
    ['by a key', '/claims;format=csv', {}],
  ])('is CSV %s, with the fields as columns (decisions C13)', async (_, path, headers) => {
    const answer = await world.send('GET', path, 'nord', { headers });
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
    const [head = ''] = answer.body.split('\r\n');
    expect(head).toBe(LISTED_CLAIM.map((name) => `"${name}"`).join(','));
    expect(answer.body).toContain('"Ordered by phone,\nsee ""mail"""');
  });

  it('can be posted again as CSV: what the list has more is ignored (decisions C13)', async () => {
    const [head = '', ...rows] = (await world.send('GET', '/claims.csv', 'preisblick')).body.split('\r\n');
    const row = rows.find((line) => line.includes('"bulk 1"')) ?? '';
    const body = [head, row.replace('"bulk 1"', '"bulk 3"')].join('\r\n');
    const headers = { 'content-type': 'text/csv; charset=utf-8' };
    const answer = await world.send('POST', '/claims', 'preisblick', { headers, body });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(answer.headers['x-ignored-fields']).toContain('statusName');
    expect(await byOrder('bulk 3')).toMatchObject({ orderValue: 100, affiliateSiteId: 1101 });
  });

  it('is on the legacy path without versionNo, and with timestamp (Document 3, Claim as listed; decisions C8)', async () => {
    const current = await world.list(';limit=2', 'nord');
    const legacy = (await world.send('GET', '/uts/claims;limit=2', 'nord')).json<object[]>();
    expect(legacy).toEqual(
      current.map(({ timeStamp, ...others }) => ({ ...others, timestamp: timeStamp, versionNo: undefined })),
    );
    expect(Object.keys(legacy[0]!).slice(0, 3)).toEqual(['claimId', 'timestamp', 'statusId']);
    const xml = await world.send('GET', '/uts/claims.xml', 'nord');
    expect(xml.body).not.toMatch(/versionNo|timeStamp>/);
    expect(await faultsBySchema(world.app, 'LegacyClaims_v1_0.xsd', [xml.body])).toEqual([]);
  });
});

describe('checking claims (decisions C13)', () => {
  const claims = [
    claimOf('check'),
    claimOf('check 2', { timeStampEvent: '2026-03-02' }),
    claimOf('check 3', { programId: 999 }),
  ];
  const expected = [
    { statusId: 2, statusName: 'Awaiting approval', statusState: 'PENDING_ADVERTISER' },
    { statusId: 115, statusName: 'Transaction date in future', statusState: 'REJECTED' },
    { statusId: 102, statusName: 'Program not found', statusState: 'REJECTED' },
  ];

  it('answers with the status of each, and stores nothing', async () => {
    const answer = await world.json('/claims/check', { claims }, 'preisblick');
    expect([answer.statusCode, answer.json()]).toEqual([200, expected]);
    expect(await byOrder('check')).toBeUndefined();
  });

  it('takes and answers XML', async () => {
    const answer = await world.xml('/claims/check', xmlOf('claims', claims), 'preisblick');
    expect([answer.statusCode, answer.body.match(/<check><statusId>\d+/g)]).toEqual([
      200,
      [2, 115, 102].map((id) => `<check><statusId>${id}`),
    ]);
    expect(await faultsBySchema(world.app, 'CheckedClaims_v1_0.xsd', [answer.body])).toEqual([]);
  });

  it('refuses what filing would refuse', async () => {
    await world.create('checked');
    const answer = await world.json('/claims/check', { claims: [claimOf('checked')] }, 'preisblick');
    expect([answer.statusCode, errorsIn(answer)]).toEqual([409, [expect.stringMatching(/^UTS_397 /)]]);
    // Filing a single claim finds out by its reservation, and says the same.
    const filed = await world.json('/claims', { claims: [claimOf('checked')] }, 'preisblick');
    expect([filed.statusCode, errorsIn(filed)]).toEqual([409, errorsIn(answer)]);
  });
});

describe('versions of a claim (decisions C13)', () => {
  it('are the claim after each change, with its time and who made it, for both parties', async () => {
    const { claimId } = await world.create('versions');
    world.passTo(NOW + DAY);
    const change = { ...claimOf('versions', { orderValue: 110 }), claimId, versionNo: 0 };
    await world.json('/claimUpdates', { claimUpdates: [change] }, 'preisblick');
    await world.rule([{ claimId, statusIdClaim: 202, versionNo: 1 }]);
    const answers = await Promise.all(
      (['preisblick', 'nord'] as const).map((as) => world.send('GET', `/claims/${claimId}/versions`, as)),
    );
    const [first = '', second = ''] = answers.map(({ body }) => body);
    expect(second).toBe(first);
    expect(answers[0]!.json()).toMatchObject([
      {
        time: '2026-03-01T12:00:00.000Z',
        by: 'publisher',
        claimId,
        versionNo: 0,
        orderValue: 100,
        statusId: 2,
      },
      {
        time: '2026-03-02T12:00:00.000Z',
        by: 'publisher',
        claimId,
        versionNo: 1,
        orderValue: 110,
        statusId: 2,
      },
      {
        time: '2026-03-02T12:00:00.000Z',
        by: 'advertiser',
        claimId,
        versionNo: 2,
        orderValue: 110,
        statusId: 202,
      },
    ]);
    const xml = await world.send('GET', `/claims/${claimId}/versions`, 'nord', { headers: XML });
    expect(xml.body.match(/<by>\w+/g)).toEqual(['<by>publisher', '<by>publisher', '<by>advertiser']);
    expect(await faultsBySchema(world.app, 'ClaimVersions_v1_0.xsd', [xml.body])).toEqual([]);
  });
});

const rows = STATUS_TABLE.map(([statusId, statusName, statusState, requireStatusMessage]) => ({
  statusId,
  statusName,
  statusState,
  requireStatusMessage,
}));
const legacy = rows.filter(({ statusId }) => statusId <= 211);

describe('the list of statuses', () => {
  it.each(['nord', 'preisblick'] as const)(
    'has each row of the status table, for %s (Document 3, States and transitions; Document 3, Status)',
    async (client) => {
      const answer = await world.send('GET', '/claimStatuses', client);
      expect([answer.statusCode, answer.json()]).toEqual([200, rows]);
      expect(Object.keys(rows[0]!)).toEqual(STATUS_FIELDS);
    },
  );

  it('ends at 211 on the legacy path (Document 3, Legacy advertiser paths; decisions C8)', async () => {
    for (const path of ['/uts/claimStatuses', '/uts/claimStatuses.json'])
      expect((await world.send('GET', path, 'nord')).json()).toEqual(legacy);
    const xml = await world.send('GET', '/uts/claimStatuses.xml', 'nord');
    expect([xml.headers['content-type'], xml.body.match(/<statusId>/g)?.length]).toEqual([
      'application/xml; charset=utf-8',
      legacy.length,
    ]);
  });

  it('is XML if Accept says so, and pretty if asked (Document 3, Endpoints: Current paths)', async () => {
    const headers = { accept: 'application/xml; charset=utf-8' };
    const answer = await world.send('GET', '/claimStatuses', 'nord', { headers });
    expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
    expect(answer.body).toContain(
      '<claimStatus><statusId>111</statusId><statusName>Already tracked for other publisher</statusName>' +
        '<statusState>REJECTED</statusState><requireStatusMessage>true</requireStatusMessage></claimStatus>',
    );
    expect(await faultsBySchema(world.app, 'ClaimStatuses_v1_0.xsd', [answer.body])).toEqual([]);
    const pretty = await world.send('GET', '/claimStatuses;pretty=true', 'nord');
    expect(pretty.body).toContain('\n');
    expect(pretty.json()).toEqual(rows);
  });

  it('may be read from pages of other origins (Document 3, Conventions)', async () => {
    const headers = { origin: 'https://shop.example' };
    for (const path of ['/claimStatuses', '/uts/claimStatuses.xml']) {
      const answer = await world.send('GET', path, 'nord', { headers });
      expect(answer.headers['access-control-allow-origin']).toBe('*');
    }
  });

  it('on the legacy path is for advertisers only (Document 3, Errors: UTS_304; decisions C1)', async () => {
    const answer = await world.send('GET', '/uts/claimStatuses', 'preisblick');
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      403,
      ['UTS_304 the token is one of a publisher: expected advertiser'],
    ]);
  });
});
