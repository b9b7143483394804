import { type DomainEvent } from '../../../src/kernel/decider';
import { type Message } from '../../../src/domain/deliveries/delivery-events';
import { type Due, Matcher } from '../../../src/delivery/matching/matcher';
import { type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { type Occurrence } from '../../../src/domain/subscriptions/topic';
import { claimTopic, created, moved, Recorded } from './recorded-events';

/** A matcher of claims, and the log that it reads: each test of a file has its own. */
export function matchedClaims() {
  let recorded: Recorded;
  let matcher: Matcher;
  beforeEach(() => {
    recorded = new Recorded();
    matcher = new Matcher([claimTopic]);
  });
  const happens = (stream: string, event: DomainEvent): readonly Due[] => [
    ...matcher.match(recorded.append(stream, event)),
  ];
  return {
    get recorded(): Recorded {
      return recorded;
    },
    happens,
    /** The messages of an occurrence. */
    messages: (changes: Partial<Occurrence> = {}): readonly Message[] =>
      happens('claim-1', moved(changes)).map((due) => {
        if (due.type !== 'MessageDue') throw new Error('no message');
        return due.data;
      }),
    subscribed: (organisation: number, subscription: Partial<SubscriptionContent> = {}, id = 's') =>
      happens(`subscription-${id}`, created(organisation, subscription)),
  };
}

export const urls = (all: readonly Message[]) => all.map(({ request }) => request?.url);
