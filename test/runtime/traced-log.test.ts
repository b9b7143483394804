import { randomUUID } from 'node:crypto';
import { type NewEvent, NO_STREAM } from '../../src/kernel/event';
import { APPEND_LIMITS } from '../../src/kernel/event-log';
import { type SpanStart, startSpan, traceBy, traceIn, within, traced } from '../../src/runtime/tracing';
import { eventsOf, withLog } from '../support/temporary-log';

const CAUSE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

interface Ended extends SpanStart {
  readonly traceparent: string;
  readonly isFailed: boolean;
}

/** Those that have ended. */
const spans: Ended[] = [];
beforeEach(() => {
  spans.length = 0;
  let last = 0;
  traceBy((start) => {
    last += 1;
    const traceparent = `00-${'a'.repeat(32)}-${String(last).padStart(16, '0')}-01`;
    return { traceparent, end: (_, isFailed = false) => spans.push({ ...start, traceparent, isFailed }) };
  });
});
afterEach(() => traceBy(undefined));

const newEvent = (bytes = 0, meta = '{}'): NewEvent => ({
  id: randomUUID(),
  type: 'Happened',
  data: JSON.stringify({ text: 'x'.repeat(bytes) }),
  meta,
});

/** The spans that the events of an append name, which is a part of a span. */
const namedBy = (events: readonly NewEvent[]) =>
  withLog(async (log) => {
    await within(CAUSE, () => traced(log).append('tried-1', NO_STREAM, events));
    return (await eventsOf(log)).map(({ meta }) => traceIn(meta));
  });

describe('a log that is traced (decisions X133)', () => {
  test('has a span for an append that is a part of one, and its events name it', async () => {
    expect(await namedBy([newEvent(), newEvent()])).toEqual([spans[0]?.traceparent, spans[0]?.traceparent]);
    expect(spans).toMatchObject([
      {
        name: 'append',
        kind: 'producer',
        parent: CAUSE,
        attributes: { 'affilog.stream.category': 'tried', 'affilog.events': 2 },
        isFailed: false,
      },
    ]);
  });

  test('leaves other appends as they are', async () => {
    await withLog(async (log) => {
      await traced(log).append('tried-1', NO_STREAM, [newEvent()]);
      await within(CAUSE, () => log.append('tried-1', 0, []));
      expect((await eventsOf(log)).map(({ meta }) => meta)).toEqual(['{}']);
    });
    expect(spans).toEqual([]);
  });

  test('stays as it is while nobody traces', async () => {
    traceBy(undefined);
    await withLog(async (log) => {
      expect([traced(log) === log, Object.hasOwn(log, 'append')]).toEqual([true, false]);
      await within(CAUSE, () => log.append('tried-1', NO_STREAM, [newEvent()]));
      expect((await eventsOf(log)).map(({ meta }) => meta)).toEqual(['{}']);
    });
  });

  test('knows an append that is repeated by another span', async () => {
    await withLog(async (log) => {
      traced(log);
      const events = [newEvent(), newEvent()];
      const first = await within(CAUSE, () => log.append('tried-1', NO_STREAM, events));
      expect(await within(CAUSE, () => log.append('tried-1', NO_STREAM, events))).toEqual(first);
      expect((await eventsOf(log)).map(({ meta }) => traceIn(meta))).toEqual(
        events.map(() => spans[0]?.traceparent),
      );
    });
    expect(spans).toHaveLength(2);
  });

  test('names the span in the last one of many events, and in none that has other metadata', async () => {
    const many = await namedBy(Array.from({ length: 17 }, () => newEvent()));
    expect(many.filter((trace) => trace !== undefined)).toEqual([spans[0]?.traceparent]);
    expect(many.at(-1)).toBe(spans[0]?.traceparent);
    expect(await namedBy([newEvent(0, '{"content":"1"}'), newEvent()])).toEqual([
      undefined,
      spans[1]?.traceparent,
    ]);
  });

  test('names it nowhere in an append that has no room for it', async () => {
    const beside = Buffer.byteLength(`Happened${newEvent().data}{}`);
    expect(await namedBy([newEvent(APPEND_LIMITS.bytes - beside)])).toEqual([undefined]);
    expect(await namedBy([newEvent(APPEND_LIMITS.bytes - beside - 100)])).toEqual([spans[1]?.traceparent]);
  });

  test('shows an append that fails, and what is not sampled has no spans', async () => {
    await withLog(async (log) => {
      traced(log);
      const append = within(CAUSE, () => log.append('tried-1', 7, [newEvent()]));
      await expect(append).rejects.toMatchObject({ name: 'RevisionConflict' });
      expect(spans).toMatchObject([{ name: 'append', isFailed: true }]);
      traceBy(() => undefined);
      expect(startSpan({ name: 'x', kind: 'server' })).toBeUndefined();
      await within(CAUSE, () => log.append('tried-1', NO_STREAM, [newEvent()]));
      expect((await eventsOf(log)).map(({ meta }) => meta)).toEqual(['{}']);
    });
  });
});
