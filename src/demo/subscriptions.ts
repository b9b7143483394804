import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import {
  type Receiver,
  SUBSCRIPTION,
  subscriptionDecider,
  type SubscriptionEvent,
  type TopicName,
} from '../domain/subscriptions/subscription';
import { TOPICS } from '../domain/topics';
import { eventAt, execute, toDomainEvent } from '../kernel/decider';
import { streamOf } from '../kernel/event';
import { type EventLog } from '../kernel/event-log';
import { codeOf } from '../kernel/values';
import { DEMO } from './network';
import { DAY } from './products';
import { type DemoParts, type DemoStep } from './transactions';

/** Subscriptions of a publisher: the id of each, and its topic. */
const SUBSCRIPTIONS: readonly (readonly [id: string, topic: TopicName, name: string])[] = [
  ['d0'.repeat(16), 'transactions', 'Orders for the shop'],
  ['d1'.repeat(16), 'claims', 'Claims for the help desk'],
  ['d2'.repeat(16), 'products', 'Prices for the newsletter'],
];
/** How many days ago they were made: all that happened since is sent at the first start. */
const SUBSCRIBED = 5;

/** Paths of receivers: one that works, and one that is gone (410), which is disabled. */
const [WORKING, GONE] = ['/in', '/gone'];
/** Of so many messages one is refused at first. */
const REFUSED = 8;

/** Where the messages of the demo are sent (`docs/decisions.md#x142`). */
export interface DemoReceiver {
  /** `127.0.0.1:<port>`, as `NOTIFY_ALLOW` has it. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Listens on the loopback interface, at the port that subscriptions of the demo name, or at any if there are none yet.
 * Undefined if another process listens there.
 */
export async function openDemoReceiver(log: EventLog): Promise<DemoReceiver | undefined> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    const status = request.url?.startsWith(GONE) === true ? 410 : count % REFUSED === 0 ? 500 : 200;
    request.resume().on('end', () => response.writeHead(status).end(ANSWERS[status]));
  });
  try {
    await once(server.listen(await subscribedPort(log), '127.0.0.1'), 'listening');
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return undefined;
    throw error;
  }
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `${address}:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const ANSWERS: Readonly<Record<number, string>> = {
  200: 'received',
  410: 'the help desk has moved',
  500: 'the shop is being updated',
};

/** 0 without subscriptions. */
async function subscribedPort(log: EventLog): Promise<number> {
  const [[id]] = SUBSCRIPTIONS as [(typeof SUBSCRIPTIONS)[number]];
  const first = await eventAt(log, streamOf(SUBSCRIPTION, id), 0);
  const event = first && (toDomainEvent(first) as SubscriptionEvent);
  if (event?.type !== 'SubscriptionCreated') return 0;
  return Number(new URL(event.data.subscription.receivers[0]?.receiverUrl ?? '').port);
}

/** The subscriptions are made, whose messages are sent to a receiver. */
export function demoSubscriptions(
  now: Date,
  address: string,
  { clock, log }: DemoParts,
): readonly DemoStep[] {
  const at = new Date(now.getTime() - SUBSCRIBED * DAY);
  return SUBSCRIPTIONS.map(([id, topic, subscriptionName]) => {
    const { sample } = TOPICS[topic];
    const receivers: readonly Receiver[] = [
      {
        ...{ httpMethod: 'POST', receiverUrl: `http://${address}${WORKING}/${topic}` },
        ...{ receiverFormat: 'JSON', receiverBody: sample.receiverBody },
      },
      ...(topic === 'claims'
        ? [{ httpMethod: 'GET', receiverUrl: `http://${address}${GONE}?claim=\${claimId}` } as const]
        : []),
    ];
    const subscription = { subscriptionName, filter: { stateIds: sample.states }, receivers };
    const organisationId = DEMO.publishers.preisfuchs;
    const command = { do: 'create', at: at.toISOString(), topic, organisationId, subscription } as const;
    const run = async (): Promise<void> => {
      await execute(clock, log, subscriptionDecider, id, command);
    };
    return { at, run };
  });
}
