import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import type * as Api from '@opentelemetry/api';
import { optionalDependencies, version } from '../../package.json';
import { codeOf } from '../kernel/values';
import { SYSTEM_CLOCK } from '../runtime/clock';
import { type Report } from '../runtime/failure-report';
import { traceBy } from '../runtime/tracing';
import { atMost } from '../runtime/unavailable';
import { type Config, InvalidSetting } from '../settings/config';

/** Environment data, which threads inherit. */
const ENVIRONMENT = 'affilog.traces';

/** How long the end of a thread waits for the collector (ms). */
const FLUSH_MS = 2_000;

type EndTraces = () => Promise<void>;

/**
 * Traces this process and the threads that it starts from now on. Returns a function that flushes and stops the traces
 * of this thread. Raises `InvalidSetting` if OpenTelemetry is not installed.
 */
export async function startTraces({ traces }: Pick<Config, 'traces'>, report: Report): Promise<EndTraces> {
  setEnvironmentData(ENVIRONMENT, traces);
  return await joinTraces('main', report);
}

/** Traces this thread if its process is traced. Returns a function that flushes and stops its traces. */
export async function joinTraces(thread: string, report: Report): Promise<EndTraces> {
  const traces = getEnvironmentData(ENVIRONMENT);
  return typeof traces === 'string' ? await traceTo(traces, thread, report) : async () => undefined;
}

/** What is used of the optional packages: the program can be built and run without them. */
interface Telemetry extends Pick<typeof Api, 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode' | 'trace'> {
  readonly envDetector: object;
  readonly detectResources: (options: { readonly detectors: readonly object[] }) => object;
  readonly resourceFromAttributes: (attributes: Api.Attributes) => { merge(others: object): object };
  readonly OTLPTraceExporter: new (options: { readonly url?: string }) => SpanExporter;
  readonly BatchSpanProcessor: new (exporter: SpanExporter) => object;
  readonly BasicTracerProvider: new (options: {
    readonly resource: object;
    readonly spanProcessors: readonly object[];
  }) => Api.TracerProvider & { shutdown(): Promise<void> };
}

interface SpanExporter {
  export(spans: readonly object[], done: (result: { readonly error?: Error }) => void): void;
}

const PACKAGES = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('@opentelemetry/'));

async function load(): Promise<Telemetry> {
  try {
    const modules = await Promise.all(PACKAGES.map(async ([name]) => (await import(name)) as object));
    return Object.assign({}, ...modules) as Telemetry;
  } catch (error) {
    const reason = codeOf(error)?.endsWith('MODULE_NOT_FOUND') === true ? '' : ` (${String(error)})`;
    const packages = PACKAGES.map((one) => one.join('@')).join(' ');
    throw new InvalidSetting(
      `TRACES: OpenTelemetry is not installed${reason}: run \`npm install --no-save ${packages}\` in the folder of the program`,
    );
  }
}

/** Spans go to a collector over OTLP/HTTP: that of the standard variables (`otlp`), or one at a URL. */
async function traceTo(traces: string, thread: string, report: Report): Promise<EndTraces> {
  const telemetry = await load();
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = telemetry;
  const exporter = new telemetry.OTLPTraceExporter(traces === 'otlp' ? {} : { url: `${traces}/v1/traces` });
  const send = exporter.export.bind(exporter);
  // OpenTelemetry silently drops spans that the collector refuses.
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      const { error } = result;
      if (error !== undefined)
        report(`traces are lost: the collector has not taken them (${codeOf(error) ?? error.message})`);
      done(result);
    });
  const own = { 'service.name': 'affilog', 'service.version': version, 'affilog.thread': thread };
  const given = telemetry.detectResources({ detectors: [telemetry.envDetector] });
  const provider = new telemetry.BasicTracerProvider({
    resource: telemetry.resourceFromAttributes(own).merge(given),
    spanProcessors: [new telemetry.BatchSpanProcessor(exporter)],
  });
  const kinds = {
    server: SpanKind.SERVER,
    internal: SpanKind.INTERNAL,
    producer: SpanKind.PRODUCER,
    consumer: SpanKind.CONSUMER,
    client: SpanKind.CLIENT,
  };
  const tracer = provider.getTracer('affilog', version);
  traceBy(({ name, kind, parent, attributes = {} }) => {
    const [, traceId = '', spanId = '', flags = ''] = parent?.split('-') ?? [];
    const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, context);
    if (!span.isRecording()) return undefined;
    const { traceId: ofTrace, spanId: id, traceFlags } = span.spanContext();
    return {
      traceparent: `00-${ofTrace}-${id}-${traceFlags.toString(16).padStart(2, '0')}`,
      end: (ended = {}, isFailed = false) => {
        span.setAttributes(ended);
        if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  });
  return async () => {
    traceBy(undefined);
    await atMost(SYSTEM_CLOCK, FLUSH_MS, provider.shutdown()).catch(() => undefined);
  };
}
