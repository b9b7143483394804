import { REPLAYED } from './idempotency';
import { REQUEST_ID } from './request-state';

/** Response headers that scripts of other origins may read (Document 1, Conventions 7). */
const EXPOSED = [
  REPLAYED,
  'X-As-Of',
  'X-Dry-Run',
  'X-Has-More',
  'X-Ignored-Fields',
  'X-Ignored-Keys',
  'X-Load-Counts',
  'X-Load-Id',
  'X-Log-Position',
  'X-Next-Cursor',
  'X-Next-Since',
  'X-Page-Size',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Removed',
  REQUEST_ID,
  'X-Since-Reset',
  'X-Total-Count',
  'Retry-After',
  'ETag',
];

export const CORS = {
  origin: '*',
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
  exposedHeaders: EXPOSED,
  maxAge: 86_400,
  strictPreflight: false,
};

/** The same as header lines, for answers that Fastify does not write. */
export const CORS_HEADERS: readonly string[] = [
  `Access-Control-Allow-Origin: ${CORS.origin}`,
  `Access-Control-Expose-Headers: ${EXPOSED.join(', ')}`,
];
