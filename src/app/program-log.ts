import { type Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { type Config } from '../settings/config';
import { logOutput } from './log-output';
import { prettyLine } from './pretty-line';

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
