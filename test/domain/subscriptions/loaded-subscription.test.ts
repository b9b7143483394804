import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { execute, load, toNewEvent } from '../../../src/kernel/decider';
import { type EventLog } from '../../../src/kernel/event-log';
import { loadSubscription } from '../../../src/domain/subscriptions/loaded-subscription';
import {
  type SubscriptionCommand,
  type SubscriptionContent,
  subscriptionDecider,
} from '../../../src/domain/subscriptions/subscription';
import { ownedSubscription } from '../../../src/services/subscriptions/subscription.queries';
import { cases } from '../../support/size';
import { overrideLog, withLog } from '../../support/temporary-log';

const AT = '2026-03-01T12:00:00.000Z';
const contentOf = (orderOf: string): SubscriptionContent => ({
  filter: { stateIds: [4] },
  receivers: [{ httpMethod: 'GET', receiverUrl: `https://shop.example/${orderOf}` }],
});
const CREATE = {
  do: 'create',
  at: AT,
  topic: 'transactions',
  organisationId: 1,
  subscription: contentOf(''),
} as const;
const newId = (): string => randomUUID().replaceAll('-', '');

/** The log, counting the events that are read. */
function counting(log: EventLog): { readonly log: EventLog; readonly read: () => number } {
  let count = 0;
  const counted = overrideLog(log, {
    async *readStream(...args) {
      for await (const batch of log.readStream(...args)) {
        count += batch.length;
        yield batch;
      }
    },
  });
  return {
    log: counted,
    read: () => {
      const before = count;
      count = 0;
      return before;
    },
  };
}

/** As many tests were requested. */
async function requestTests(log: EventLog, id: string, count: number): Promise<void> {
  const { revision } = await load(log, subscriptionDecider, id);
  const data = { at: AT, receiver: 'r', stateId: 4 };
  const events = Array.from({ length: count }, () => toNewEvent({ type: 'TestRequested', data }));
  await log.append(`subscription-${id}`, revision, events);
}

it('of many tests and redeliveries only those are read that are new since a subscription was read before', async () => {
  await withLog(async (embedded) => {
    const { log, read } = counting(embedded);
    const id = newId();
    const owned = () =>
      ownedSubscription(log, { kind: { name: 'transactions' }, id, caller: { organisationId: 1 } });
    await execute(embedded, subscriptionDecider, id, CREATE);
    await requestTests(embedded, id, 400);
    expect([(await owned()).revision, read()]).toEqual([400, 401]);
    expect([(await owned()).revision, read()]).toEqual([400, 1]);
    await requestTests(embedded, id, 5);
    expect([(await owned()).revision, read()]).toEqual([405, 6]);
    await execute(embedded, subscriptionDecider, id, { do: 'delete', at: AT });
    await expect(owned()).rejects.toMatchObject({ status: 404 });
    expect(read()).toBe(2);
  });
});

it('the states of at most 32 long streams are kept, those that were read last', async () => {
  await withLog(async (embedded) => {
    const { log, read } = counting(embedded);
    const ids = Array.from({ length: 34 }, newId);
    for (const id of ids) {
      await execute(embedded, subscriptionDecider, id, CREATE);
      await requestTests(embedded, id, 300);
    }
    const [first = '', second = ''] = ids;
    for (const id of [...ids.slice(0, 32), first, ...ids.slice(32)]) await loadSubscription(log, id);
    read();
    await loadSubscription(log, first);
    expect(read()).toBe(1);
    await loadSubscription(log, second);
    expect(read()).toBe(301);
  });
});

it('a stream that was replaced is read as a whole', async () => {
  await withLog(async (one) => {
    await withLog(async (other) => {
      let current = one;
      const log = overrideLog(one, { readStream: (...args) => current.readStream(...args) });
      const id = newId();
      for (const [each, tests] of [
        [one, 300],
        [other, 400],
      ] as const) {
        await execute(each, subscriptionDecider, id, CREATE);
        await requestTests(each, id, tests);
      }
      for (const each of [one, other, one]) {
        current = each;
        expect(await loadSubscription(log, id)).toMatchObject(await load(each, subscriptionDecider, id));
      }
    });
  });
});

it('a subscription is the same as if its whole stream was read, however it changes meanwhile', async () => {
  const command = fc.constantFrom<SubscriptionCommand['do'] | 'read'>(
    ...([
      'read',
      'replace',
      'disableReceiver',
      'enableReceiver',
      'rotateSecret',
      'test',
      'redeliver',
    ] as const),
  );
  await withLog(async (log) => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 20 }), fc.boolean(), async (commands, isDeleted) => {
        const id = newId();
        await execute(log, subscriptionDecider, id, CREATE);
        await requestTests(log, id, 210);
        for (const [at, what] of [...commands, isDeleted ? 'delete' : 'read', 'read'].entries()) {
          if (what !== 'read') {
            const fields = { stateId: 4, message: 'm', revision: at, reason: 'gone' };
            const change = { do: what, at: AT, receiver: 'r', subscription: contentOf(`${at}`), ...fields };
            await execute(log, subscriptionDecider, id, change as SubscriptionCommand);
          } else {
            const [first, second] = await Promise.all([loadSubscription(log, id), loadSubscription(log, id)]);
            expect(first).toMatchObject(await load(log, subscriptionDecider, id));
            expect(second).toEqual(first);
          }
        }
      }),
      { numRuns: cases(200, 30) },
    );
  });
});
