import { createHash } from 'node:crypto';
import { without } from '../../kernel/values';

export type ReceiverFormat = 'JSON' | 'XML' | 'custom';

/** Where messages are sent, and how they are built: `${name}` stands for an attribute. */
export type Receiver = {
  /**
   * Its id, if that is not the one of its content: it continues a receiver that was different (`continuedReceivers`).
   */
  readonly id?: string;
  readonly receiverUrl: string;
  readonly disabled?: true;
} & (
  | { readonly httpMethod: 'GET' }
  | { readonly httpMethod: 'POST'; readonly receiverBody: string; readonly receiverFormat: ReceiverFormat }
);

/**
 * The id of a receiver, 16 characters. A PUT that changes the receiver may continue it under its id
 * (`continuedReceivers`).
 */
export function receiverIdOf(subscriptionId: string, receiver: Receiver): string {
  return receiver.id ?? contentIdOf(subscriptionId, receiver);
}

/** The id of a receiver when it is made: a hash of its method, URL, format and body, so equal ones have the same. */
export function contentIdOf(subscriptionId: string, receiver: Receiver): string {
  const { httpMethod, receiverUrl } = receiver;
  const body = receiver.httpMethod === 'POST' ? [receiver.receiverFormat, receiver.receiverBody] : [];
  const parts = JSON.stringify([subscriptionId, httpMethod, receiverUrl, ...body]);
  return base32(createHash('sha256').update(parts).digest().subarray(0, 10));
}

/** An id for a receiver that cannot have its own, since another one has it; `n` distinguishes several. */
function salted(id: string, n: number): string {
  return base32(createHash('sha256').update(`${id} ${n}`).digest().subarray(0, 10));
}

/** The receivers of a subscription by their ids; of equal ones there is one, enabled if one of them is. */
export function receiversOf(
  id: string,
  { receivers }: { readonly receivers: readonly Receiver[] },
): ReadonlyMap<string, Receiver> {
  const found = new Map<string, Receiver>();
  for (const receiver of receivers) {
    const receiverId = receiverIdOf(id, receiver);
    if (found.get(receiverId)?.disabled !== undefined || !found.has(receiverId))
      found.set(receiverId, receiver);
  }
  return found;
}

/** Scheme and host of an address: the rest may have secrets of the receiver. */
export function originOf(receiverUrl: string): string {
  return receiverUrl.replace(/^(\w+:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/s, '$1$2');
}

/**
 * `event`: the id of the event that the message is about. The same message has the same id for ever
 * (`docs/decisions.md#n15`).
 */
export function messageIdOf(event: string, receiverId: string): string {
  return `msg_${base32(createHash('sha256').update(`${event} ${receiverId}`).digest().subarray(0, 20))}`;
}

/** Receivers are spread over partitions, which several processes share. */
export const PARTITIONS = 64;

export function partitionOf(receiverId: string): number {
  return Number.parseInt(receiverId.slice(0, 4), 32) % PARTITIONS;
}

/** Base 32 with extended hex digits, as `parseInt` reads it. The number of bytes is a multiple of 5. */
function base32(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 5) {
    const five = [...bytes.subarray(at, at + 5)].reduce((number, byte) => number * 256 + byte, 0);
    text += five.toString(32).padStart(8, '0');
  }
  return text;
}

/**
 * Which receivers a PUT continues (`docs/decisions.md#n8`): those that it names by their ids; of the others, those that
 * are equal in method, URL, format and body; of the rest the only one, if one is left on both sides. So what waits for
 * a receiver is sent after its URL or body has changed. Returns what was posted, each with the id of the receiver that
 * it continues, where that is not its own. The `id` of one that was posted is the one that it names.
 */
export function continuedReceivers(
  subscriptionId: string,
  before: readonly Receiver[],
  posted: readonly Receiver[],
): readonly Receiver[] {
  const known = receiversOf(subscriptionId, { receivers: before });
  const contentOf = (receiver: Receiver): string => contentIdOf(subscriptionId, receiver);
  /** Ids by content: equal receivers are one. */
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const give = (content: string, id: string): void => {
    ids.set(content, id);
    taken.add(id);
  };
  for (const receiver of posted) {
    const { id } = receiver;
    if (id !== undefined && known.has(id) && !taken.has(id) && !ids.has(contentOf(receiver)))
      give(contentOf(receiver), id);
  }
  const others = posted.filter((receiver) => !ids.has(contentOf(receiver)));
  for (const content of new Set(others.map(contentOf))) {
    const equal = [...known].find(([id, one]) => !taken.has(id) && contentOf(one) === content);
    if (equal !== undefined) give(content, equal[0]);
  }
  const changed = new Set(others.filter(({ id }) => id === undefined).map(contentOf));
  const [content, ...more] = [...changed].filter((one) => !ids.has(one));
  const [left, ...rest] = [...known.keys()].filter((id) => !taken.has(id));
  if (content !== undefined && left !== undefined && more.length + rest.length === 0) give(content, left);
  for (const receiver of others) {
    const own = contentOf(receiver);
    if (ids.has(own)) continue;
    // The id that it would have may be that of a receiver that had its content before.
    let fresh = own;
    for (let n = 1; known.has(fresh) || taken.has(fresh); n += 1) fresh = salted(own, n);
    give(own, fresh);
  }
  return posted.map((one) => {
    const [receiver, own] = [without(one, 'id'), contentOf(one)];
    const id = ids.get(own);
    return id === undefined || id === own ? receiver : { ...receiver, id };
  });
}

/** The ids of receivers that are others than before: whatever has made them rest may be mended. */
export function changedReceivers(
  subscriptionId: string,
  before: readonly Receiver[],
  after: readonly Receiver[],
): readonly string[] {
  const known = receiversOf(subscriptionId, { receivers: before });
  const contentOf = (receiver: Receiver): string => contentIdOf(subscriptionId, receiver);
  const changed = [...receiversOf(subscriptionId, { receivers: after })].filter(([id, receiver]) => {
    const old = known.get(id);
    return old !== undefined && contentOf(old) !== contentOf(receiver);
  });
  return changed.map(([id]) => id);
}
