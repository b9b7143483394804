import { cases } from '../support/size';
import { type Response } from '../support/app';
import {
  CLAIM_TOKENS,
  type ClaimClient,
  claimOf,
  claimWorld,
  errorsIn,
  type Listed,
  xmlOf,
} from './claim-network';
import { DAY, NOW } from './voucher-network';

const world = claimWorld();

const XML = { accept: 'application/xml; charset=utf-8' } as const;

const byOrder = async (orderNumber: string): Promise<Listed | undefined> =>
  (await world.list('', 'nord')).find((claim) => claim.orderNumber === orderNumber);

describe('updating claims', () => {
  it.each(['JSON', 'XML'] as const)(
    'by an advertiser in %s answers with HTTP 200 without a body (Document 3, Endpoints: Current paths)',
    async (format) => {
      const { claimId } = await world.create(`approve ${format}`);
      const update = { claimId, statusIdClaim: 3, orderValue: '90.5', expectedCommission: 5, versionNo: 0 };
      const answer =
        format === 'JSON'
          ? await world.rule([update])
          : await world.xml('/claimUpdates', xmlOf('claimUpdates', [update]), 'nord');
      expect([answer.statusCode, answer.body, answer.headers['content-type']]).toEqual([200, '', undefined]);
      expect(await byOrder(`approve ${format}`)).toMatchObject({
        statusId: 3,
        versionNo: 1,
        orderValue: 100,
        adjustedOrderValue: 90.5,
        adjustedExpectedCommission: '5.00',
      });
    },
  );

  it('with status 201 shows its message (Document 3, Claim update posted by an advertiser)', async () => {
    const { claimId } = await world.create('channel');
    const update = { claimId, statusIdClaim: 201, statusMessageClaim: 'Search', versionNo: 0, colour: 1 };
    const answer = await world.rule([update]);
    expect([answer.statusCode, answer.headers['x-ignored-fields']]).toEqual([200, 'colour']);
    expect(await byOrder('channel')).toMatchObject({ statusId: 201, statusMessage: 'Search' });
  });

  it.each(['JSON', 'XML'] as const)(
    'by a publisher in %s keeps optional fields that it omits, and clears those that it has empty (Document 3, Claim update posted by a publisher; decisions C9)',
    async (format) => {
      const { claimId } = await world.create(`revise ${format}`, {
        epi: 'old',
        epi2: 'old',
        productName: 'old',
      });
      const changes = { orderValue: 120, expectedCommission: undefined, epi2: '', productName: 'new' };
      const update = { ...claimOf(`revised ${format}`, changes), claimId, versionNo: 0 };
      const answer =
        format === 'JSON'
          ? await world.json('/claimUpdates', { claimUpdates: [update] }, 'preisblick')
          : await world.xml('/claimUpdates', xmlOf('claimUpdates', [update]), 'preisblick');
      expect([answer.statusCode, answer.body]).toEqual([200, '']);
      const found = await byOrder(`revised ${format}`);
      const kept = { epi: 'old', productName: 'new', expectedCommission: '7.50' };
      expect(found).toMatchObject({ claimId, statusId: 2, versionNo: 1, orderValue: 120, ...kept });
      expect(found).not.toHaveProperty('epi2');
    },
  );

  it('on one day are sorted by claim id, as lists show the day only (Document 3, List keys; decisions C8)', async () => {
    const ids: number[] = [];
    for (const name of ['first', 'second', 'third']) ids.push((await world.create(`sorted ${name}`)).claimId);
    const [first, second, third] = ids as [number, number, number];
    for (const [time, claimId] of [
      [NOW + 60_000, third],
      [NOW + 120_000, first],
      [NOW + DAY, second],
    ] as const) {
      world.passTo(time);
      expect((await world.rule([{ claimId, statusIdClaim: 205, versionNo: 0 }])).statusCode).toBe(200);
    }
    const sorted = async (sortOrder: string) =>
      (await world.list(`;claimId=${ids.join(',')};sortBy=statusChanged;sortOrder=${sortOrder}`)).map(
        ({ claimId }) => claimId,
      );
    expect(await sorted('asc')).toEqual([first, third, second]);
    expect(await sorted('desc')).toEqual([second, third, first]);
    world.passTo(NOW);
  });

  it('by a publisher names faults of keys beside faults of fields (Document 3, Errors: UTS_397; decisions C9)', async () => {
    const one = await world.create('one key');
    await world.create('other key');
    const answer = await world.json(
      '/claimUpdates',
      {
        claimUpdates: [
          { ...claimOf('other key', { orderValue: -1 }), claimId: one.claimId, versionNo: 0 },
          { ...claimOf('one key', { orderValue: -1 }), claimId: one.claimId, versionNo: 0 },
        ],
      },
      'preisblick',
    );
    expect([answer.statusCode, errorsIn(answer).map((error) => error.slice(0, 26))]).toEqual([
      400,
      ['UTS_430 claimUpdates[0].or', 'UTS_430 claimUpdates[1].or', 'UTS_397 claimUpdates[0]: t'],
    ]);
  });

  const revise = (changes: object) => world.json('/claimUpdates', { claimUpdates: [changes] }, 'preisblick');

  it('by a publisher to an event that must not have an expected commission drops it (decisions C6, C9)', async () => {
    const { claimId } = await world.create('to a sale');
    const sale = claimOf('to a sale', { eventId: 301, expectedCommission: undefined });
    expect((await revise({ ...sale, claimId, versionNo: 0 })).statusCode).toBe(200);
    const found = await byOrder('to a sale');
    expect(found).toMatchObject({ statusId: 2, eventId: 301 });
    expect(found).not.toHaveProperty('expectedCommission');
  });

  it.each([
    ['empties it', { expectedCommission: '' }],
    ['has null', { expectedCommission: null }],
  ])(
    'by a publisher that %s is refused for the inquiry event: UTS_240 (decisions C6, C9)',
    async (name, changes) => {
      const { claimId } = await world.create(name);
      const answer = await revise({ ...claimOf(name, changes), claimId, versionNo: 0 });
      expect([answer.statusCode, errorsIn(answer)]).toEqual([
        400,
        [
          'UTS_240 claimUpdates[0].expectedCommission must be set: event 17 is the inquiry event of program 101',
        ],
      ]);
      expect(await byOrder(name)).toMatchObject({ versionNo: 0, statusId: 2 });
    },
  );

  it('by a publisher to the inquiry event needs an expected commission, which another currency does not keep (decisions C6, C9)', async () => {
    const sale = await world.create('to an inquiry', { eventId: 301, expectedCommission: undefined });
    const inquiry = claimOf('to an inquiry', { expectedCommission: undefined });
    const without = await revise({ ...inquiry, claimId: sale.claimId, versionNo: 0 });
    expect(errorsIn(without)).toEqual([
      expect.stringMatching(/^UTS_240 claimUpdates\[0\]: expectedCommission must/),
    ]);
    const { claimId } = await world.create('to SEK');
    const swedish = claimOf('to SEK', {
      programId: 102,
      affiliateSiteId: 1102,
      expectedCommission: undefined,
    });
    const answer = await world.json(
      '/claimUpdates',
      { claimUpdates: [{ ...swedish, claimId, versionNo: 0 }] },
      'preisblickAll',
    );
    expect(errorsIn(answer)).toEqual([
      expect.stringContaining('UTS_240 claimUpdates[0]: expectedCommission must be set'),
    ]);
  });

  it('is refused with the status of the first fault (decisions C7)', async () => {
    const { claimId } = await world.create('mixed');
    const unknown = { claimId: 999_999, statusIdClaim: 3, versionNo: 0 };
    const old = { claimId, statusIdClaim: 3, versionNo: 5 };
    const answers = [await world.rule([unknown, old]), await world.rule([old, unknown])];
    expect(
      answers.map((answer) => [answer.statusCode, errorsIn(answer).map((error) => error.slice(0, 7))]),
    ).toEqual([
      [404, ['UTS_402', 'UTS_405']],
      [409, ['UTS_405', 'UTS_402']],
    ]);
  });

  it('is all or nothing (decisions C9)', async () => {
    const { claimId } = await world.create('stays');
    const answer = await world.rule([
      { claimId, statusIdClaim: 3, versionNo: 0 },
      { claimId: 999_999, statusIdClaim: 3, versionNo: 0 },
    ]);
    expect([answer.statusCode, errorsIn(answer)]).toEqual([
      404,
      [expect.stringMatching(/^UTS_402 claimUpdates\[1\]/)],
    ]);
    expect(await byOrder('stays')).toMatchObject({ statusId: 2, versionNo: 0 });
  });
});

describe('updating claims on the legacy path (Document 3, Legacy advertiser paths)', () => {
  it.each([
    ['', '{"errors":[]}'],
    ['.json', '{"errors":[]}'],
    [
      '.xml',
      '<?xml version="1.0" encoding="UTF-8"?><Response xmlns="https://api.example/1.0/uts"><errors/></Response>',
    ],
  ])('%s answers with an empty error list (Document 3, Errors)', async (extension, body) => {
    const { claimId } = await world.create(`legacy${extension}`);
    const update = { claimUpdates: [{ claimId, statusIdClaim: 202 }] };
    const answer = await world.json(`/uts/claimUpdates${extension}`, update, 'nord');
    expect([answer.statusCode, answer.body]).toEqual([200, body]);
    expect(await byOrder(`legacy${extension}`)).toMatchObject({ statusId: 202, versionNo: 1 });
  });

  it('assumes version 0, so a claim that its publisher has changed is UTS_405 (Document 3, Versioning)', async () => {
    const { claimId } = await world.create('changed');
    const change = { ...claimOf('changed'), claimId, versionNo: 0 };
    await world.json('/claimUpdates', { claimUpdates: [change] }, 'preisblick');
    const update = { claimId, statusIdClaim: 3, versionNo: 1 };
    const legacy = await world.json('/uts/claimUpdates', { claimUpdates: [update] }, 'nord');
    expect([legacy.statusCode, errorsIn(legacy)]).toEqual([409, [expect.stringMatching(/^UTS_405 /)]]);
    expect(legacy.headers['x-ignored-fields']).toBe('versionNo');
    expect((await world.rule([update])).statusCode).toBe(200);
  });
});

describe('deleting a claim (Document 3, Moves that are shown)', () => {
  it('answers with HTTP 200 without a body, and frees its key (decisions C4, C12)', async () => {
    const { claimId } = await world.create('deleted');
    const path = `/claims/${claimId};versionNo=0`;
    const answer = await world.send('DELETE', path, 'preisblick', { headers: XML });
    expect([answer.statusCode, answer.body, answer.headers['content-type']]).toEqual([200, '', undefined]);
    expect(await byOrder('deleted')).toBeUndefined();
    const again = await world.send('DELETE', path, 'preisblick');
    expect([again.statusCode, errorsIn(again)]).toEqual([404, [expect.stringMatching(/^UTS_402 /)]]);
    expect((await world.file([claimOf('deleted')])).statusCode).toBe(200);
  });

  it('takes versionNo as a query parameter too (decisions A3)', async () => {
    const { claimId } = await world.create('by query');
    expect((await world.send('DELETE', `/claims/${claimId}?versionNo=0`, 'preisblick')).statusCode).toBe(200);
  });
});

describe('racing claims', () => {
  let other: Awaited<ReturnType<typeof world.app.again>>;
  beforeAll(async () => {
    other = await world.app.again();
  });
  afterAll(() => other.close());

  type Request = readonly [path: string, as: ClaimClient, body?: object];

  /** Sends it to one of two processes. */
  function send(at: number, [path, as, body]: Request): Promise<Response> {
    const app = at % 2 === 0 ? world.app.http : other;
    return app.inject({
      method: body === undefined ? 'DELETE' : 'POST',
      url: `/1.0/${path}?token=${CLAIM_TOKENS[as]}`,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
  }

  const outcomeOf = (answer: Response): string =>
    answer.statusCode === 200 ? 'ok' : `${answer.statusCode} ${errorsIn(answer)[0]?.split(' ')[0] ?? ''}`;

  const COUNT = cases(1000, 200);

  it(`of ${COUNT} creations of one key that race in two processes one is stored (decisions C4)`, async () => {
    const creation: Request = ['claims', 'preisblick', { claims: [claimOf('raced for')] }];
    const racing = Array.from({ length: COUNT }, (_, at) => send(at, creation));
    const outcomes = (await Promise.all(racing)).map(outcomeOf);
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === '409 UTS_397')).toHaveLength(COUNT - 1);
    expect((await world.list()).filter(({ orderNumber }) => orderNumber === 'raced for')).toHaveLength(1);
  });

  it('says of which update of a list another request was faster, in order (decisions C7, C9)', async () => {
    for (let round = 0; round < cases(40, 10); round += 1) {
      const numbers = [0, 1, 2, 3].map((at) => `list ${round} ${at}`);
      const ids: number[] = [];
      for (const number of numbers) ids.push((await world.create(number)).claimId);
      const claimUpdates = ids.map((claimId) => ({ claimId, statusIdClaim: 3, versionNo: 0 }));
      const answers = await Promise.all(
        [0, 1, 2, 3].map((at) => send(at, ['claimUpdates', 'nord', { claimUpdates }])),
      );
      for (const answer of answers.filter(({ statusCode }) => statusCode !== 200)) {
        const places = errorsIn(answer).map((error) => /^UTS_405 claimUpdates\[(\d)\]: /.exec(error)?.[1]);
        expect(places).toEqual(places.toSorted());
        expect(places).not.toContain(undefined);
      }
      const states = (await world.list('', 'nord')).filter(({ claimId }) => ids.includes(claimId));
      expect(states.map(({ statusId, versionNo }) => [statusId, versionNo])).toEqual(ids.map(() => [3, 1]));
    }
  });

  describe('of two updates of one version that race in two processes exactly one wins (Document 3, Versioning; decisions C7)', () => {
    const updates = (claimId: number): Readonly<Record<string, Request>> => ({
      approval: ['claimUpdates', 'nord', { claimUpdates: [{ claimId, statusIdClaim: 3, versionNo: 0 }] }],
      rejection: ['claimUpdates', 'nord', { claimUpdates: [{ claimId, statusIdClaim: 206, versionNo: 0 }] }],
      update: [
        'claimUpdates',
        'preisblick',
        { claimUpdates: [{ ...claimOf(`updated ${claimId}`), claimId, versionNo: 0 }] },
      ],
      deletion: [`claims/${claimId};versionNo=0`, 'preisblick'],
    });

    it.each([
      ['approval', 'rejection', ['409 UTS_405']],
      ['approval', 'update', ['409 UTS_405']],
      ['update', 'update', ['409 UTS_405']],
      ['approval', 'deletion', ['409 UTS_405', '404 UTS_402']],
      ['update', 'deletion', ['409 UTS_405', '404 UTS_402']],
    ] as const)('%s and %s', async (one, another, refusals) => {
      for (let round = 0; round < cases(40, 10); round += 1) {
        const { claimId } = await world.create(`${one} ${another} ${round}`);
        const requests = updates(claimId);
        const racing = [one, another].map((name, at) => send(round + at, requests[name]!));
        const outcomes = (await Promise.all(racing)).map(outcomeOf).sort();
        expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1);
        expect(refusals).toContain(outcomes.find((outcome) => outcome !== 'ok'));
      }
    });
  });
});
