import { type VoucherContent, type VoucherCurrency } from './voucher';

/** A document of the read model; directory data is joined when answering. Times in epoch ms. */
export interface StoredVoucher {
  readonly programId: number;
  readonly sourceId: string;
  readonly created: number;
  readonly updated: number;
  readonly voucher: VoucherContent;
  readonly currency: VoucherCurrency;
}

export interface ListedVoucher extends StoredVoucher {
  readonly id: number;
}

/**
 * Who may use a voucher, as texts to compare (`docs/decisions.md#v5`, `#v10`): a voucher has one for each audience, a
 * publisher one for each audience that it belongs to. So a change of connections writes no voucher.
 */
export function audienceOf(programId: number, siteIds: readonly number[] = []): readonly string[] {
  if (siteIds.length === 0) return [anySiteOf(programId)];
  return siteIds.map((siteId) => siteOf(programId, siteId));
}

/** The audiences that these connections of sites to programs belong to. */
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
