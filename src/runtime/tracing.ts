import { AsyncLocalStorage } from 'node:async_hooks';
import { type NewEvent } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';

/**
 * Traces (`docs/decisions.md#x133`): spans from a request to the messages that it causes, in any thread or process,
 * however much later. A span names its parent by a `traceparent` (W3C Trace Context), which events have in their
 * metadata. Nothing here knows who collects spans; without anybody there are none.
 */
export interface Span {
  /** `00-<trace>-<span>-<flags>`. */
  readonly traceparent: string;
  /** A span that is not ended is not sent. `isFailed`: shown as an error. */
  end(attributes?: SpanAttributes, isFailed?: boolean): void;
}

type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'internal' | 'producer' | 'consumer' | 'client';
  /** The `traceparent` of its parent; absent: it begins a trace. */
  readonly parent?: string | undefined;
  /** Never a token, the value of a key, a URL, or what somebody has posted. */
  readonly attributes?: SpanAttributes;
}

/** Undefined for a span that is not sampled: what follows from it has no spans either. */
type BeginSpan = (start: SpanStart) => Span | undefined;

let begin: BeginSpan | undefined;

/** From now on this thread has spans; undefined: no longer. */
export function traceBy(beginSpan: BeginSpan | undefined): void {
  begin = beginSpan;
}

export function isTracing(): boolean {
  return begin !== undefined;
}

/** Undefined unless somebody traces. */
export function startSpan(start: SpanStart): Span | undefined {
  return begin?.(start);
}

/** What the work in progress is a part of. */
const working = new AsyncLocalStorage<{ trace: string }>();

/** The `traceparent` of the span that the work in progress is a part of. */
export function currentTrace(): string | undefined {
  return begin === undefined ? undefined : working.getStore()?.trace;
}

/** Does some work, and what follows from it, as a part of the span with this `traceparent`, if there is one. */
export function within<Result>(trace: string | undefined, work: () => Result): Result {
  return trace === undefined || begin === undefined ? work() : working.run({ trace }, work);
}

/** Starts a part of the work in progress, which belongs to this part from now on. */
export function startStep(name: string): Span | undefined {
  const work = begin === undefined ? undefined : working.getStore();
  const step = work && startSpan({ name, kind: 'internal', parent: work.trace });
  if (work !== undefined && step !== undefined) work.trace = step.traceparent;
  return step;
}

/** Does some work as a span, which fails with it. */
export async function asSpan<Result>(
  start: SpanStart,
  work: (trace: string | undefined) => Promise<Result>,
): Promise<Result> {
  const span = startSpan(start);
  try {
    const result = await within(span?.traceparent, () => work(span?.traceparent));
    span?.end();
    return result;
  } catch (error) {
    span?.end({}, true);
    throw error;
  }
}

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A `traceparent` as a client has sent it; undefined if it is not valid. */
export function validTrace(sent: unknown): string | undefined {
  return typeof sent === 'string' && TRACEPARENT.test(sent) ? sent : undefined;
}

/** The metadata of an event that a span has caused. */
export function metaWith(trace: string): string {
  return JSON.stringify({ traceparent: trace });
}

/** In a string of JSON the quotes would be escaped. */
const IN_META = /"traceparent":"([^"]*)"/;

/** The `traceparent` in the metadata of an event. */
export function traceIn(meta: string): string | undefined {
  return meta === '{}' ? undefined : validTrace(IN_META.exec(meta)?.[1]);
}

/** Spans that follow from one batch of events, at most. */
const MOST_SPANS = 100;

/**
 * Spans of something that is done with some events together: one for each span that has caused some of them, as a part
 * of its trace. So who looks at one of these traces sees it.
 */
export function spansAfter(
  events: readonly { readonly meta: string }[],
  start: Omit<SpanStart, 'parent'>,
): readonly Span[] {
  if (!isTracing()) return [];
  const traces = new Set<string>();
  for (const { meta } of events) {
    const trace = traceIn(meta);
    if (trace !== undefined) traces.add(trace);
    if (traces.size === MOST_SPANS) break;
  }
  return [...traces].flatMap((parent) => startSpan({ ...start, parent }) ?? []);
}

/**
 * While somebody traces, an append that is a part of a span is a span, whose `traceparent` is in the metadata
 * of its events. Otherwise the log stays as it is. A repeated append is recognised by its ids, so by another
 * span it is still the same.
 */
export function traced<Log extends EventLog>(log: Log): Log {
  if (!isTracing()) return log;
  const append = log.append.bind(log);
  const appendTraced: EventLog['append'] = async (stream, expected, events) => {
    const parent = currentTrace();
    if (parent === undefined || events.length === 0) return await append(stream, expected, events);
    const [category] = stream.split('-', 1);
    const attributes = { 'affilog.stream.category': category, 'affilog.events': events.length };
    return await asSpan({ name: 'append', kind: 'producer', parent, attributes }, async (trace) =>
      append(stream, expected, trace === undefined ? events : causedBy(trace, events)),
    );
  };
  return Object.assign(log, { append: appendTraced });
}

/** Of more events, such as those of a load, only the last one names the span: each name takes 75 bytes for ever. */
const MOST_NAMED = 16;

/** The events with the span in their metadata, unless they have other metadata, or the append has no room for it. */
function causedBy(trace: string, events: readonly NewEvent[]): readonly NewEvent[] {
  const meta = metaWith(trace);
  const first = events.length > MOST_NAMED ? events.length - 1 : 0;
  const named = events.map((event, at) => (at < first || event.meta !== '{}' ? event : { ...event, meta }));
  const bytes = named.reduce((sum, one) => sum + one.type.length + Buffer.byteLength(one.data + one.meta), 0);
  return bytes > APPEND_LIMITS.bytes ? events : named;
}
