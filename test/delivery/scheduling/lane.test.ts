import { type Message } from '../../../src/domain/deliveries/delivery-events';
import { Lane, type Sendable } from '../../../src/delivery/scheduling/lane';
import { ReceiverState } from '../../../src/delivery/scheduling/receiver-state';

test('A lane skips redeliveries that have ended meanwhile, however many (decisions N14)', () => {
  const state = new ReceiverState();
  for (const redelivery of [10, 11, 12, 13]) state.takeRedelivery(redelivery, redelivery % 2);
  const lane = new Lane(state, (revision) => ({ id: `msg_${revision}`, subject: 't1' }) as Message);
  state.redeliveries.delete(10);
  state.redeliveries.delete(11);
  state.redeliveries.delete(12);
  expect(lane.choose()).toMatchObject({ kind: 'redelivery', revision: 1, redelivery: 13 });
  state.redeliveries.delete(13);
  expect(lane.choose()).toBeUndefined();
});

test('A lane has each retry once, however often it is due, until its attempt has ended (decisions N3, N7)', () => {
  const state = new ReceiverState();
  state.retries.set(1, { attempt: 1, next: 0 });
  const lane = new Lane(state, (revision) => ({ id: `msg_${revision}`, subject: 't1' }) as Message);
  const retry = { kind: 'retry', revision: 1 };
  const start = (): Sendable => {
    const choice = lane.choose();
    if (choice === undefined || 'toLoad' in choice) throw new Error('nothing can be sent');
    expect(choice).toMatchObject(retry);
    lane.start(choice);
    return choice;
  };
  for (let due = 0; due < 3; due += 1) lane.retry(1);
  const first = start();
  expect(lane.choose()).toBeUndefined();
  lane.retry(1);
  expect(lane.choose()).toBeUndefined();
  // It was no attempt: it is due again, once.
  lane.end(first, undefined);
  lane.retry(1);
  lane.end(start(), 'failed');
  expect(lane.choose()).toBeUndefined();
  lane.retry(1);
  expect(lane.choose()).toMatchObject(retry);
  // It has ended otherwise, and failed once more as a message that is due again.
  state.retries.delete(1);
  expect(lane.choose()).toBeUndefined();
  state.retries.set(1, { attempt: 1, next: 0 });
  lane.retry(1);
  expect(lane.choose()).toMatchObject(retry);
});
