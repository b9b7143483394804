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

describe('A lane sends a message that is retried and asked for', () => {
  const message = { id: 'msg_1', subject: 't1', request: { method: 'GET', url: 'https://a.example/' } };
  function asked({ isDue }: { readonly isDue: boolean }) {
    const state = new ReceiverState();
    state.retries.set(1, { attempt: 1, next: 0 });
    const lane = new Lane(state, () => message as Message);
    if (isDue) lane.retry(1);
    state.takeRedelivery(10, 1);
    lane.redeliver(10);
    const start = (): Sendable => {
      const choice = lane.choose();
      if (choice === undefined || 'toLoad' in choice) throw new Error('nothing can be sent');
      lane.start(choice);
      return choice;
    };
    return { state, lane, start };
  }

  test('once, as the retry, if that is due (decisions N17)', () => {
    const { state, lane, start } = asked({ isDue: true });
    const retry = start();
    expect(retry).toMatchObject({ kind: 'retry', revision: 1, redelivery: 10 });
    expect(lane.choose()).toBeUndefined();
    // It was no attempt: it is made again.
    lane.end(retry, undefined);
    expect(start()).toEqual(retry);
    state.redeliveries.delete(10);
    lane.end(retry, 'failed');
    expect(lane.choose()).toBeUndefined();
  });

  test('before its retry, which waits until that has ended (decisions N17)', () => {
    const { state, lane, start } = asked({ isDue: false });
    const redelivery = start();
    expect(redelivery).toMatchObject({ kind: 'redelivery', revision: 1, redelivery: 10 });
    lane.retry(1);
    expect(lane.choose()).toBeUndefined();
    state.redeliveries.delete(10);
    lane.end(redelivery, 'failed');
    expect(lane.choose()).toMatchObject({ kind: 'retry', revision: 1, redelivery: undefined });
    state.retries.delete(1);
    expect(lane.choose()).toBeUndefined();
  });

  test('not again if a retry that was being sent has delivered it (decisions N17)', () => {
    const { state, lane, start } = asked({ isDue: true });
    state.redeliveries.delete(10);
    const retry = start();
    for (const redelivery of [11, 12]) {
      state.takeRedelivery(redelivery, 1);
      lane.redeliver(redelivery);
    }
    expect(lane.askedFor(1)).toBe(11);
    state.redeliveries.delete(11);
    state.retries.delete(1);
    lane.end(retry, 'delivered');
    // An operator has asked twice.
    expect(lane.choose()).toMatchObject({ kind: 'redelivery', revision: 1, redelivery: 12 });
  });
});
