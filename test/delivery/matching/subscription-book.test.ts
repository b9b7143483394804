import { type DomainEvent } from '../../../src/kernel/decider';
import { SubscriptionBook } from '../../../src/delivery/matching/subscription-book';
import { AT, created, DELETED, Recorded, replaced } from './recorded-events';

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
});
