import { openEngines } from '../../src/engines/open';
import { Server } from '../server';
import { Matched, type MessageContent, messageTo, subscribe } from './due-messages';
import { type Receivers } from './receivers';

/** About what a message has beside its text: some 600 bytes in all. */
const MORE = 'x'.repeat(560);

/** A data folder with subscriptions of these receivers, and messages that are due to all of them in turn. */
export async function prepare(
  dataDir: string,
  receivers: Receivers,
  { targets, messages }: { readonly targets: number; readonly messages: number },
): Promise<void> {
  await (await Server.start(dataDir, 'api')).stop();
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  try {
    const { log } = engines;
    const all = await subscribe(log, receivers.urls(targets));
    const cause = await log.head();
    const matched = new Matched(await engines.deliveries());
    for (let at = 0; at < messages; at += targets) {
      const content: MessageContent = { subject: `t${at}`, sequence: at, cause, more: MORE };
      const due = all.slice(0, messages - at).map((target) => messageTo(target, content));
      await matched.append(due, cause);
    }
  } finally {
    await engines.close();
  }
}
