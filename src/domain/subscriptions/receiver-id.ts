import { createHash } from 'node:crypto';

export type ReceiverFormat = 'JSON' | 'XML' | 'custom';

/** Where messages are sent, and how they are built: `${name}` stands for an attribute. */
export type Receiver = {
  /** Its id, if that is not the one of its content: it continues a receiver that was different (`continuedReceivers`). */
  readonly id?: string;
  readonly receiverUrl: string;
  readonly disabled?: true;
} & (
  | { readonly httpMethod: 'GET' }
  | { readonly httpMethod: 'POST'; readonly receiverBody: string; readonly receiverFormat: ReceiverFormat }
);

/** The id of a receiver, 16 characters. A PUT that changes the receiver may continue it under its id (`continuedReceivers`). */
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

/** An id for a receiver that cannot have its own, since another one has it; `n` tells several apart. */
export function salted(id: string, n: number): string {
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

/**
 * `event`: the id of the event that the message is about. The same message has the same id for ever (`docs/decisions.md#n15`).
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
