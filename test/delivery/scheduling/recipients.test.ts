import { Webhook } from 'standardwebhooks';
import { START } from '../../../src/kernel/event';
import { Recipients, RecipientBook } from '../../../src/delivery/scheduling/recipients';
import { signatureOf } from '../../../src/delivery/sending/attempt';
import { Secrets, type SubscriptionEvent } from '../../../src/domain/subscriptions/subscription';
import { AT, created, Recorded } from '../matching/recorded-events';

const HOUR = 3_600_000;
const SECRETS = new Secrets(Buffer.alloc(32, 7));

/** A subscription whose secret was replaced so many hours after its creation. */
function rotatedAfter(hours: readonly number[]): Recipients {
  const [book, recorded] = [new RecipientBook(), new Recorded()];
  const events: readonly SubscriptionEvent[] = [
    created(1),
    ...hours.map((hour, at): SubscriptionEvent => ({
      type: 'SecretRotated',
      data: { at: new Date(Date.parse(AT) + hour * HOUR).toISOString(), secret: at + 2 },
    })),
  ];
  for (const event of events) book.apply(recorded.append('subscription-s', event));
  return new Recipients({ position: START, ready: Promise.resolve(), book }, SECRETS);
}

/**
 * The numbers of the secrets with which the published library verifies a message that is sent so many hours after the
 * creation.
 */
function verifying(recipients: Recipients, hour: number): readonly number[] {
  const body = '{"a":"ü"}';
  const signed = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1000) };
  const signature = signatureOf(recipients.secretsOf('s', Date.parse(AT) + hour * HOUR), signed, body);
  const headers = {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    'webhook-signature': signature,
  };
  return [1, 2, 3, 4, 5, 6, 7].filter((number) => {
    try {
      return new Webhook(SECRETS.text('s', number)).verify(body, headers) !== undefined;
    } catch {
      return false;
    }
  });
}

it('each secret verifies messages for 24 hours after it was replaced, however often it is (decisions N5)', () => {
  const rotations = [1, 3, 4, 26];
  const verifiedAfter = (hour: number) =>
    verifying(rotatedAfter(rotations.filter((rotation) => rotation <= hour)), hour);
  expect(verifiedAfter(0)).toEqual([1]);
  expect(verifiedAfter(2)).toEqual([1, 2]);
  expect(verifiedAfter(5)).toEqual([1, 2, 3, 4]);
  expect(verifiedAfter(24.9)).toEqual([1, 2, 3, 4]);
  expect(verifiedAfter(25.1)).toEqual([2, 3, 4]);
  expect(verifiedAfter(26)).toEqual([2, 3, 4, 5]);
  expect(verifiedAfter(27.1)).toEqual([3, 4, 5]);
  expect(verifiedAfter(28.1)).toEqual([4, 5]);
  expect(verifiedAfter(49.9)).toEqual([4, 5]);
  expect(verifiedAfter(50.1)).toEqual([5]);
});
