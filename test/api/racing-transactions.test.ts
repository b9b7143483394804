import { cases } from '../support/size';
import { eventsOfTransaction } from '../support/transactions';
import { CONVERSION_TOKENS, PATH, type Result, transactionWorld } from './transaction-network';

const world = transactionWorld();
const { create, move, get } = world;

const typesOf = async (id: string) =>
  (await eventsOfTransaction(world.app.engines.log, id)).map(({ type }) => type.replace('Transaction', ''));

describe('requests that race for one transaction, in two processes (decisions T5)', () => {
  it.each([
    ['approve', 'deny'],
    ['approve', 'delete'],
    ['deny', 'amend'],
  ] as const)('%s and %s: both take effect only in an order that the table has', async (one, other) => {
    const process = await world.app.again();
    const inOther = async (transactionId: string) =>
      process.inject({
        method: 'POST',
        url: `${PATH}/transitions?token=${CONVERSION_TOKENS.nord}`,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        payload: JSON.stringify({
          transactionId,
          action: other,
          ...(other === 'amend' ? { orderValue: 5 } : {}),
        }),
      });
    const journeys = new Set<string>();
    for (let round = 0; round < cases(60, 20); round += 1) {
      const { transactionId } = await create(`${one}-${other}-${round}`);
      const answers = await Promise.all(
        round % 2 === 0
          ? [move({ transactionId, action: one }), inOther(transactionId)]
          : [inOther(transactionId), move({ transactionId, action: one })],
      );
      const succeeded = answers.filter(({ statusCode }) => statusCode === 200).length;
      for (const { statusCode, body } of answers)
        expect([statusCode, statusCode === 200 || body.includes('CON_520')]).toEqual([statusCode, true]);
      const journey = (await typesOf(transactionId)).slice(2);
      expect(journey).toHaveLength(succeeded);
      journeys.add(journey.join());
      const state = answers.find(({ statusCode }) => statusCode === 200)?.json<Result>().messageTypeId;
      const last = (await get(`/${transactionId}`)).json<Result>().messageTypeId;
      if (succeeded === 1) expect(last).toBe(state);
    }
    const possible = {
      deny: ['PendingApproved', 'Deleted'],
      delete: ['PendingApproved,Deleted', 'Deleted'],
      amend: ['Deleted', 'Amended,Deleted'],
    }[other];
    expect([...journeys].filter((journey) => !possible.includes(journey))).toEqual([]);
    await process.close();
  });

  it('a hundred approvals make one', async () => {
    const { transactionId } = await create('HUNDRED');
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => move({ transactionId, action: 'approve' })),
    );
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    const outcomes = answers.map((answer) => answer.json<{ readonly outcome: string }>().outcome);
    expect(outcomes.filter((outcome) => outcome === 'moved')).toHaveLength(1);
    expect(await typesOf(transactionId)).toEqual(['Tracked', 'BecamePending', 'PendingApproved']);
  });
});
