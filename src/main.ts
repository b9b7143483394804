#!/usr/bin/env node
import { runCli } from './ops/cli';

function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => controller.abort());
  return controller.signal;
}

void runCli(process.argv.slice(2), {
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  stopSignal,
  start: async (config, options) => (await import('./start.js')).start(config, options),
}).then((code) => process.exit(code));
