#!/usr/bin/env node
import { runCli } from './ops/cli/run-cli';

/** Threads do not keep the process alive: without this timer it would exit while they are being closed. */
const ALIVE_MS = 60_000;

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => controller.abort());
  return controller.signal;
}

/** A server continues without its output; any other verb fails when its output is lost. */
let isServing = false;
let lost: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error: NodeJS.ErrnoException) => (lost ??= error));
// There is nowhere to report this. Threads write there through this one.
process.stderr.on('error', () => undefined);

function exitCode(code: number): number {
  if (lost === undefined || isServing) return code;
  // A reader that has closed its pipe knows.
  if (lost.code !== 'EPIPE') process.stderr.write(`affilog: standard output: ${lost.message}\n`);
  return code === 0 ? 1 : code;
}

setInterval(() => undefined, ALIVE_MS);
void runCli(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stopSignal,
  threads: true,
  start: async (config, options) => {
    isServing = true;
    return (await import('./host/start.js')).start(config, options);
  },
}).then((code) => setImmediate(() => process.exit(exitCode(code))));
