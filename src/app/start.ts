import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { version } from '../../package.json';
import { PROJECTIONS } from '../../projections';
import { baseUrlAt, type Config, warningsOf } from '../settings/config';
import { createDemo } from '../demo/create-demo';
import { type Engines, enginesOf, openEngines } from '../engines/open';
import { EngineUnavailable } from '../kernel/event-log';
import { refuseOtherLog } from '../projector/origin';
import { openApi } from './api';
import { failureReporter, type Report } from '../runtime/failure-report';
import { startAutomations } from './roles/automation';
import { startLogEndpoint } from './roles/log-endpoint';
import { baseOver } from './open-base';
import { allowedBy } from '../operations/installation';
import { type Notifying, startNotifier } from './roles/notifier';
import { openAll } from './opened';
import { closeToOthers } from './private-folder';
import { programLog } from './program-log';
import { startProjector } from './roles/projector';
import { retryNotices } from '../runtime/unavailable';
import { type Running, type ServeOptions } from './serve';
import { StartingPort, Startup, untilReadable } from './starting';

/** What `affilog receiver` listens on in the README. */
const DEMO_RECEIVER = '127.0.0.1:4000';

/**
 * Starts what a process has to do (docs/architecture.md, Processes): the engines, the threads of its roles, HTTP.
 * Raises `InvalidSetting`, `EngineUnavailable`, `OtherLog`, the error of the system when it cannot listen, and the reason of
 * `signal`, when all threads have ended.
 */
export async function start(
  settings: Config,
  { roles, demo }: ServeOptions,
  signal: AbortSignal,
): Promise<Running> {
  const config = demo ? { notifyAllow: DEMO_RECEIVER, ...settings } : settings;
  allowedBy(config);
  const log = programLog(config, process.stderr);
  const began = performance.now();
  const report = failureReporter(log);
  return await openAll(
    async (opened) => {
      const startup = new Startup((line) => log.info(line));
      const port = roles.includes('api')
        ? await StartingPort.open(config.port, config.host, () => startup.reason, log)
        : undefined;
      if (port !== undefined) opened.push(() => port.close());
      const readers = Math.max(2, availableParallelism());
      const onRetry = retryNotices((line) => log.warn(line));
      const open = await closeToOthers(config.dataDir);
      const engines = await openEngines({ ...config, threads: true, readers }, onRetry, signal);
      const base = baseOver(engines, report);
      opened.push(() => base.close());
      await refuseOther(engines);
      // A process that cannot start prints the reason and nothing else.
      log.info({ version, ...enginesOf(config), dataDir: resolve(config.dataDir), roles }, 'starting');
      for (const line of [...open, ...(port === undefined ? [] : warningsOf(config))]) log.warn(line);
      const endLines = startup.repeat();
      opened.push(async () => endLines());
      startup.waitsFor('the reference data is being read');
      await base.follower.ready;
      const show = (reason: string): void => startup.waitsFor(reason);
      const demoLines = demo ? await createDemo(engines.log, config.dataDir, show) : () => [];
      // Before any ticket is issued, so that one thread appends to it.
      if (roles.includes('projector')) await engines.deliveries();
      const projector = roles.includes('projector')
        ? startProjector(engines, config.notifyKeep, report)
        : undefined;
      if (projector !== undefined) opened.push(() => projector.stop());
      const ending = new AbortController();
      opened.push(async () => ending.abort());
      const readable = untilReadable({
        store: engines.store,
        projector,
        show,
        signal: ending.signal,
      });
      // Awaited below; until then a failure must not count as unhandled.
      readable.catch(() => undefined);
      const automations = roles.includes('automation') ? startAutomations(engines, report) : undefined;
      if (automations !== undefined) opened.push(() => automations.stop());
      await automations?.start();
      const notifier = roles.includes('notifier') ? await notifierOver(engines, config, report) : undefined;
      if (notifier !== undefined) opened.push(() => notifier.stop());
      await notifier?.start();
      const troubles = {
        projector: projector?.trouble,
        automation: automations?.trouble,
        notifier: notifier?.trouble,
      };
      const api = roles.includes('api')
        ? await openApi({ ...base, config, threads: true, report, log, troubles })
        : undefined;
      if (api !== undefined) opened.push(() => api.close());
      const unreadable = await readable;
      if (unreadable !== undefined && api !== undefined)
        log.warn(`searches are answered as unavailable until the read models are there: ${unreadable}`);
      if (api !== undefined) await port?.handOver(api.app.getHttpServer());
      const endpoint =
        config.esdbPort === undefined ? undefined : startLogEndpoint(engines, config.esdbPort, report);
      if (endpoint !== undefined) opened.push(() => endpoint.end());
      const replay = endpoint === undefined ? [] : [`the log can be read at ${await endpoint.calls.open()}`];
      endLines();
      const url = port === undefined ? undefined : addressAt(config.host, port.port);
      log.info({ url, ms: Math.round(performance.now() - began) }, 'ready');
      return {
        ...(url === undefined ? {} : { url }),
        shown: [...demoLines(baseUrlAt(config, port?.port ?? config.port)), ...replay],
        stop: async () => {
          log.info('stopping');
          await opened.close();
        },
      };
    },
    report,
    signal,
  );
}

/** Opens the delivery log first: its thread is shared. */
async function notifierOver(engines: Engines, config: Config, report: Report): Promise<Notifying> {
  await engines.deliveries();
  return startNotifier(engines, config, report);
}

/** When the read store is unavailable, the projector checks again. */
async function refuseOther({ log, store }: Engines): Promise<void> {
  await refuseOtherLog(log, store, PROJECTIONS).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
}

/** Where clients of this machine find the server. */
function addressAt(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
