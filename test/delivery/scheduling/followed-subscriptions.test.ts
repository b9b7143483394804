import { randomUUID } from 'node:crypto';
import { serialize } from 'node:v8';
import { type DomainEvent, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM } from '../../../src/kernel/event';
import { receiverIdOf } from '../../../src/domain/subscriptions/receiver-id';
import { FollowedSubscriptions, RecipientBook } from '../../../src/delivery/scheduling/recipients';
import { SYSTEM_CLOCK } from '../../../src/runtime/clock';
import { withLog } from '../../support/temporary-log';
import { AT, created, DELETED, GET, POST, Recorded, replaced } from '../matching/recorded-events';

let standings: RecipientBook;
let recorded: Recorded;
beforeEach(() => ([standings, recorded] = [new RecipientBook(), new Recorded()]));

const happens = (event: DomainEvent, stream = 'subscription-s') =>
  standings.apply(recorded.append(stream, event));
const disabled = (receiver: string): DomainEvent => ({
  type: 'ReceiverDisabled',
  data: { at: AT, receiver, reason: 'gone' },
});
const [get, post] = [GET, POST].map((receiver) => receiverIdOf('s', receiver)) as [string, string];

describe('what subscriptions mean for sending', () => {
  it('is what may be sent to a receiver (decisions N8)', () => {
    const standing = () => [get, post].map((receiver) => standings.stateOf('s', receiver));
    expect(standing()).toEqual(['gone', 'gone']);
    happens(created(1, { receivers: [GET] }));
    expect(standing()).toEqual(['active', 'gone']);
    happens(disabled(get));
    expect(standing()).toEqual(['disabled by the system', 'gone']);
    happens({ type: 'ReceiverEnabled', data: { at: AT, receiver: get } });
    expect(standing()).toEqual(['active', 'gone']);
    happens(replaced({ receivers: [GET, { ...POST, disabled: true }] }));
    expect(standing()).toEqual(['active', 'disabled by its owner']);
    happens(replaced({ receivers: [POST], disabled: true }));
    expect(standing()).toEqual(['gone', 'disabled by its owner']);
    happens(DELETED);
    expect(standing()).toEqual(['gone', 'gone']);
  });

  it('is which receivers there are, whoever they belong to', () => {
    const there = () => [get, post].map((receiver) => standings.hasReceiver(receiver));
    happens(created(1, { receivers: [POST] }), 'subscription-t');
    expect(there()).toEqual([false, false]);
    happens(created(1, { receivers: [GET] }));
    expect(there()).toEqual([true, false]);
    happens(replaced({ receivers: [{ ...POST, disabled: true }] }));
    expect(there()).toEqual([false, true]);
    happens(DELETED);
    expect(there()).toEqual([false, false]);
  });

  it('is known without templates and filters, which are large (decisions N15)', () => {
    const receivers = Array.from({ length: 10 }, (_, at) => ({
      ...POST,
      receiverBody: `${at}`.repeat(10_000),
    }));
    const filter = { stateIds: [1], programIds: Array.from({ length: 1000 }, (_, at) => at) };
    const size = () => serialize(standings).byteLength;
    happens(created(1, { receivers, filter }));
    const afterCreation = size();
    happens(replaced({ receivers, filter, subscriptionName: 'new' }));
    happens({ type: 'SecretRotated', data: { at: AT, secret: 2 } });
    expect([afterCreation, size()].filter((bytes) => bytes > 2_000)).toEqual([]);
    expect(standings.stateOf('s', receiverIdOf('s', receivers[9]!))).toBe('active');
  });

  it('follows the log', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedSubscriptions(SYSTEM_CLOCK, log, ending.signal);
      await followed.ready;
      const event = toNewEvent(created(7, { receivers: [GET] }), randomUUID());
      const { position } = await log.append('subscription-s', NO_STREAM, [event]);
      expect(await followed.reached(position)).toBe(true);
      expect(followed.book.stateOf('s', get)).toBe('active');
      ending.abort();
      await followed.ended;
    }));
});
