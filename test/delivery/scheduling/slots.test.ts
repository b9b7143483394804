import { LIMITS, type Occupant, Slots } from '../../../src/delivery/scheduling/slots';

const receiverOf = (host: string): Occupant => ({
  host,
  owner: 1,
  pace: 'normal',
  inFlight: 0,
  late: 0,
  answered: 0,
});

const requestTo = (receiver: Occupant) => ({
  ...{ receiver, host: receiver.host, at: 0, size: 0 },
  pool: 'normal' as const,
  hasEnded: false,
});

it('a request that was started before its host was known does not free a slot of the host (decisions N7)', () => {
  const slots = new Slots<Occupant>(() => undefined);
  const first = receiverOf('');
  const unsendable = requestTo(first);
  slots.enter(unsendable);
  first.host = 'https://a.example';
  const receivers = [first, ...Array.from({ length: LIMITS.host - 1 }, () => receiverOf(first.host))];
  for (const receiver of receivers) slots.enter(requestTo(receiver));
  slots.leave(unsendable, 3, undefined);
  expect(slots.mayEnter(receiverOf(first.host))).toBe(false);
  expect(slots.mayEnter(receiverOf('https://b.example'))).toBe(true);
});
