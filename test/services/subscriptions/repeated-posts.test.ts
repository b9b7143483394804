import { type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { Subscriptions } from '../../../src/services/subscriptions/commands';
import { pauseCall } from '../../support/pause-call';
import { MemoryEvents, MemoryLog } from '../../world/memory-log';

const subscription: SubscriptionContent = {
  filter: { stateIds: [1] },
  receivers: [{ httpMethod: 'GET', receiverUrl: 'https://receiver.example/' }],
};
const at = '2026-03-01T12:00:00Z';
const command = { do: 'create', at, topic: 'transactions', organisationId: 1, subscription } as const;
/** Neither of two processes knows that the other one has begun it. */
const request = { id: '0123456789abcdef', mayHaveRun: false };

describe('a post of a subscription that two processes have begun (decisions A22)', () => {
  let events: MemoryEvents;
  let log: MemoryLog;
  beforeEach(() => {
    events = new MemoryEvents(() => 0);
    log = new MemoryLog(events);
  });
  const post = () =>
    new Subscriptions(log, { after: () => log.head() }, SYSTEM_CLOCK).create(command, request);

  it('creates one, whichever is first to append it', async () => {
    const append = pauseCall(log, 'append', 1);
    const one = post();
    await append.reached;
    const other = post();
    append.release();
    const created = await Promise.all([one, other]);
    expect(new Set(created.map(({ subscriptionId }) => subscriptionId)).size).toBe(1);
    expect(events.all.map(({ type }) => type)).toEqual(['SubscriptionCreated']);
  });

  it('is answered with that one once it is there', async () => {
    const { subscriptionId } = await post();
    expect(await post()).toMatchObject({ subscriptionId });
    expect(events.all.map(({ type }) => type)).toEqual(['SubscriptionCreated']);
  });
});
