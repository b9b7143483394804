import { pino } from 'pino';

/** Fields of every line that nobody reads on a terminal. */
const OMITTED = ['level', 'time', 'pid', 'hostname', 'msg', 'err'];

/** Text that needs no quotes. */
const PLAIN = /^[\x21-\x7e\xa0-\uffff]+$/;

/** C1 control characters, which JSON does not escape; terminals may obey them. */
const CONTROLS = /[\x7f-\x9f]/g;

/** A log line of pino as a line for people: `2026-03-01T12:00:45.000Z info  request method=GET status=200`. */
export function prettyLine(line: string): string {
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
