#!/usr/bin/env node
import { runCli } from './ops/cli/run-cli';

/** Threads that are being closed do not keep a process alive: without this it would end before they have. */
const ALIVE_MS = 60_000;

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => controller.abort());
  return controller.signal;
}

setInterval(() => undefined, ALIVE_MS);
void runCli(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stopSignal,
  threads: true,
  start: async (config, options) => (await import('./start.js')).start(config, options),
}).then((code) => process.exit(code));
