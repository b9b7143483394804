import { type Message } from '../../../src/notifications/delivery-events';
import { Lane } from '../../../src/notifications/scheduling/lane';
import { ReceiverState } from '../../../src/notifications/scheduling/receiver-state';

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
