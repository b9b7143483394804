import { cases } from '../support/size';
import { type Response } from '../support/app';
import { CLAIM_TOKENS, type ClaimClient, claimOf, claimWorld, errorsIn } from './claim-network';

const world = claimWorld();
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
