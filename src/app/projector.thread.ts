import { randomUUID } from 'node:crypto';
import { type EngineTicket, joinEngines } from '../engines/open';
import { runningCode } from '../projector/running-code';
import { ReadModels } from './read-models';
import { serveThread } from '../runtime/thread';

interface Data {
  readonly ticket: EngineTicket;
  /** How long messages are kept. */
  readonly keepMs: number;
}

/** Keeps the read models up to date away from the thread that serves HTTP. */
serveThread(async ({ ticket, keepMs }: Data, report) => {
  const engines = await joinEngines(ticket, { writes: true });
  const options = { owner: randomUUID(), code: await runningCode(), report };
  const models = await ReadModels.open(engines, options, keepMs);
  return {
    calls: models,
    close: async () => {
      await models.stop();
      await engines.close();
    },
  };
});
