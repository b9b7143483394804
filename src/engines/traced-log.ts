import { type NewEvent } from '../kernel/event';
import { APPEND_LIMITS, type EventLog } from '../kernel/event-log';
import { asSpan, currentTrace, isTracing, metaWith } from '../runtime/tracing';

/**
 * While somebody traces, an append that is a part of a span is a span, whose `traceparent` is in the metadata of its events.
 * Otherwise the log stays as it is. A repeated append is recognised by its ids, so by another span it is still the same.
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
