import { setTimeout as pause } from 'node:timers/promises';
import { type RecordedEvent } from '../../src/kernel/event';
import { type DeliveryRequest, requestStream } from '../../src/domain/subscriptions/delivery-requests';
import { receiverIdOf } from '../../src/domain/subscriptions/receiver-id';
import { type Message, type Outcome } from '../../src/domain/deliveries/delivery-events';
import { type Receiver } from '../../src/domain/subscriptions/subscription';
import { streamOf } from '../contracts/event-log/events';
import { type AppDeliveries, projectDeliveries } from '../support/app-deliveries';
import { type DeliveryHistory } from '../support/delivery-history';
import { type Response } from '../support/app';
import { GET_RECEIVER, POST_RECEIVER, subscriptionWorld } from './subscription-network';
import { NOW } from './voucher-network';

export type Due = Message & { readonly revision: number };
export type Json = Readonly<Record<string, unknown>>;

const HOUR = 3_600_000;

/** Hours after a time that is ten hours ago. */
export const at = (hours: number): string => new Date(NOW - 10 * HOUR + hours * HOUR).toISOString();

/** Organisations of the clients that may have subscriptions. */
export const ORGANISATIONS = {
  ...{ nord: 1, casa: 2, preisblick: 11, preisblickAll: 11, deals: 12, lonely: 13 },
} as const;

export type Subscriber = keyof typeof ORGANISATIONS;

/** One application for the tests of a file, whose deliveries are projected. */
export function deliveryWorld() {
  let deliveries: AppDeliveries;
  // Declared first, so that projecting ends before the application does.
  afterAll(() => deliveries.stop());
  const world = subscriptionWorld();
  beforeAll(async () => {
    deliveries = await projectDeliveries(world.app, () => NOW);
  });
  const history = (): DeliveryHistory => deliveries.history;
  return {
    world,
    history,
    settled: () => deliveries.settled(),
    sample: (by?: Subscriber, changes?: object) => Sample.create({ world, history }, by, changes),
  };
}

interface Written {
  readonly world: ReturnType<typeof subscriptionWorld>;
  readonly history: () => DeliveryHistory;
}

/** A subscription with messages to its first receiver. */
export class Sample {
  private constructor(
    private readonly written: Written,
    readonly id: string,
    readonly by: Subscriber,
    readonly receivers: readonly string[],
  ) {}

  static async create(written: Written, by: Subscriber = 'nord', changes: object = {}): Promise<Sample> {
    const posted = { receivers: [POST_RECEIVER, GET_RECEIVER], ...changes };
    const { subscriptionId: id } = await written.world.create(posted, by);
    const receivers = posted.receivers.map((receiver) => receiverIdOf(id, receiver as Receiver));
    return new Sample(written, id, by, receivers);
  }

  due(name: string, message: Partial<Message> = {}): Promise<Due> {
    const organisationId = ORGANISATIONS[this.by];
    const [receiver = ''] = this.receivers;
    const own = { subscriptionId: this.id, organisationId, receiver, at: at(0) };
    return this.written.history().due(`${this.id} ${name}`, { subject: name, ...own, ...message });
  }

  get(path: string): Promise<Response> {
    return this.written.world.get(`/${this.id}${path}`, this.by);
  }

  async json<T = readonly Json[]>(path: string): Promise<T> {
    return (await this.get(path)).json<T>();
  }

  post(path: string, body?: unknown): Promise<Response> {
    return this.written.world.send('POST', `/${this.id}${path}`, this.by, body);
  }

  /** Its requests of a type, none of which is in its own stream. */
  async requests(type: DeliveryRequest['type']): Promise<readonly RecordedEvent[]> {
    const events = await streamOf(this.written.world.app.engines.log, requestStream(this.id));
    return events.filter((event) => event.type === type);
  }

  /** What matcher and sender do with the first test that is asked for; returns the message. */
  async sendsTest(outcome: Partial<Outcome>): Promise<Due> {
    let asked: RecordedEvent | undefined;
    while (asked === undefined) {
      await pause(5);
      [asked] = await this.requests('TestRequested');
    }
    const now = new Date(NOW).toISOString();
    const [receiver = ''] = this.receivers;
    const id = this.written.history().idOf(asked.id, receiver);
    const message = await this.due('test', { id, at: now, isTest: true });
    await this.written.history().outcome(message, { at: now, ...outcome });
    return message;
  }

  /** The transactions of a list with these keys. */
  async subjects(keys: string): Promise<readonly unknown[]> {
    return (await this.json(`/deliveries;${keys}`)).map(({ transactionId }) => transactionId);
  }
}
