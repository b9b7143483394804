import { type RecordedEvent } from '../../kernel/event';
import { type CountedLog } from '../../runtime/metrics';

/** Start the names of streams that share a server with those of the domain: of the delivery log, and of leases. */
const DELIVERIES = 'deliveries.';
const LEASES = 'leases.';

/** Starts the names of streams that index the log of the domain, and belong to no log. */
export const INDEX = 'index.';

/** The streams of a server that belong to one log, which reads no others. Those of the server start with `$`. */
export class Namespace {
  static readonly domain = new Namespace('events', '', [DELIVERIES, LEASES, INDEX]);
  static readonly deliveries = new Namespace('deliveries', DELIVERIES);
  static readonly leases = new Namespace('leases', LEASES);

  private constructor(
    readonly log: CountedLog,
    readonly prefix: string,
    private readonly excluded: readonly string[] = [],
  ) {}

  /** The name in the server of a stream of this log. */
  toServer(stream: string): string {
    return this.prefix + stream;
  }

  /** The name in this log of a stream of the server; undefined if the stream does not belong to this log. */
  toLog(name: string): RecordedEvent['stream'] | undefined {
    const isForeign = this.excluded.some((prefix) => name.startsWith(prefix));
    if (name.startsWith('$') || isForeign || !name.startsWith(this.prefix)) return undefined;
    return name.slice(this.prefix.length);
  }

  /** A regular expression for the names in the server of all streams, or of those with one of these prefixes. */
  expression(prefixes: readonly string[] | undefined): string {
    // Not the protocol's own prefixes: the server compares them by the rules of its culture, so "p-" would not match a
    // name that continues with a combining mark.
    if (prefixes !== undefined)
      return `^${escapeRegExp(this.prefix)}(?:${prefixes.map(escapeRegExp).join('|')})`;
    const others = ['$', ...this.excluded].map(escapeRegExp);
    return this.prefix === '' ? `^(?!${others.join('|')})` : `^${escapeRegExp(this.prefix)}`;
  }
}

/** Escapes a text for a regular expression, in the syntax shared by .NET and JavaScript. */
function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
}
