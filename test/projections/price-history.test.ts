import { type OfferEvent } from '../../projections/offer-events';
import { priceHistory } from '../../projections/price-history';
import { delisted, listed, project, repriced, revised } from '../projector/sample-events';

const day = (number: number) => `2026-04-${String(number).padStart(2, '0')}T00:00:00.000Z`;

describe('the history of a price (decisions P10)', () => {
  test.each([
    ['starts with the first listing', [listed('a', 100, {}, day(1))], [[100, day(1)]]],
    [
      'grows with every price change',
      [listed('a', 100, {}, day(1)), repriced('a', 90, day(2)), revised('a', 80, {}, day(3))],
      [
        [100, day(1)],
        [90, day(2)],
        [80, day(3)],
      ],
    ],
    [
      'does not grow when a revision keeps the price',
      [listed('a', 100, {}, day(1)), revised('a', 100, { name: 'New' }, day(2))],
      [[100, day(1)]],
    ],
    [
      'repeats a price that returns',
      [listed('a', 100, {}, day(1)), repriced('a', 90, day(2)), repriced('a', 100, day(3))],
      [
        [100, day(1)],
        [90, day(2)],
        [100, day(3)],
      ],
    ],
    ['survives delisting', [listed('a', 100, {}, day(1)), delisted('a', day(2))], [[100, day(1)]]],
    [
      'continues without an entry when the product is listed again at the same price',
      [listed('a', 100, {}, day(1)), delisted('a', day(2)), listed('a', 100, {}, day(3))],
      [[100, day(1)]],
    ],
    [
      'continues with an entry when it is listed again at another price',
      [listed('a', 100, {}, day(1)), delisted('a', day(2)), listed('a', 120, {}, day(3))],
      [
        [100, day(1)],
        [120, day(3)],
      ],
    ],
  ] as const)('%s', (_, events, prices) => {
    const described = project(priceHistory, events as readonly OfferEvent[]);
    const entries = described?.document.prices.map(([price, since]) => [price, since]);
    expect(entries).toEqual(prices.map(([price, at]) => [price, Date.parse(at)]));
  });

  test('records the position of the event of each price', () => {
    const events = [listed('a', 100), revised('a', 100, { name: 'New' }), repriced('a', 90)];
    const positions = project(priceHistory, events)?.document.prices.map(([, , position]) =>
      Number(position),
    );
    expect(positions).toEqual([1, 3]);
  });
});
