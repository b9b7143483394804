import { type DomainEvent, toNewEvent } from '../../../src/kernel/decider';
import { NO_STREAM } from '../../../src/kernel/event';
import {
  FollowedSubscriptions,
  SubscriptionBook,
} from '../../../src/notifications/matching/subscription-book';
import { receiverIdOf } from '../../../src/notifications/receiver-id';
import { withLog } from '../../support/temporary-log';
import { AT, created, DELETED, GET, POST, Recorded, replaced } from './recorded-events';

let book: SubscriptionBook;
let recorded: Recorded;
beforeEach(() => ([book, recorded] = [new SubscriptionBook(), new Recorded()]));

const happens = (stream: string, event: DomainEvent) => book.apply(recorded.append(stream, event));
const ids = (organisation: number) => [...book.ofOrganisation(organisation).keys()];
const disabled = (receiver: string): DomainEvent => ({
  type: 'ReceiverDisabled',
  data: { at: AT, receiver, reason: 'gone' },
});

describe('the list of subscriptions', () => {
  it('has those that are active, by organisation in the order of their creation', () => {
    happens('subscription-b', created(1));
    happens('subscription-a', created(1));
    happens('subscription-c', created(2));
    happens('subscription-b', replaced({ subscriptionName: 'new' }));
    happens('subscriptions-d', created(1));
    expect([ids(1), ids(2), ids(3), book.size]).toEqual([['b', 'a'], ['c'], [], 3]);
    expect(book.get('b')?.content.subscriptionName).toBe('new');
    expect([...book.entries()].map(([id]) => id)).toEqual(['b', 'a', 'c']);
  });

  it('forgets what is deleted', () => {
    happens('subscription-a', created(1));
    happens('subscription-b', created(1));
    happens('subscription-a', DELETED);
    happens('subscription-a', disabled('r'));
    happens('subscription-a', DELETED);
    expect([book.get('a'), ids(1), book.size]).toEqual([undefined, ['b'], 1]);
  });

  it('knows what may be sent to a receiver (decisions N8)', () => {
    const [get, post] = [GET, POST].map((receiver) => receiverIdOf('s', receiver)) as [string, string];
    const standing = () => [get, post].map((receiver) => book.standingOf('s', receiver));
    expect(standing()).toEqual(['gone', 'gone']);
    happens('subscription-s', created(1, { receivers: [GET] }));
    expect(standing()).toEqual(['active', 'gone']);
    happens('subscription-s', disabled(get));
    expect(standing()).toEqual(['disabled by the system', 'gone']);
    happens('subscription-s', replaced({ receivers: [GET, { ...POST, disabled: true }] }));
    expect(standing()).toEqual(['active', 'disabled by its owner']);
    happens('subscription-s', replaced({ receivers: [POST], disabled: true }));
    expect(standing()).toEqual(['gone', 'disabled by its owner']);
    happens('subscription-s', DELETED);
    expect(standing()).toEqual(['gone', 'gone']);
  });

  it('knows which receivers there are, whoever they belong to', () => {
    const [get, post] = [GET, POST].map((receiver) => receiverIdOf('s', receiver)) as [string, string];
    const there = () => [get, post].map((receiver) => book.hasReceiver(receiver));
    happens('subscription-t', created(1, { receivers: [POST] }));
    expect(there()).toEqual([false, false]);
    happens('subscription-s', created(1, { receivers: [GET] }));
    expect(there()).toEqual([true, false]);
    happens('subscription-s', replaced({ receivers: [{ ...POST, disabled: true }] }));
    expect(there()).toEqual([false, true]);
    happens('subscription-s', DELETED);
    expect(there()).toEqual([false, false]);
  });

  it('follows the log', () =>
    withLog(async (log) => {
      const ending = new AbortController();
      const followed = new FollowedSubscriptions(log, ending.signal);
      await followed.ready;
      const { position } = await log.append('subscription-a', NO_STREAM, [toNewEvent(created(7))]);
      expect(await followed.reached(position)).toBe(true);
      expect([...followed.book.ofOrganisation(7).keys()]).toEqual(['a']);
      ending.abort();
      await followed.ended;
    }));
});
