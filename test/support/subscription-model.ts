import { createHash } from 'node:crypto';

/**
 * What subscriptions there are, by the documents alone: a reference for random histories (Document 2, Subscriptions).
 */

/** An organisation's token, perhaps for one site. */
export interface ModelSubscriber {
  readonly organisationId: number;
  readonly siteId?: number;
}

type Content = Readonly<Record<string, unknown>>;

interface ModelSubscription extends ModelSubscriber {
  readonly id: string;
  /** Its receivers have their ids. */
  content: Content;
  isDeleted: boolean;
}

/** The status of an answer, with its copy. */
export interface ModelAnswer {
  readonly status: number;
  readonly copy?: Content;
}

const MOST = 100;

export class SubscriptionModel {
  /** In the order of creation. */
  private readonly all: ModelSubscription[] = [];

  /** What the answer to a post is; `id`: that of the real one, if it was taken. */
  create(by: ModelSubscriber, content: Content | undefined, id: string): ModelAnswer {
    const own = this.all.filter((one) => !one.isDeleted && one.organisationId === by.organisationId);
    if (content === undefined || own.length === MOST) return { status: 400 };
    const created = { ...by, id, content: withIds(id, content, []), isDeleted: false };
    this.all.push(created);
    return { status: 201, copy: copyOf(created) };
  }

  replace(by: ModelSubscriber, id: string, content: Content | undefined): ModelAnswer {
    return this.withOwn(by, id, (one) => {
      if (content === undefined) return { status: 400 };
      one.content = withIds(id, content, receiversIn(one.content));
      return { status: 200, copy: copyOf(one) };
    });
  }

  delete(by: ModelSubscriber, id: string): ModelAnswer {
    return this.withOwn(by, id, (one) => {
      one.isDeleted = true;
      return { status: 200 };
    });
  }

  get(by: ModelSubscriber, id: string): ModelAnswer {
    return this.withOwn(by, id, (one) => ({ status: 200, copy: copyOf(one) }));
  }

  list(by: ModelSubscriber): readonly Content[] {
    return this.all.filter((one) => !one.isDeleted && isOf(one, by)).map(copyOf);
  }

  /** Ids of all that ever were. */
  get ids(): readonly string[] {
    return this.all.map(({ id }) => id);
  }

  get count(): number {
    return this.all.filter(({ isDeleted }) => !isDeleted).length;
  }

  private withOwn(
    by: ModelSubscriber,
    id: string,
    then: (own: ModelSubscription) => ModelAnswer,
  ): ModelAnswer {
    const found = this.all.find((one) => one.id === id);
    if (found === undefined || found.isDeleted) return { status: 404 };
    return isOf(found, by) ? then(found) : { status: 403 };
  }
}

function isOf(one: ModelSubscription, by: ModelSubscriber): boolean {
  return one.organisationId === by.organisationId && (by.siteId === undefined || one.siteId === by.siteId);
}

function copyOf({ id, content, siteId }: ModelSubscription): Content {
  return { subscriptionId: id, ...content, ...(siteId === undefined ? {} : { siteId }) };
}

interface ModelReceiver {
  readonly receiverId: string;
  readonly text: string;
}

/** Each receiver with its id, and what it is. */
function receiversIn(content: Content): readonly ModelReceiver[] {
  const receivers = content['receivers'] as readonly Content[];
  return receivers.map((receiver) => ({
    receiverId: receiver['receiverId'] as string,
    text: textOf(receiver),
  }));
}

function textOf({ httpMethod, receiverUrl, receiverFormat, receiverBody }: Content): string {
  return JSON.stringify([httpMethod, receiverUrl, receiverFormat, receiverBody]);
}

/**
 * Decisions N8: equal ones are continued, else the only one that is left over on both sides; others are new. None is
 * named.
 */
function withIds(id: string, content: Content, before: readonly ModelReceiver[]): Content {
  const receivers = content['receivers'] as readonly Content[];
  const texts = [...new Set(receivers.map(textOf))];
  const equal = (text: string) => before.find((one) => one.text === text)?.receiverId;
  const ids = [...new Set(before.map(({ receiverId }) => receiverId))];
  const left = ids.filter((one) => !texts.some((text) => equal(text) === one));
  const changed = texts.filter((text) => equal(text) === undefined);
  const isContinued = left.length === 1 && changed.length === 1;
  const found = new Map<string, string>();
  for (const text of texts) {
    const own = equal(text) ?? (isContinued ? left[0] : undefined);
    if (own !== undefined) found.set(text, own);
  }
  for (const text of changed) {
    const receiver = receivers.find((one) => textOf(one) === text)!;
    if (!found.has(text)) found.set(text, newId(id, receiver, [...ids, ...found.values()]));
  }
  const named = receivers.map((receiver) => ({ ...receiver, receiverId: found.get(textOf(receiver)) }));
  return { ...content, receivers: named };
}

function newId(
  id: string,
  { httpMethod, receiverUrl, receiverFormat, receiverBody }: Content,
  taken: readonly string[],
): string {
  const more = httpMethod === 'POST' ? [receiverFormat, receiverBody] : [];
  const own = hashed(JSON.stringify([id, httpMethod, receiverUrl, ...more]));
  let found = own;
  for (let n = 1; taken.includes(found); n += 1) found = hashed(`${own} ${n}`);
  return found;
}

/** Decisions N15: 80 bits of SHA-256 in base 32 with the digits of hexadecimal, and those after them. */
function hashed(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 10);
  const number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return number.toString(32).padStart(16, '0');
}
