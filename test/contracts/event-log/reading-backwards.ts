import { NO_STREAM, type Position, type RecordedEvent } from '../../../src/kernel/event';
import { gather, newCategory, newEvents, type Subject } from './events';

export function readingBackwards({ log }: Subject): void {
  let start: Position;
  let events: readonly RecordedEvent[];

  beforeAll(async () => {
    start = await log().head();
    const category = newCategory();
    for (const [n, size] of [1, 3, 500, 2, 1, 7].entries())
      await log().append(`${category}-${n}`, NO_STREAM, newEvents(size));
    events = (await gather(log().readAll({ after: start }))).events;
  });

  test.each([1, 7, 1_000])('from the end, newest first, in batches of %p', async (batchSize) => {
    const read = await takeBack(undefined, events.length, batchSize);
    expect(read).toEqual(events.toReversed());
  });

  test.each([0, 1, 6, 7, 8, 11, 300, 512, 513])('from before the last but %p', async (back) => {
    const { position } = events.at(-1 - back)!;
    expect(await takeBack(position, 20, 20)).toEqual(
      [...(await earlier()), ...events]
        .slice(0, -1 - back)
        .slice(-20)
        .toReversed(),
    );
  });

  test('up to the first event, and nothing before that', async () => {
    const all: RecordedEvent[] = [];
    for await (const batch of log().readAllBackwards()) all.push(...batch);
    const batches: (readonly RecordedEvent[])[] = [];
    for await (const batch of log().readAllBackwards({ before: all.at(-1)!.position })) batches.push(batch);

    expect(all.slice(0, events.length)).toEqual(events.toReversed());
    expect(batches).toEqual([]);
  });

  /** What the log held before these tests, as far as it can be reached by them. */
  async function earlier(): Promise<readonly RecordedEvent[]> {
    const { position } = events[0]!;
    return (await takeBack(position, 20, 20)).toReversed();
  }

  async function takeBack(
    before: Position | undefined,
    count: number,
    batchSize: number,
  ): Promise<readonly RecordedEvent[]> {
    const taken: RecordedEvent[] = [];
    for await (const batch of log().readAllBackwards({ ...(before && { before }), batchSize })) {
      expect(batch.length).toBeLessThanOrEqual(batchSize);
      taken.push(...batch);
      if (taken.length >= count) break;
    }
    return taken.slice(0, count);
  }
}
