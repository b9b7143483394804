import { PROJECTIONS } from '../../projections/index';
import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { pino, type Logger } from 'pino';
import { refuseOtherLog } from '../projector/origin';
import { baseUrlAt, type Config } from '../config';
import { type FollowedDirectory, followDirectory } from '../directory/follower';
import { type Engines, openEngines } from '../engines/open';
import { type Remote } from '../kernel/calls';
import { EngineUnavailable } from '../kernel/event-log';
import { type ApiParts, openApi } from './api';
import { createDemo } from '../demo/create-demo';
import { startLogEndpoint } from './log-endpoint';
import { logOutput } from './log-output';
import { Opened } from './opened';
import { type ProjectorThread, startProjector } from './projector';
import { type Running, type ServeOptions } from './serve';

/**
 * Starts what a process has to do (docs/architecture.md, Processes): the engines, the threads of its roles, HTTP.
 * Raises `EngineUnavailable`, `OtherLog`, and what the system says when it cannot listen.
 */
export async function start(config: Config, { roles, demo }: ServeOptions): Promise<Running> {
  const log = pino({ level: config.logLevel }, logOutput(process.stderr));
  const opened = new Opened();
  const stop = (): Promise<void> => opened.close();
  try {
    const engines = await openEngines({
      ...config,
      threads: true,
      readers: Math.max(2, availableParallelism()),
    });
    opened.push(() => engines.close());
    await refuseOther(engines);
    const follower = await openDirectory(engines, opened);
    const demoLines = demo ? await createDemo(engines.log, config.dataDir) : () => [];
    const projector = roles.includes('projector') ? openProjector(engines, log, opened) : undefined;
    const projecting = projector && waitFor(projector);
    // Waited for below; until then a failure is nobody's.
    projecting?.catch(() => undefined);
    const parts: ApiParts = { config, engines, follower, log, projectorTrouble: projector?.trouble };
    const api = roles.includes('api') ? await openApi(parts) : undefined;
    if (api !== undefined) opened.push(() => api.close());
    await projecting;
    const url = await api?.listen();
    const { esdbPort } = config;
    const replay = esdbPort === undefined ? [] : [await offerLog(engines, esdbPort, log, opened)];
    const port = url === undefined ? config.port : Number(new URL(url).port || 80);
    const shown = [...demoLines(baseUrlAt(config, port)), ...replay];
    return { ...(url === undefined ? {} : { url }), shown, stop };
  } catch (error) {
    await stop().catch((failure: unknown) => log.error(failure));
    throw error;
  }
}

/** A read store that does not answer is asked again by the projector. */
async function refuseOther({ log, store }: Engines): Promise<void> {
  await refuseOtherLog(log, store, PROJECTIONS).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
}

async function openDirectory(engines: Engines, opened: Opened): Promise<FollowedDirectory> {
  const ending = new AbortController();
  const follower = followDirectory(engines.log, ending.signal);
  opened.push(async () => {
    ending.abort();
    await follower.ended;
  });
  await follower.ready;
  return follower;
}

/** How long to wait for read models before requests are taken without them (ms): writes need none. */
const PATIENCE_MS = 10_000;

function openProjector(engines: Engines, log: Logger, opened: Opened): Remote<ProjectorThread> {
  const projector = startProjector(engines, (failure) => log.error(failure));
  opened.push(() => projector.stop());
  return projector;
}

/** Resolves when every read model can be read, or when that takes too long: a read store that is down, a long build. */
async function waitFor(projector: Remote<ProjectorThread>): Promise<void> {
  const late = new AbortController();
  const patience = after(PATIENCE_MS, undefined, { signal: late.signal }).catch(() => undefined);
  await Promise.race([projector.start(), patience]).finally(() => late.abort());
}

/** The line that says where the log can be read. */
async function offerLog(engines: Engines, port: number, log: Logger, opened: Opened): Promise<string> {
  const endpoint = startLogEndpoint(engines, port, (failure) => log.error(failure));
  opened.push(() => endpoint.close());
  return `the log can be read at ${await endpoint.open()}`;
}
