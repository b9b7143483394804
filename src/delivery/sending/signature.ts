import { createHmac, timingSafeEqual } from 'node:crypto';
import { version } from '../../../package.json';
import { type Attempt } from './attempt';

const USER_AGENT = `Affilog/${version}`;

/**
 * The headers of a request (`docs/decisions.md#n5`), names and values in turn. `at`: epoch ms. `target`: path and
 * query.
 */
export function headersOf(attempt: Attempt, target: string, body: Uint8Array, at: number): string[] {
  const { id, secrets, request, number, sequence, isManual, isTest } = attempt;
  const signed = { id, timestamp: Math.floor(at / 1000) };
  const headers = [
    'user-agent',
    USER_AGENT,
    'webhook-id',
    id,
    'webhook-timestamp',
    String(signed.timestamp),
    'webhook-signature',
    signatureOf(secrets, signed, body),
    'webhook-attempt',
    String(number),
    'webhook-sequence',
    String(sequence),
  ];
  if (request.method === 'GET')
    headers.push('webhook-signature-target', signatureOf(secrets, signed, target));
  if (request.contentType !== undefined) headers.push('content-type', request.contentType);
  if (isManual === true) headers.push('webhook-redelivery', 'manual');
  if (isTest === true) headers.push('webhook-test', 'true');
  return headers;
}

/** A message is valid for this long before and after its timestamp (s), as Standard Webhooks recommends. */
const TOLERANCE = 5 * 60;

/** What a signature covers besides the content. */
interface Signed {
  readonly id: string;
  /** `webhook-timestamp`: seconds since 1970. */
  readonly timestamp: number;
}

/**
 * The value of `webhook-signature`, of Standard Webhooks 1.0 (`docs/decisions.md#n5`): one signature per secret,
 * separated by a space. `content` is the body; `webhook-signature-target` has the request target instead.
 */
export function signatureOf(
  secrets: readonly Uint8Array[],
  signed: Signed,
  content: string | Uint8Array,
): string {
  return secrets.map((secret) => `v1,${hmac(secret, signed, content).toString('base64')}`).join(' ');
}

/** Why a signature does not prove that the message is genuine; undefined: it does. `now`: epoch ms. */
export function problemOfSignature(
  secret: Uint8Array,
  { id, timestamp, signature }: Readonly<Record<'id' | 'timestamp' | 'signature', string | undefined>>,
  content: string | Uint8Array,
  now: number,
): string | undefined {
  if (id === undefined || timestamp === undefined || signature === undefined)
    return 'webhook-id, webhook-timestamp or the signature is missing';
  if (!/^\d{1,12}$/.test(timestamp)) return `webhook-timestamp: expected seconds since 1970`;
  const age = Math.round(now / 1000) - Number(timestamp);
  if (Math.abs(age) > TOLERANCE)
    return (
      `webhook-timestamp is ${Math.abs(age)} s in the ${age > 0 ? 'past' : 'future'}, at most ${TOLERANCE} s ` +
      'are accepted'
    );
  const expected = hmac(secret, { id, timestamp: Number(timestamp) }, content);
  const isGenuine = signature.split(' ').some((one) => {
    const given = one.startsWith('v1,') ? Buffer.from(one.slice(3), 'base64') : undefined;
    return given?.length === expected.length && timingSafeEqual(given, expected);
  });
  return isGenuine ? undefined : 'the signature does not match: another secret, or the body has been changed';
}

function hmac(secret: Uint8Array, { id, timestamp }: Signed, content: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(content).digest();
}
