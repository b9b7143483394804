import { isDeepStrictEqual } from 'node:util';
import { receiversOf } from '../../../src/domain/subscriptions/receiver-id';
import { Secrets, type SubscriptionContent } from '../../../src/domain/subscriptions/subscription';
import { TOPICS } from '../../../src/domain/topics';
import { BackfillCommands } from '../../../src/services/subscriptions/backfills';
import { SubscriptionCommands, Subscriptions } from '../../../src/services/subscriptions/commands';
import { RedeliveryCommands } from '../../../src/services/subscriptions/deliveries.commands';
import { DeliveryQueries } from '../../../src/services/subscriptions/deliveries.queries';
import { ReceiverCommands } from '../../../src/services/subscriptions/receivers.commands';
import { type SubscriptionParts } from '../../../src/services/subscriptions/subscription.queries';
import { type Clients, type Command } from '../clients';
import { type ApiParts, KEEP_MS } from '../host';
import { type Random } from '../random';
import { EPOCH } from '../simulation';
import { BRANDS } from './categories';
import { type Asker, CALLERS, feedsOf } from './network-file';

export const subscriptionParts = ({ engines }: ApiParts): SubscriptionParts => ({
  deliveries: engines.deliveries,
  secrets: () => new Secrets(Buffer.alloc(32)),
  testWithin: 0,
  keepMs: KEEP_MS,
  addressProblem: () => undefined,
  convertible: () => undefined,
});

const commands = (all: ApiParts) => {
  const { clock, engines, follower, visible } = all;
  const { log, store } = engines;
  const subscriptions = new Subscriptions(log, visible, clock);
  const parts = subscriptionParts(all);
  const queries = new DeliveryQueries(store, log, parts, clock);
  return {
    ofSubscription: new SubscriptionCommands(subscriptions, follower, parts),
    ofPast: new BackfillCommands(subscriptions, log, clock, parts),
    ofReceiver: new ReceiverCommands(subscriptions, store, parts),
    ofMessage: new RedeliveryCommands(subscriptions, queries, store, log),
  };
};

/** What a subscriber asks for, which is posted as a record. */
type Content = {
  readonly filter: object;
  readonly receivers: readonly {
    readonly httpMethod: string;
    readonly receiverUrl: string;
    readonly disabled?: true;
  }[];
  readonly strictOrder?: true;
  readonly disabled?: true;
};

interface Written {
  readonly subscriptionId: string;
  readonly subscription: { readonly content: SubscriptionContent };
}

/** A subscription of a caller. */
interface Which {
  readonly topic: SubscribedTopic;
  readonly id: string;
  readonly caller: Asker;
}

/** What subscriptions are about here; claims and transactions have all in common. */
export const SUBSCRIBED_TOPICS = ['transactions', 'vouchers', 'products'] as const;
export type SubscribedTopic = (typeof SUBSCRIBED_TOPICS)[number];

/** Who subscribes first, and to what, so that there is something to be told about. */
export const FIRST = [
  { caller: CALLERS[0], topic: 'transactions' },
  { caller: CALLERS[1], topic: 'transactions' },
  { caller: undefined, topic: 'products' },
  { caller: undefined, topic: 'vouchers' },
] as const satisfies readonly { readonly caller: Asker | undefined; readonly topic: SubscribedTopic }[];

const whichOf = ({ topic, id, caller }: Which) => ({ topic: TOPICS[topic], id, caller });

interface WhichReceiver extends Which {
  readonly receiver: string;
}

export const URLS = ['https://a.example/', 'https://b.example/', 'https://c.example/'] as const;

/** The states that are selected, and a placeholder. */
const SELECTED = {
  transactions: { states: [1, 2, 3, 4, 5, 6, 8], placeholder: '${orderNumber}' },
  vouchers: { states: [1, 2, 3], placeholder: '${voucherId}' },
  products: { states: [1, 2, 3], placeholder: '${productId}' },
} as const;

/** Each list now and then. */
function productFilter(random: Random, caller: Asker): object {
  const all = {
    feedIds: [random.pick(feedsOf(caller)).id],
    minFallPercent: random.pick([1, 25, 60]),
    tdCategoryIds: [random.pick([1, 2])],
    keywords: [random.pick(BRANDS)],
  };
  return Object.fromEntries(Object.entries(all).filter(() => random.chance(0.2)));
}

/** Its owner may have disabled it, or a receiver. */
const disabled = (random: Random, probability: number): { readonly disabled?: true } =>
  random.chance(probability) ? { disabled: true } : {};

function contentOf(random: Random, { topic, caller }: Omit<Which, 'id'>): Content {
  const { states: all, placeholder } = SELECTED[topic];
  const states = all.filter(() => random.chance(0.8));
  const urls = URLS.filter(() => random.chance(0.5));
  return {
    filter: {
      [TOPICS[topic].states.field]: states.length === 0 ? [all.at(-1)] : states,
      ...(topic === 'products' ? productFilter(random, caller) : {}),
    },
    receivers: (urls.length === 0 ? [URLS[0]] : urls).map((url) => ({
      httpMethod: 'GET',
      receiverUrl: `${url}?o=${placeholder}`,
      ...disabled(random, 0.08),
    })),
    ...(random.chance(0.3) ? { strictOrder: true } : {}),
    ...disabled(random, 0.04),
  };
}

const isOf = (posted: Content, { receivers }: SubscriptionContent): boolean =>
  isDeepStrictEqual(
    posted.receivers.map(({ receiverUrl }) => receiverUrl),
    receivers.map(({ receiverUrl }) => receiverUrl),
  );

/** One that is known to exist, or to have existed. */
function known(random: Random, clients: Clients): Which | undefined {
  const created = clients.done(createSubscription);
  if (created.length === 0) return undefined;
  const { what, result } = random.pick(created);
  return { topic: what.topic, id: result.subscriptionId, caller: what.caller };
}

const streamOf = ({ id }: Which): string => `subscription-${id}`;
const requestsOf = ({ id }: Which): string => `deliveryrequests-${id}`;

export const createSubscription: Command<Omit<Which, 'id'> & { readonly posted: Content }, Written> = {
  name: 'create subscription',
  hasKeys: true,
  weight: 2,
  draw: (random, _, number) => {
    const { caller = random.pick(CALLERS), topic = random.pick(SUBSCRIBED_TOPICS) } = FIRST[number] ?? {};
    return { caller, topic, posted: contentOf(random, { caller, topic }) };
  },
  run: (api, { topic, caller, posted }, request) =>
    api.of(commands).ofSubscription.create(TOPICS[topic], posted, caller, request),
  asksFor: {
    SubscriptionCreated: ({ topic, caller, posted }, { data }) =>
      data.topic === topic &&
      data.organisationId === caller.organisationId &&
      isOf(posted, data.subscription),
  },
  happensIn: (_, { subscriptionId }) => [`subscription-${subscriptionId}`],
};

export const replaceSubscription: Command<Which & { readonly posted: Content }, Written> = {
  name: 'replace subscription',
  weight: 3,
  draw: (random, clients) => {
    const which = known(random, clients);
    return which && { ...which, posted: contentOf(random, which) };
  },
  run: (api, { posted, ...which }) => api.of(commands).ofSubscription.replace(whichOf(which), posted),
  stream: streamOf,
  asksFor: {
    SubscriptionReplaced: ({ posted }, { data }) => isOf(posted, data.subscription),
    // One that changes nothing.
    SubscriptionCreated: ({ posted }, { data }) => isOf(posted, data.subscription),
  },
  isNew: () => false,
};

/** What its owner puts, so that nothing of a subscription is disabled. */
export function enabled(
  which: Which,
  { filter, receivers }: SubscriptionContent,
): Which & { readonly posted: Content } {
  const { stateIds, ...lists } = filter;
  const posted = {
    filter: { [TOPICS[which.topic].states.field]: stateIds, ...lists },
    receivers: receivers.map(({ httpMethod, receiverUrl }) => ({ httpMethod, receiverUrl })),
  };
  return { ...which, posted };
}

type Change = 'rotateSecret' | 'delete' | 'cancelRedeliveries' | 'cancelBackfills';

/** A change of a subscription without a body. */
const changeOf = (what: Change, weight: number, asksFor: Command<Which>['asksFor']): Command<Which> => ({
  ...{ name: what, weight, draw: known, stream: streamOf, asksFor: asksFor ?? {} },
  run: (api, which) => api.of(commands).ofSubscription.change(whichOf(which), what),
  isNew: () => what !== 'delete',
});

export const CHANGES: readonly Command<Which>[] = [
  changeOf('rotateSecret', 0.5, { SecretRotated: true }),
  changeOf('delete', 0.7, { SubscriptionDeleted: true }),
  changeOf('cancelRedeliveries', 0.3, { RedeliveriesCancelled: true }),
  changeOf('cancelBackfills', 0.3, { BackfillsCancelled: true }),
];

function knownReceiver(random: Random, clients: Clients): WhichReceiver | undefined {
  const which = known(random, clients);
  if (which === undefined) return undefined;
  const { id } = which;
  const written = [...clients.done(createSubscription), ...clients.done(replaceSubscription)];
  const receivers = written
    .filter(({ result }) => result.subscriptionId === id)
    .flatMap(({ result }) => [...receiversOf(id, result.subscription.content).keys()]);
  return { ...which, receiver: random.pick(receivers) };
}

export const enableReceiver: Command<WhichReceiver> = {
  name: 'enable receiver',
  weight: 0.7,
  draw: knownReceiver,
  run: (api, { receiver, ...which }) => api.of(commands).ofReceiver.enable(whichOf(which), receiver),
  stream: streamOf,
  asksFor: { ReceiverEnabled: ({ receiver }, { data }) => data.receiver === receiver },
  // Or it is not disabled.
  happensIn: () => [],
};

export const testReceiver: Command<WhichReceiver> = {
  name: 'test receiver',
  weight: 1,
  draw: knownReceiver,
  run: (api, { receiver, ...which }) => {
    const options = { isGone: () => false };
    return api.of(commands).ofReceiver.test(whichOf(which), receiver, options);
  },
  stream: requestsOf,
  asksFor: { TestRequested: ({ receiver }, { data }) => data.receiver === receiver },
  // Or somebody else waits for the same message.
  isNew: () => false,
};

export const redeliver: Command<Which & { readonly message: string }> = {
  name: 'redeliver',
  weight: 2,
  draw: (random, clients) => {
    const received = clients.received();
    const message = received.length === 0 ? undefined : random.pick(received);
    const created = clients
      .done(createSubscription)
      .find(({ result }) => result.subscriptionId === message?.subscription);
    if (message === undefined || created === undefined) return undefined;
    const { topic, caller } = created.what;
    return { topic, id: message.subscription, caller, message: message.id };
  },
  run: async (api, { message, ...which }) => {
    await api.of(commands).ofMessage.redeliver(whichOf(which), message);
  },
  stream: requestsOf,
  asksFor: { RedeliveryRequested: ({ message }, { data }) => data.message === message },
  isNew: () => false,
};

/** Between two times. */
interface Period {
  readonly minTime: string;
  readonly maxTime: string;
}

const ofPeriod = (random: Random): Period => {
  const minTime = new Date(EPOCH - 60_000 + (random.chance(0.5) ? 0 : random.below(90_000))).toISOString();
  return { minTime, maxTime: new Date(EPOCH + 48 * 3_600_000).toISOString() };
};

export const redeliverAll: Command<
  Which & { readonly posted: Period & { readonly state: string } },
  { readonly requested: number }
> = {
  name: 'redeliver all',
  weight: 1,
  draw: (random, clients) => {
    const state = random.weighted({ dead: 1, delivered: 2, cancelled: 1, retrying: 2 });
    const which = known(random, clients);
    return which && { ...which, posted: { ...ofPeriod(random), state } };
  },
  run: (api, { posted, ...which }) => api.of(commands).ofMessage.redeliverAll(whichOf(which), { ...posted }),
  stream: requestsOf,
  asksFor: { RedeliveryRequested: true },
  happensIn: () => [],
};

export const backfill: Command<Which & { readonly posted: Period }, { readonly requested: number }> = {
  name: 'backfill',
  weight: 1.5,
  draw: (random, clients) => {
    const which = known(random, clients);
    return which && { ...which, posted: ofPeriod(random) };
  },
  run: (api, { posted, ...which }) => api.of(commands).ofPast.backfill(whichOf(which), { ...posted }),
  stream: requestsOf,
  asksFor: { MessageRequested: true },
  happensIn: () => [],
};
