import { type FastifyRequest } from 'fastify';

const BEARER = /^bearer(?: +(.*))?$/i;

/**
 * The tokens that a request sends as `?token=` and as `Authorization: Bearer`, not validated; the same one in both places
 * is listed once (`docs/decisions.md#a13`).
 */
export function sentTokens({
  target,
  raw: { rawHeaders },
}: Pick<FastifyRequest, 'target' | 'raw'>): readonly string[] {
  const queried = target.query.filter(({ name }) => name === 'token').map(({ value }) => value ?? '');
  // `headers` has only the first of several Authorization headers.
  const headers = rawHeaders.filter(
    (_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'authorization',
  );
  const bearers = headers.flatMap((value) => BEARER.exec(value.trim())?.[1] ?? []);
  const others = new Set(bearers.map((token) => token.toLowerCase()));
  for (const token of queried) others.delete(token.toLowerCase());
  return [...queried, ...others];
}
