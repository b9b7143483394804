import { type Answered, type Keys, type Posted, type Rest, type Schemas } from './rest.js';

/** What a subscription is to, as operations are named. */
type Topic = 'ClaimSubscription' | 'ProductSubscription' | 'Subscription' | 'VoucherSubscription';

export type Subscription = Schemas['Subscription'];
export type ClaimSubscription = Schemas['ClaimSubscription'];

/** Each attribute of a message: its body has those that `receiverBody` names. */
export type TransactionMessage = Posted<'transactionMessage'>;
export type ClaimMessage = Posted<'claimMessage'>;
export type VoucherMessage = Posted<'voucherMessage'>;
export type ProductMessage = Posted<'productMessage'>;

type Item<List> = List extends readonly (infer One)[] ? One : never;

/** A part of a period, and how many messages it has. */
type Part = Schemas['Backfill'];

/** Messages about changes, sent to receivers. */
export class Subscriptions<Of extends Topic> {
  constructor(
    private readonly rest: Rest,
    private readonly path: string,
  ) {}

  async list(): Promise<Answered<`list${Of}s`>> {
    return await this.rest.get(this.path);
  }

  async get(id: string): Promise<Answered<`get${Of}`>> {
    return await this.rest.get(`${this.path}/${id}`);
  }

  async create(subscription: Posted<`create${Of}`>): Promise<Answered<`get${Of}`>> {
    return await this.rest.post(this.path, subscription);
  }

  /** Replaces all settings: send every field. */
  async replace(id: string, subscription: Posted<`replace${Of}`>): Promise<Answered<`get${Of}`>> {
    return await this.rest.put(`${this.path}/${id}`, subscription);
  }

  async delete(id: string): Promise<void> {
    await this.rest.send('DELETE', `${this.path}/${id}`);
  }

  /** The secret that `verifyWebhook` takes. */
  async secret(id: string): Promise<string> {
    const { secret } = await this.rest.get<Schemas['SubscriptionSecret']>(`${this.path}/${id}/secret`);
    return secret;
  }

  /** Replaces the secret by a new one; messages are signed with both for 24 hours. */
  async rotateSecret(id: string): Promise<string> {
    const path = `${this.path}/${id}/secret/rotations`;
    const { secret } = await this.rest.post<Schemas['SubscriptionSecret']>(path);
    return secret;
  }

  /** Its receivers with what has become of their messages. */
  async receivers(id: string): Promise<Schemas['ReceiverTotalsList']> {
    return await this.rest.get(`${this.path}/${id}/receivers`);
  }

  /** Sends a message with example values to a receiver at once. */
  async test(id: string, receiverId: string): Promise<Schemas['ReceiverTestOutcome']> {
    return await this.rest.post(`${this.path}/${id}/receivers/${receiverId}/test`);
  }

  /** Enables a receiver that was disabled, and sends what waits for it. */
  async enable(id: string, receiverId: string): Promise<void> {
    await this.rest.send('POST', `${this.path}/${id}/receivers/${receiverId}/enable`);
  }

  /** Its messages, with the state of each. */
  deliveries(
    id: string,
    keys?: Keys<`list${Of}Deliveries`>,
  ): AsyncGenerator<Item<Answered<`list${Of}Deliveries`>>, void, void> {
    return this.rest.byCursor(`${this.path}/${id}/deliveries`, keys ?? {});
  }

  /** A message with its attempts. */
  async delivery(id: string, messageId: string): Promise<Answered<`get${Of}Delivery`>> {
    return await this.rest.get(`${this.path}/${id}/deliveries/${messageId}`);
  }

  /** Sends a message again. */
  async redeliver(id: string, messageId: string): Promise<Answered<`get${Of}Delivery`>> {
    return await this.rest.post(`${this.path}/${id}/deliveries/${messageId}/redeliver`);
  }

  /** Sends the dead letters of a period again, or what was delivered: how many. `dryRun` only counts them. */
  async redeliverAll(id: string, period: Schemas['PostedRedeliveries']): Promise<number> {
    return await this.inParts(`${id}/redeliveries`, period);
  }

  /** Cancels redeliveries that were not attempted yet. */
  async cancelRedeliveries(id: string): Promise<void> {
    await this.rest.send('DELETE', `${this.path}/${id}/redeliveries`);
  }

  /** Makes the messages of a past period that the subscription lacks: how many. `dryRun` only counts them. */
  async backfill(id: string, period: Schemas['PostedBackfill']): Promise<number> {
    return await this.inParts(`${id}/backfills`, period);
  }

  /** Cancels messages of backfills that were not attempted yet. */
  async cancelBackfills(id: string): Promise<void> {
    await this.rest.send('DELETE', `${this.path}/${id}/backfills`);
  }

  /** Why there were messages about a transaction, claim or voucher, or why not. */
  async explain(id: string, subject: number | string): Promise<Answered<`explain${Of}`>> {
    return await this.rest.get(`${this.path}/${id}/explain/${encodeURIComponent(subject)}`);
  }

  private async inParts(path: string, period: object): Promise<number> {
    let requested = 0;
    for (let part: Partial<Part> | undefined = {}; part !== undefined;) {
      const { cursor } = part;
      const posted = cursor === undefined ? period : { ...period, cursor };
      const answer: Part = await this.rest.post(`${this.path}/${path}`, posted);
      requested += answer.requested;
      part = answer.cursor === undefined ? undefined : answer;
    }
    return requested;
  }
}
