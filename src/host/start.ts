import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { pino } from 'pino';
import { PROJECTIONS } from '../../projections/index';
import { baseUrlAt, type Config } from '../config';
import { createDemo } from '../demo/create-demo';
import { type Engines, openEngines } from '../engines/open';
import { EngineUnavailable } from '../kernel/event-log';
import { refuseOtherLog } from '../projector/origin';
import { openApi } from './api';
import { startLogEndpoint } from './log-endpoint';
import { logOutput } from './log-output';
import { startAutomations } from './automation';
import { baseOver } from './open-base';
import { openAll } from './opened';
import { type Projector, startProjector } from './projector';
import { type Running, type ServeOptions } from './serve';

/**
 * Starts what a process has to do (docs/architecture.md, Processes): the engines, the threads of its roles, HTTP.
 * Raises `EngineUnavailable`, `OtherLog`, and the error of the system when it cannot listen.
 */
export async function start(config: Config, { roles, demo }: ServeOptions): Promise<Running> {
  const log = pino({ level: config.logLevel }, logOutput(process.stderr));
  const report = (failure: unknown): void => log.error(failure);
  return await openAll(async (opened) => {
    const readers = Math.max(2, availableParallelism());
    const engines = await openEngines({ ...config, threads: true, readers });
    const base = baseOver(engines);
    opened.push(() => base.close());
    await refuseOther(engines);
    await base.follower.ready;
    const demoLines = demo ? await createDemo(engines.log, config.dataDir) : () => [];
    const projector = roles.includes('projector') ? startProjector(engines, report) : undefined;
    if (projector !== undefined) opened.push(() => projector.stop());
    const projecting = projector && waitFor(projector);
    // Awaited below; until then a failure must not count as unhandled.
    projecting?.catch(() => undefined);
    const automations = roles.includes('automation') ? startAutomations(engines, report) : undefined;
    if (automations !== undefined) opened.push(() => automations.stop());
    await automations?.start();
    const troubles = { projector: projector?.trouble, automation: automations?.trouble };
    const api = roles.includes('api')
      ? await openApi({ ...base, config, threads: true, report, log, troubles })
      : undefined;
    if (api !== undefined) opened.push(() => api.close());
    await projecting;
    await api?.app.listen(config.port, config.host);
    const url = await api?.app.getUrl();
    const endpoint =
      config.esdbPort === undefined ? undefined : startLogEndpoint(engines, config.esdbPort, report);
    if (endpoint !== undefined) opened.push(() => endpoint.end());
    const replay = endpoint === undefined ? [] : [`the log can be read at ${await endpoint.calls.open()}`];
    const port = url === undefined ? config.port : Number(new URL(url).port || 80);
    return {
      ...(url === undefined ? {} : { url }),
      shown: [...demoLines(baseUrlAt(config, port)), ...replay],
      stop: () => opened.close(),
    };
  }, report);
}

/** When the read store is unavailable, the projector checks again. */
async function refuseOther({ log, store }: Engines): Promise<void> {
  await refuseOtherLog(log, store, PROJECTIONS).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
}

/** How long to wait for read models before requests are accepted without them (ms): writes need none. */
const PATIENCE_MS = 10_000;

/** Resolves when every read model can be read, or when that takes too long: an unavailable read store, a long build. */
async function waitFor(projector: Projector): Promise<void> {
  const late = new AbortController();
  const patience = after(PATIENCE_MS, undefined, { signal: late.signal }).catch(() => undefined);
  await Promise.race([projector.start(), patience]).finally(() => late.abort());
}
