/**
 * Who may use a voucher, as texts to be compared (`docs/decisions.md#v5`, `#v10`): a voucher has one for each audience it
 * is for, a publisher one for each that it belongs to. Connections come and go without a voucher being touched.
 */
export function audienceOf(programId: number, siteIds: readonly number[] = []): readonly string[] {
  if (siteIds.length === 0) return [anySiteOf(programId)];
  return siteIds.map((siteId) => siteOf(programId, siteId));
}

/** What somebody belongs to who has these connections of sites to programs. */
export function audiencesIn(
  connections: Iterable<{ readonly siteId: number; readonly programId: number }>,
): readonly string[] {
  const audiences = new Set<string>();
  for (const { siteId, programId } of connections)
    audiences.add(anySiteOf(programId)).add(siteOf(programId, siteId));
  return [...audiences];
}

function anySiteOf(programId: number): string {
  return String(programId);
}

function siteOf(programId: number, siteId: number): string {
  return `${programId}/${siteId}`;
}
