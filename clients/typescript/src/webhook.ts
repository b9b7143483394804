/** A message whose signature was verified. */
export interface Message {
  /** The same at each attempt: what was processed already can be left out. */
  readonly id: string;
  /** When it was sent, in milliseconds since 1970. */
  readonly timestamp: number;
  /** The body, to the letter. */
  readonly body: string;
}

/** The request is not from the owner of the secret, or is older than it may be. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

type SentHeaders =
  Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };

interface VerifyOptions {
  /** Seconds that the clocks of sender and receiver may differ by; 300 by default. */
  readonly tolerance?: number;
  /** Milliseconds since 1970; by default the present. */
  readonly now?: number;
  /**
   * Path and query of a GET, as they have arrived: then these are verified, by the header `webhook-signature-target`,
   * in place of the body.
   */
  readonly target?: string;
}

const PREFIX = 'whsec_';
const HMAC = { name: 'HMAC', hash: 'SHA-256' };

/**
 * Verifies a message as Standard Webhooks describes: `body` is the one that has arrived, before it is parsed. `secret`: of
 * the subscription (`whsec_…`), or several of which one has signed it. Raises `WebhookError`.
 */
export async function verifyWebhook(
  headers: SentHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  { tolerance = 300, now = Date.now(), target }: VerifyOptions = {},
): Promise<Message> {
  const id = headerOf(headers, 'webhook-id');
  const seconds = headerOf(headers, 'webhook-timestamp');
  const signed = headerOf(headers, target === undefined ? 'webhook-signature' : 'webhook-signature-target');
  if (!/^\d{1,12}$/.test(seconds))
    throw new WebhookError(`webhook-timestamp is ${seconds}: expected seconds since 1970`);
  const timestamp = Number(seconds) * 1000;
  if (Math.abs(timestamp - now) > tolerance * 1000)
    throw new WebhookError(
      `webhook-timestamp is ${seconds}: expected at most ${tolerance} s from the present`,
    );
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  const bytes = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value);
  const content = target ?? (typeof body === 'string' ? body : undefined);
  const head = bytes(`${id}.${seconds}.`);
  const rest = content === undefined ? (body as Uint8Array) : bytes(content);
  const whole = new Uint8Array(head.length + rest.length);
  whole.set(head);
  whole.set(rest, head.length);
  const signatures = signed.split(' ').flatMap((one) => (one.startsWith('v1,') ? [one.slice(3)] : []));
  for (const key of [secret].flat().map(keyIn)) {
    const imported = await crypto.subtle.importKey('raw', key, HMAC, false, ['verify']);
    for (const signature of signatures) {
      const expected = fromBase64(signature);
      if (expected !== undefined && (await crypto.subtle.verify('HMAC', imported, expected, whole)))
        return { id, timestamp, body: text };
    }
  }
  throw new WebhookError('webhook-signature: expected one that the secret has made of this message');
}

function headerOf(headers: SentHeaders, name: string): string {
  const value = isGettable(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw new WebhookError(`${name} is missing`);
  return value;
}

function isGettable(headers: SentHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function keyIn(secret: string): Uint8Array<ArrayBuffer> {
  const key = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : undefined;
  if (key === undefined) throw new TypeError('secret: expected whsec_ and base64');
  return key;
}

/** Undefined for a text that is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
