import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { listParked, type Parked, type EventSkipped, skippedEvents } from '../../src/projector/parked';
import { products } from '../../projections/products';
import { type Projection } from '../../src/projector/projection';
import { rebuild } from '../../src/projector/rebuild';
import { toNewEvent } from '../../src/kernel/decider';
import { run } from '../cli/run';
import { parkedCount } from '../../src/operations/parked';
import { parkedEvents, Parking } from '../../src/runtime/parked-events';
import { offerId } from '../../src/domain/products/offer';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { defined, FEED_ID, listed, mapped, repriced } from '../projector/sample-events';
import { World } from '../projector/world';

const AT = '2026-03-01T12:00:00.000Z';

let world: World;
let isFixed: boolean;
beforeEach(async () => {
  isFixed = false;
  world = await World.open();
});
afterEach(() => world.end());

const a = offerId(FEED_ID, 'a');
const b = offerId(FEED_ID, 'b');

/** The products, projected by code that fails at a price of 13 and finds no document id at a price of 14. */
const picky: Projection = {
  ...(products as Projection),
  idOf(event) {
    if ((event.data as { price?: number }).price === 14) throw new Error('fourteen');
    return products.idOf(event as never);
  },
  fold(document, event) {
    if (!isFixed && (event.data as { price?: number }).price === 13) throw new Error('thirteen');
    return products.fold(document as never, event as never);
  },
};

const parked = (...args: readonly string[]) => run(['parked', ...args, '--data-dir', world.dataDir]);

/** Starts a projector and appends an event that it cannot fold. */
async function startProjector(): Promise<void> {
  await world.runner({}, [picky]).start();
  await world.emit(listed('a', 1), repriced('a', 13), listed('b', 2), repriced('a', 3));
  await world.settled([picky]);
}

async function untilNothingParked(): Promise<void> {
  while ((await listParked(world.store)).length > 0) await turn();
}

test('nothing is parked before anything is projected; an empty log is named, since DATA_DIR may be mistyped', async () => {
  const err = `affilog: the event log is empty: DATA_DIR is ${world.dataDir}\n`;
  expect(await parked('list')).toEqual({ code: 0, out: 'nothing is parked\n', err });
  expect(await parkedCount(world.store)).toBe(0);
});

test('parked documents are listed with what they are and what to do, counted, and shown in detail (decisions X149)', async () => {
  await startProjector();
  const line = [
    `products ${a}: Error: thirteen`,
    '    product a of feed 22 (Studio headphones)',
    `    \`affilog parked retry products ${a}\` retries it, as a new version of the program does by itself; ` +
      `\`affilog parked skip products ${a} --reason TEXT\` leaves the event out for good`,
    '',
  ].join('\n');
  expect(await parked('list')).toEqual({ code: 0, out: line, err: '' });
  expect(await parked('list', 'products')).toMatchObject({ out: line });
  expect(await parked('list', 'price-history')).toMatchObject({ out: 'nothing is parked\n' });
  expect(await parkedCount(world.store)).toBe(1);
  const [event] = (await eventsOf(`feed-${FEED_ID}`)).slice(1);
  expect(JSON.parse((await parked('show', 'products', a)).out)).toMatchObject({
    what: 'product a of feed 22 (Studio headphones)',
    next: expect.stringContaining(`affilog parked skip products ${a}`),
    document: a,
    stream: `feed-${FEED_ID}`,
    event: event?.id,
    position: event?.position,
    error: expect.stringContaining('Error: thirteen\n    at '),
  });
});

test('a requested retry is carried out by the running projector', async () => {
  await startProjector();
  isFixed = true;
  expect(await parked('retry', 'products', a)).toMatchObject({
    code: 0,
    out: 'retry requested for 1 documents and events\n',
  });
  await untilNothingParked();
  expect(await world.documents('products')).toMatchObject({ [a]: { price: 3 } });
  expect(await parked('retry')).toMatchObject({ out: 'retry requested for 0 documents and events\n' });
});

test('a skipped event is excluded, also from a rebuild, and the log records who skipped it and why (decisions X47)', async () => {
  await startProjector();
  const { event } = JSON.parse((await parked('show', 'products', a)).out) as Required<Parked>;
  const skipped = await parked('skip', 'products', a, '--reason', 'a price that never was');
  expect(skipped).toMatchObject({ code: 0, err: '', out: expect.stringContaining(event) });
  await untilNothingParked();
  expect(await world.documents('products')).toMatchObject({ [a]: { price: 3 }, [b]: { price: 2 } });

  const [rebuilt] = await rebuild(world.log, world.store, [picky], {
    clock: SYSTEM_CLOCK,
    owner: 'operator',
    code: 'test',
  });
  expect(rebuilt?.comparison?.differing).toBe(0);
  expect(await world.documents('products')).toMatchObject({ [a]: { price: 3 }, [b]: { price: 2 } });
  const [saved] = await eventsOf('projection-products');
  expect([saved?.type, JSON.parse(saved?.data ?? '')]).toMatchObject([
    'EventSkipped',
    {
      event,
      document: a,
      reason: 'a price that never was',
      by: expect.stringMatching(/./),
      at: expect.any(String),
    },
  ]);
});

test('a document that failed at a directory change has no event to skip', async () => {
  const mappedOnly: Projection = {
    ...picky,
    describe(document, id, directory) {
      if (directory.category('11') !== undefined) throw new Error('eleven');
      return products.describe(document as never, id, directory);
    },
  };
  await world.runner({}, [mappedOnly]).start();
  await world.emit(listed('a'), mapped(FEED_ID, 'Audio', '11'));
  await world.settled([mappedOnly]);
  await world.emit(defined('11', 'Audio'));
  await world.settled([mappedOnly]);
  expect(await parked('skip', 'products', a, '--reason', 'none')).toMatchObject({
    code: 1,
    err: expect.stringContaining('failed at a change of the directory'),
  });
});

test('stored EventSkipped events (test/golden) are still honoured', async () => {
  const { type, data } = JSON.parse(
    await readFile(join(__dirname, '../golden/EventSkipped.json'), 'utf8'),
  ) as EventSkipped;
  await world.append('projection-products', toNewEvent({ type, data }, randomUUID()));
  expect(await skippedEvents(world.log, 'products')).toEqual(new Set([data.event]));
});

test('an event that names no document can be skipped too', async () => {
  await world.runner({}, [picky]).start();
  const position = await world.emit(listed('a', 14));
  await world.emit(listed('b'));
  await world.settled([picky]);
  const id = `feed-${FEED_ID}@${position}`;
  expect(await parked('list')).toMatchObject({
    out: expect.stringContaining(
      `products ${id}: Error: fourteen\n    product a of feed 22 (Studio headphones)\n`,
    ),
  });
  expect(await parked('skip', 'products', id, '--reason', 'of no product')).toMatchObject({ code: 0 });
  await untilNothingParked();
  expect(Object.keys(await world.documents('products'))).toEqual([b]);
});

test.each([
  [
    ['show', 'products', 'x'],
    1,
    'affilog: x is not parked in products: "affilog parked list" shows what is\n',
  ],
  [
    ['retry', 'products', 'x'],
    1,
    'affilog: x is not parked in products: "affilog parked list" shows what is\n',
  ],
  [
    ['skip', 'products', 'x', '--reason', 'y'],
    1,
    'affilog: x is not parked in products: "affilog parked list" shows what is\n',
  ],
  [['skip', 'all', 'x', '--reason', 'y'], 1, 'affilog: x needs the name of its projection in place of all\n'],
  [['list', 'offers'], 2, 'affilog: offers: expected the name of a projection: products, price-history,'],
  [
    ['skip', 'products', 'x', '--reason', ' '],
    2,
    'affilog: --reason: expected a text of 1 to 1000 characters\n',
  ],
])('parked %j is refused with a message on stderr and exit code %i', async (args, code, err) => {
  expect(await parked(...args)).toEqual({ code, out: '', err: expect.stringContaining(err) });
});

/** An event that the matcher could not use. */
async function parkTransaction(): Promise<void> {
  await world.append('transaction-x', toNewEvent({ type: 'TransactionTracked', data: {} }, randomUUID()));
  for await (const [event] of world.log.readStream('transaction-x')) {
    if (event === undefined) throw new Error('no event');
    await new Parking(SYSTEM_CLOCK, world.log, 'matcher', 'a').park(event, {
      error: new TypeError('no data'),
      at: AT,
    });
  }
}

test('an event that the matcher cannot use is listed, shown, retried and given up (decisions X103)', async () => {
  await parkTransaction();
  const list = {
    code: 0,
    out: [
      'matcher transaction-x@0: TypeError: no data',
      '    transaction x',
      '    `affilog parked retry matcher transaction-x@0` retries it, as a new version of the program does by itself; ' +
        '`affilog parked skip matcher transaction-x@0 --reason TEXT` leaves the event out for good',
      '',
    ].join('\n'),
    err: '',
  };
  expect(await parked('list')).toEqual(list);
  expect(await parked('list', 'matcher')).toEqual(list);
  expect(await parked('list', 'products')).toMatchObject({ out: 'nothing is parked\n' });
  expect(JSON.parse((await parked('show', 'matcher', 'transaction-x@0')).out)).toMatchObject({
    type: 'TransactionTracked',
    stream: 'transaction-x',
    revision: 0,
    code: 'a',
    at: AT,
  });
  expect(await parked('retry', 'matcher', 'transaction-x@0')).toMatchObject({
    code: 0,
    out: 'retry requested for 1 documents and events\n',
  });
  expect(await parkedEvents(SYSTEM_CLOCK, world.log, 'matcher')).toEqual([]);
});

test('an event that was given up is parked no more, whatever code fails at it (decisions X103)', async () => {
  await parkTransaction();
  const skipped = await parked('skip', 'matcher', 'transaction-x@0', '--reason', 'of a test');
  expect(skipped).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^skipped event \S+ of transaction-x\n$/),
  });
  for await (const [event] of world.log.readStream('transaction-x'))
    expect(
      await new Parking(SYSTEM_CLOCK, world.log, 'matcher', 'b').park(event!, { error: 'e', at: AT }),
    ).toBe(false);
  expect(await parked('list')).toMatchObject({ out: 'nothing is parked\n' });
});

test('an event that the directory cannot use is listed, and tried again by each process that starts (decisions X103)', async () => {
  await world.append('program-7', toNewEvent({ type: 'ProgramDefined', data: {} }, randomUUID()));
  await world.emit(defined('11', 'Audio'));
  expect(await parked('list')).toEqual({
    code: 0,
    out: [
      'directory program-7@0: ProgramDefined without a usable id: another program has written it',
      '    program 7',
      '    import what should be true with `affilog network import FILE`: every process ignores this event',
      '',
    ].join('\n'),
    err: '',
  });
  expect(await parked('show', 'directory', 'program-7@0')).toMatchObject({ code: 0 });
  expect(await parked('retry')).toMatchObject({ out: 'retry requested for 0 documents and events\n' });
  expect(await parked('retry', 'directory')).toMatchObject({
    code: 1,
    // One line, without a stack trace.
    err: expect.stringMatching(/^affilog: events .* tried again by each process when it starts: .*\n$/),
  });
  expect(await parked('skip', 'directory', 'program-7@0', '--reason', 'x')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is ignored anyway'),
  });
});

async function eventsOf(stream: string) {
  const events = [];
  for await (const batch of world.log.readStream(stream)) events.push(...batch);
  return events;
}
