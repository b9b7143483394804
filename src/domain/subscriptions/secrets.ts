import { createHash, createHmac } from 'node:crypto';

/**
 * The secrets of subscriptions (`docs/decisions.md#n5`). They are derived from the key of the installation, so that
 * none is stored.
 */
export class Secrets {
  constructor(private readonly key: Uint8Array) {}

  /** The bytes of a secret; `number` counts rotations, from 1. */
  bytes(subscriptionId: string, number: number): Buffer {
    return createHmac('sha256', this.key).update(`${subscriptionId} ${number}`).digest();
  }

  /** The secret as receivers know it. */
  text(subscriptionId: string, number: number): string {
    return `whsec_${this.bytes(subscriptionId, number).toString('base64')}`;
  }

  /** A key for something else than subscriptions, which have ids without spaces. */
  derived(purpose: string): Buffer {
    return createHmac('sha256', this.key).update(`for ${purpose}`).digest();
  }

  /** Identifies the key without revealing it. */
  get fingerprint(): string {
    return createHash('sha256').update('affilog notifications ').update(this.key).digest('hex').slice(0, 16);
  }
}
