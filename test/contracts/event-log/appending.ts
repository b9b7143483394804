import { type NewEvent, NO_STREAM } from '../../../src/kernel/event';
import { APPEND_LIMITS } from '../../../src/kernel/event-log';
import { appendAtEnd, fill, idsOf, newCategory, newEvent, newEvents, streamOf, type Subject } from './events';

// By name: an engine may run from compiled code, whose classes are others.
const REFUSED = { name: 'UnacceptableAppend' };

export function appending({ log, reopen }: Subject): void {
  let stream: string;
  beforeEach(() => {
    stream = `${newCategory()}-1`;
  });

  test('events in order, numbered from 0, and returns the position of the last one', async () => {
    const events = newEvents(3);
    const appended = await log().append(stream, NO_STREAM, events);
    const more = await log().append(stream, appended.revision, [newEvent()]);

    const recorded = await streamOf(log(), stream);
    expect(idsOf(recorded.slice(0, 3))).toEqual(idsOf(events));
    expect(recorded.map((event) => event.revision)).toEqual([0, 1, 2, 3]);
    expect(appended).toEqual({ revision: 2, position: recorded[2]!.position });
    expect(more).toEqual({ revision: 3, position: recorded[3]!.position });
  });

  test.each([
    ['before the end', 0],
    ['beyond the end', 3],
    ['no stream, but it exists', NO_STREAM],
  ])('nothing on a conflict: expected %s', async (_, expected) => {
    await fill(log(), stream, 2);

    const refused = log().append(stream, expected, newEvents(2));

    await expect(refused).rejects.toMatchObject({ name: 'RevisionConflict', stream, expected, actual: 1 });
    expect(await streamOf(log(), stream)).toHaveLength(2);
  });

  test('nothing to a missing stream that was expected to have events', async () => {
    await expect(log().append(stream, 0, [newEvent()])).rejects.toMatchObject({
      name: 'RevisionConflict',
      actual: NO_STREAM,
    });
    expect(await streamOf(log(), stream)).toEqual([]);
  });

  test('all of a batch or nothing: readers never see a part of it', async () => {
    const seen: number[] = [];
    const watch = (async () => {
      while ((seen.at(-1) ?? 0) < 100) seen.push((await streamOf(log(), stream)).length);
    })();
    for (let at = 0; at < 100; at += 5) await log().append(stream, at - 1, newEvents(5));
    await watch;

    expect(seen.filter((length) => length % 5 !== 0)).toEqual([]);
  });

  test('for 64 writers of one stream that retry until they succeed, without gaps', async () => {
    const events = newEvents(64);
    await Promise.all(events.map((event) => appendAtEnd(log(), stream, event)));

    const recorded = await streamOf(log(), stream);
    expect(recorded.map((event) => event.revision)).toEqual([...events.keys()]);
    expect(new Set(idsOf(recorded))).toEqual(new Set(idsOf(events)));
  });

  test('exactly one of 64 appends at the same revision', async () => {
    const outcomes = await Promise.allSettled(
      newEvents(64).map((event) => log().append(stream, NO_STREAM, [event])),
    );

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await streamOf(log(), stream)).toHaveLength(1);
  });

  test('to many streams concurrently, where a conflict of one does not affect the others', async () => {
    const category = newCategory();
    const streams = Array.from({ length: 64 }, (_, n) => `${category}-${n}`);
    const outcomes = await Promise.allSettled(
      streams.map((name, n) => log().append(name, n % 4 === 0 ? 7 : NO_STREAM, newEvents(3))),
    );

    for (const [n, outcome] of outcomes.entries()) {
      expect(outcome.status).toBe(n % 4 === 0 ? 'rejected' : 'fulfilled');
      expect(await streamOf(log(), streams[n]!)).toHaveLength(n % 4 === 0 ? 0 : 3);
    }
  });

  test('events that are still there after a restart', async () => {
    const events = await fill(log(), stream, 700);
    const before = await streamOf(log(), stream);
    expect(idsOf(before)).toEqual(idsOf(events));

    expect(await streamOf(await reopen(), stream)).toEqual(before);
  });

  test('up to the limits of events and bytes, counted in UTF-8', async () => {
    await log().append(stream, NO_STREAM, newEvents(APPEND_LIMITS.events));
    const full = eventOfBytes(APPEND_LIMITS.bytes);
    await log().append(`${stream}0`, NO_STREAM, [full]);

    const [recorded] = await streamOf(log(), `${stream}0`);
    expect(recorded!.data === full.data).toBe(true);
  });

  test.each<[string, () => readonly NewEvent[]]>([
    ['too many events', () => newEvents(APPEND_LIMITS.events + 1)],
    ['too many bytes', () => [eventOfBytes(APPEND_LIMITS.bytes + 1)]],
    ['an id that is not a UUID', () => [newEvent(), { ...newEvent(), id: 'one' }]],
    ['an id in capitals', () => [{ ...newEvent(), id: newEvent().id.replace(/^./, 'A') }]],
    ['no type', () => [newEvent(), { ...newEvent(), type: '' }]],
    ['a type of the server engine', () => [{ ...newEvent(), type: '$metadata' }]],
    ['data that is not JSON', () => [newEvent(), { ...newEvent(), data: '' }]],
    ['data that is not an object', () => [{ ...newEvent(), data: '[]' }]],
    ['meta that is not an object', () => [{ ...newEvent(), meta: 'null' }]],
    ['U+0000', () => [{ ...newEvent(), data: '{"a":"\0"}' }]],
    ['a lone surrogate', () => [{ ...newEvent(), data: '{"a":"\ud83d"}' }]],
  ])('nothing of %s', async (_, events) => {
    await expect(log().append(stream, NO_STREAM, events())).rejects.toMatchObject(REFUSED);
    expect(await streamOf(log(), stream)).toEqual([]);
  });

  test.each([[''], ['$ce-feed'], ['feed\0-1']])('nothing to a stream named %j', async (name) => {
    await expect(log().append(name, NO_STREAM, [newEvent()])).rejects.toMatchObject(REFUSED);
  });

  test.each([[-2], [0.5], [NaN]])('nothing at a revision %p', async (expected) => {
    await expect(log().append(stream, expected, [newEvent()])).rejects.toMatchObject(REFUSED);
  });
}

/** An event of exactly this size, in characters of two bytes. */
function eventOfBytes(bytes: number): NewEvent {
  const event = newEvent({ text: '' });
  const left = bytes - event.type.length - event.data.length - event.meta.length;
  return { ...event, data: `{"text":"${'é'.repeat(left / 2)}${'e'.repeat(left % 2)}"}` };
}
