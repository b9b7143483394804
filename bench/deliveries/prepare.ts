import { randomUUID } from 'node:crypto';
import { openEngines } from '../../src/engines/open';
import { execute } from '../../src/kernel/decider';
import { subscriptionDecider } from '../../src/domain/subscriptions/subscription';
import { SYSTEM_CLOCK } from '../../src/runtime/clock';
import { EVENTS, SITES } from '../network';
import { Server } from '../server';
import { Matched, messageTo, subscribe } from './due-messages';
import { type Receivers } from './receivers';

/** About what a message has beside its text: some 600 bytes in all. */
const MORE = 'x'.repeat(560);

/** Such a message as it is subscribed to. */
const BODY = JSON.stringify({ order: '${orderNumber}', value: '${orderValue}', more: MORE });
const STATES = [1, 2, 3, 4, 5, 6, 7, 8, 9];

interface Prepared {
  /** Receivers. */
  readonly targets: number;
  readonly messages: number;
  /**
   * Those of a receiver follow one another, so what is due next is all over the log. Otherwise receivers take turns.
   */
  readonly isGrouped?: boolean;
  readonly eventLog?: string;
}

/** A data folder with subscriptions of these receivers, and messages that are due to them. */
export async function prepare(
  dataDir: string,
  receivers: Receivers,
  { targets, messages, isGrouped = false, eventLog = 'sqlite:' }: Prepared,
): Promise<void> {
  await (await Server.start(dataDir, 'api', { EVENT_LOG: eventLog })).stop();
  const engines = await openEngines({ dataDir, eventLog, readStore: 'sqlite:', threads: false });
  try {
    const { log } = engines;
    const all = await subscribe(log, receivers.urls(targets));
    const cause = await log.head();
    const matched = new Matched(await engines.deliveries());
    const each = Math.ceil(messages / targets);
    for (let at = 0; at < messages; at += targets) {
      const due = Array.from({ length: Math.min(targets, messages - at) }, (_, number) => {
        const [target, sequence] = isGrouped
          ? [all[Math.floor((at + number) / each)], (at + number) % each]
          : [all[number], at];
        if (target === undefined) throw new Error(`there is no receiver for message ${at + number}`);
        return messageTo(target, { subject: `t${sequence}`, sequence, cause, more: MORE });
      });
      await matched.append(due, cause);
    }
  } finally {
    await engines.close();
  }
}

/** One receiver for the pending transactions of each site and event: 1,000. */
export async function subscribeAll(dataDir: string, receivers: Receivers): Promise<void> {
  const engines = await openEngines({ dataDir, eventLog: 'sqlite:', readStore: 'sqlite:', threads: false });
  const at = new Date().toISOString();
  try {
    const pairs = SITES.flatMap((siteId) => EVENTS.map((eventId) => ({ siteId, eventId })));
    for (const [number, { siteId, eventId }] of pairs.entries()) {
      const receiver = {
        receiverUrl: receivers.url(number),
        httpMethod: 'POST',
        receiverBody: BODY,
        receiverFormat: 'JSON',
      } as const;
      const filter = { stateIds: STATES, siteIds: [siteId], eventIds: [eventId] };
      const subscription = { filter, receivers: [receiver] };
      const command = { do: 'create', at, topic: 'transactions', organisationId: 2, subscription } as const;
      await execute(SYSTEM_CLOCK, engines.log, subscriptionDecider, randomUUID(), command);
    }
  } finally {
    await engines.close();
  }
}
