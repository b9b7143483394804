#!/usr/bin/env node
import './app/node-version';
import { crash } from './runtime/failure-report';
import { runCli } from './cli/run-cli';

/** A timer that keeps the process alive until its threads, which do not, have been closed. */
const KEEP_ALIVE_MS = 60 * 1000;

let stopping: AbortSignal | undefined;

function stopSignal(): AbortSignal {
  if (stopping !== undefined) return stopping;
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => controller.abort());
  return (stopping = controller.signal);
}

// What this program creates is for its owner only: the data folder has orders, keys, and URLs of receivers.
process.umask(0o077);

/** Losing standard output is a failure, except for a server, which continues without it. */
let isServing = false;
let outputError: NodeJS.ErrnoException | undefined;
process.stdout.once('error', (error: NodeJS.ErrnoException) => (outputError = error));
process.stdout.on('error', () => undefined);
// This cannot be reported anywhere. Threads write to standard error through this thread.
process.stderr.on('error', () => undefined);

function exitCode(code: number): number {
  if (outputError === undefined || isServing) return code;
  // A closed pipe needs no message.
  if (outputError.code !== 'EPIPE')
    process.stderr.write(`affilog: standard output: ${outputError.message}\n`);
  return code === 0 ? 1 : code;
}

setInterval(() => undefined, KEEP_ALIVE_MS);
runCli(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  stopSignal,
  threads: true,
  start: async (...args) => {
    isServing = true;
    return (await import('./app/start.js')).start(...args);
  },
})
  .then((code) => setImmediate(() => process.exit(exitCode(code))))
  .catch(crash);
