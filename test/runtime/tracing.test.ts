import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import { callsOver, serveCalls } from '../../src/runtime/calls';
import {
  currentTrace,
  metaWith,
  type Span,
  type SpanStart,
  spansAfter,
  startStep,
  traceBy,
  traceIn,
  validTrace,
  within,
} from '../../src/runtime/tracing';

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

const started: SpanStart[] = [];
beforeEach(() => {
  started.length = 0;
  traceBy((start): Span => {
    started.push(start);
    return { traceparent: `00-${'a'.repeat(32)}-${'c'.repeat(16)}-01`, end: () => undefined };
  });
});
afterEach(() => traceBy(undefined));

describe('a traceparent (decisions X133)', () => {
  test.each([TRACE, `00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-00`])('%s is valid', (sent) => {
    expect(validTrace(sent)).toBe(sent);
  });

  test.each([
    ['none', undefined],
    ['several', [TRACE, TRACE]],
    ['of another version', TRACE.replace('00-', '01-')],
    ['longer', `${TRACE}-x`],
    ['with a line', `${TRACE}\n`],
    ['in capitals', TRACE.toUpperCase()],
    ['of no trace', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`],
    ['of no span', `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`],
  ])('that is %s is not valid', (_, sent) => {
    expect(validTrace(sent)).toBeUndefined();
  });

  test.each([
    [metaWith(TRACE), TRACE],
    [`{"content":"1","traceparent":"${TRACE}"}`, TRACE],
    ['{}', undefined],
    ['{"traceparent":"x"}', undefined],
    [JSON.stringify({ text: `"traceparent":"${TRACE}"` }), undefined],
  ])('is read from the metadata %s', (meta, trace) => {
    expect(traceIn(meta)).toBe(trace);
  });
});

describe('work that is a part of a span', () => {
  test('has its trace, until a step of it begins', async () => {
    await within(TRACE, async () => {
      await Promise.resolve();
      expect(currentTrace()).toBe(TRACE);
      const step = startStep('step');
      await Promise.resolve();
      expect(started).toEqual([{ name: 'step', kind: 'internal', parent: TRACE }]);
      expect(currentTrace()).toBe(step?.traceparent);
    });
    expect(currentTrace()).toBeUndefined();
    expect(startStep('no part of anything')).toBeUndefined();
  });

  test('takes it to the threads that it calls', async () => {
    const { port1, port2 } = new MessageChannel();
    serveCalls(port2, { current: async () => currentTrace() });
    const calls = callsOver<{ current(): Promise<string | undefined> }>(port1);
    expect(await within(TRACE, () => calls.current())).toBe(TRACE);
    expect(await calls.current()).toBeUndefined();
    port1.close();
    await once(port2, 'close');
  });

  test('has none while nobody traces', () => {
    traceBy(undefined);
    expect(within(TRACE, () => [currentTrace(), startStep('step')])).toEqual([undefined, undefined]);
    expect(spansAfter([{ meta: metaWith(TRACE) }], { name: 'project', kind: 'consumer' })).toEqual([]);
  });
});

test('what is done with many events is a part of each trace that has caused some, up to a hundred', () => {
  const traceOf = (n: number): string => `00-${'a'.repeat(32)}-${String(1 + n).padStart(16, '0')}-01`;
  const events = Array.from({ length: 400 }, (_, n) => ({
    meta: n % 2 === 0 ? metaWith(traceOf(n >> 2)) : '{}',
  }));
  const start = { name: 'project', kind: 'consumer' } as const;
  expect(spansAfter(events.slice(0, 8), start)).toHaveLength(2);
  expect(started).toEqual([0, 1].map((n) => ({ ...start, parent: traceOf(n) })));
  expect(spansAfter(events, start)).toHaveLength(100);
});
