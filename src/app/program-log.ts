import { type Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import { type Config } from '../settings/config';

/** The log of a process (`docs/decisions.md#x86`). `output` is standard error, which may be a terminal. */
export function programLog(
  { logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>,
  output: Writable & { readonly isTTY?: boolean },
): Logger {
  const format = logFormat ?? (output.isTTY === true ? 'pretty' : 'json');
  return pino(
    { level: logLevel, timestamp: pino.stdTimeFunctions.isoTime },
    logOutput(output, format === 'pretty' ? prettyLine : undefined),
  );
}

/** Bytes of lines that are buffered for a slow reader. */
const MAX_BUFFERED = 1024 * 1024;

/** What may be a token, also beside other digits. */
const TOKENS = /[0-9a-f]{40,}/gi;

/**
 * Writes log lines to a stream of the process, as `format` formats them and with tokens masked wherever they are
 * (`docs/decisions.md#x86`). No request waits for its line or fails because of it: while nobody reads, lines beyond
 * `MAX_BUFFERED` are dropped, and so are lines that cannot be written.
 */
export function logOutput(
  stream: Writable,
  format: (line: string) => string = (line) => line,
): DestinationStream {
  return {
    write: (line) => {
      if (stream.writableLength < MAX_BUFFERED) stream.write(format(line.replace(TOKENS, '***')));
    },
  };
}

/** Fields of every line that nobody reads on a terminal. */
const OMITTED = ['level', 'time', 'pid', 'hostname', 'msg', 'err'];

/** Text that needs no quotes. */
const PLAIN = /^[\x21-\x7e\xa0-\uffff]+$/;

/** C1 control characters, which JSON does not escape; terminals may obey them. */
const CONTROLS = /[\x7f-\x9f]/g;

/** A log line of pino as a line for people: `2026-03-01T12:00:45.000Z info  request method=GET status=200`. */
function prettyLine(line: string): string {
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const { level, time, msg, err } = entry;
  const label = (pino.levels.labels[Number(level)] ?? String(level)).padEnd(5);
  const fields = Object.entries(entry)
    .filter(([name]) => !OMITTED.includes(name))
    .map(([name, value]) => `${name}=${textOf(value)}`);
  const failure = stackOf(err).map((one) => `\n    ${one}`);
  return [[time, label, ...(msg === undefined ? [] : [msg]), ...fields].join(' '), ...failure, '\n']
    .join('')
    .replace(CONTROLS, '\ufffd');
}

function textOf(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value);
}

function stackOf(err: unknown): readonly string[] {
  const isError = typeof err === 'object' && err !== null && 'stack' in err;
  return isError
    ? String(err.stack)
        .split('\n')
        .map((one) => one.trim())
    : [];
}
