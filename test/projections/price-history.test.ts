import { type OfferEvent } from '../../projections/products';
import { priceHistory } from '../../projections/price-history';
import { Directory } from '../../src/network/directory';
import { positionOf } from '../../src/kernel/event';
import {
  delisted,
  FEED_ID,
  feedOf,
  inCurrency,
  listed,
  programIn,
  project,
  repriced,
  revised,
  streamFor,
} from '../projector/sample-events';

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

  test('has a new entry for an equal price in another currency, which the event records', () => {
    const events = [
      inCurrency(listed('a', 100), 'BGN'),
      inCurrency(revised('a', 100, { name: 'New' }), 'BGN'),
      inCurrency(repriced('a', 100), 'EUR'),
    ];
    const prices = project(priceHistory, events)?.document.prices;
    expect(prices?.map(([price, , position, currency]) => [price, Number(position), currency])).toEqual([
      [100, 1, 'BGN'],
      [100, 3, 'EUR'],
    ]);
  });

  test('has the currency that the program had at the position of an event that does not record it', () => {
    const directory = new Directory();
    const defined = [feedOf(FEED_ID, 1), programIn(1, 'BGN'), programIn(1, 'EUR')];
    // Products are at 1 to 5: the program turns to EUR before 4.
    for (const [at, event] of defined.entries()) {
      const stored = { id: '', revision: at, meta: '{}', type: event.type, data: JSON.stringify(event.data) };
      directory.apply({ ...stored, stream: streamFor(event), position: positionOf([0, 0, 4][at]!) });
    }
    const events = [
      listed('a', 100),
      repriced('a', 90),
      revised('a', 90, { name: 'New' }),
      revised('a', 90, { name: 'Newer' }),
      repriced('a', 46),
    ];
    const prices = project(priceHistory, events, directory)?.document.prices;
    expect(prices?.map(([price, , position, currency]) => [price, Number(position), currency])).toEqual([
      [100, 1, 'BGN'],
      [90, 2, 'BGN'],
      [90, 4, 'EUR'],
      [46, 5, 'EUR'],
    ]);
  });

  test('records the position of the event of each price', () => {
    const events = [listed('a', 100), revised('a', 100, { name: 'New' }), repriced('a', 90)];
    const positions = project(priceHistory, events)?.document.prices.map(([, , position]) =>
      Number(position),
    );
    expect(positions).toEqual([1, 3]);
  });
});
