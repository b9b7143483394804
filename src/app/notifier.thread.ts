import { TOPICS } from '../domain/topics';
import { type Config } from '../settings/config';
import { type EngineTicket, joinEngines, presenceIn } from '../engines/open';
import { runningCode } from '../projector/running-code';
import { allowedBy, ownerOf, secretsOf } from '../operations/installation';
import { Notifier } from './notifier-run';
import { serveThread } from '../runtime/thread';

export interface NotifierData {
  readonly ticket: EngineTicket;
  readonly config: Config;
}

/** Sends notifications away from the thread that serves HTTP. */
serveThread(async ({ ticket, config }: NotifierData, report) => {
  const engines = await joinEngines(ticket);
  const secrets = await secretsOf(config);
  const { log } = engines;
  const presence = presenceIn(config.dataDir);
  const { notifyKeep: keepMs, notifyRates } = config;
  const notifier = new Notifier(
    {
      log,
      leases: engines.leases,
      deliveries: await engines.deliveries(),
      topics: Object.values(TOPICS),
      secrets,
      owner: await ownerOf(config, secrets),
      allowed: allowedBy(config),
      keepMs,
      ...(notifyRates === undefined ? {} : { rates: notifyRates }),
    },
    { name: presence.name, code: await runningCode(), isGone: (owner) => presence.isGone(owner), report },
  );
  return {
    calls: notifier,
    close: async () => {
      await notifier.stop();
      presence.close();
      await engines.close();
    },
  };
});
