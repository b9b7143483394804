/** Whether a client accepts gzip (RFC 9110, Accept-Encoding). */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const codings = new Map(
    (acceptEncoding ?? '').split(',').map((part) => {
      const [coding = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
      return [coding, Number(weight) > 0];
    }),
  );
  return codings.get('gzip') ?? codings.get('x-gzip') ?? codings.get('*') ?? false;
}

/** Whether the client already has this version, by its If-None-Match (RFC 9110: weak comparison). */
export function hasVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag);
}
