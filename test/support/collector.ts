import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo } from 'node:net';
import { z } from 'zod';

/**
 * OTLP/JSON as `opentelemetry/proto/trace/v1/trace.proto` describes it: ids in hexadecimal, enums and times as numbers.
 */
const idOf = (bytes: number) => z.string().regex(new RegExp(`^(?!0+$)[0-9a-f]{${2 * bytes}}$`));
const count = z.uint32();
const nanoseconds = z.union([z.string().regex(/^[1-9]\d{0,18}$/), z.int().positive()]);
const scalar = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: z.union([z.int(), z.string().regex(/^-?\d+$/)]) }),
  z.strictObject({ doubleValue: z.number() }),
]);
const list = z.strictObject({ arrayValue: z.strictObject({ values: z.array(scalar) }) });
const attributes = z.array(z.strictObject({ key: z.string().min(1), value: z.union([scalar, list]) }));
const span = z.strictObject({
  traceId: idOf(16),
  spanId: idOf(8),
  traceState: z.string().optional(),
  parentSpanId: idOf(8).optional(),
  flags: count.optional(),
  name: z.string().min(1),
  kind: z.int().min(0).max(5),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes,
  droppedAttributesCount: count,
  // Nothing here has events or links.
  events: z.array(z.never()),
  droppedEventsCount: count,
  links: z.array(z.never()),
  droppedLinksCount: count,
  status: z.strictObject({ code: z.int().min(0).max(2), message: z.string().optional() }),
});
const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes, droppedAttributesCount: count }),
      schemaUrl: z.string().optional(),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({
            name: z.string(),
            version: z.string().optional(),
            attributes: attributes.optional(),
            droppedAttributesCount: count.optional(),
          }),
          schemaUrl: z.string().optional(),
          spans: z.array(span),
        }),
      ),
    }),
  ),
});

type SentSpan = z.infer<typeof span>;

/** The span of the client that begins a trace. */
export const CLIENT_SPAN = 'b2'.repeat(8);

/** An OTLP/HTTP collector at `/v1/traces`, and a receiver of messages at any other path. */
export class Collector extends EventEmitter {
  readonly spans: SentSpan[] = [];
  readonly bodies: string[] = [];
  readonly delivered: IncomingHttpHeaders[] = [];
  /** Why bodies are not as OTLP describes them. */
  readonly faults: string[] = [];
  private readonly server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      if (incoming.url === '/v1/traces')
        this.take(Buffer.concat(parts).toString(), incoming.headers['content-type']);
      else this.delivered.push(incoming.headers);
    });
  });

  async listen(): Promise<number> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  /** The spans of a trace with a name, once there are so many of them. */
  async find(traceId: string, name: string, least: number): Promise<readonly SentSpan[]> {
    for (;;) {
      if (this.faults.length > 0) throw new Error(this.faults.join('\n'));
      const found = this.spans.filter((one) => one.traceId === traceId && one.name === name);
      if (found.length >= least) return found;
      await once(this, 'spans');
    }
  }

  parentOf({ parentSpanId }: SentSpan): SentSpan | undefined {
    return this.spans.find(({ spanId }) => spanId === parentSpanId);
  }

  /** A span, its parent, the parent of that, up to what a client has sent. */
  chainOf(one: SentSpan): readonly string[] {
    const parent = this.parentOf(one);
    const others = parent === undefined ? [one.parentSpanId ?? 'nobody'] : this.chainOf(parent);
    return [one.name, ...others];
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private take(body: string, type = ''): void {
    this.bodies.push(body);
    const sent = request.safeParse(JSON.parse(body));
    if (!type.startsWith('application/json')) this.faults.push(type);
    if (!sent.success) this.faults.push(z.prettifyError(sent.error));
    for (const { scopeSpans } of sent.data?.resourceSpans ?? [])
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    this.emit('spans');
  }
}
