import { version } from '../../../package.json';
import { type Attempt } from './attempt';
import { signatureOf } from './signature';

const USER_AGENT = `Affilog/${version}`;

/** The headers of a request (`docs/decisions.md#n5`), names and values in turn. `at`: epoch ms. `target`: path and query. */
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
