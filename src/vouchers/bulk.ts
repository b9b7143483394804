import { Fault, Faults } from '../kernel/fault';
import { type VoucherPost, type Written } from './vouchers';

/** What became of one posted voucher: its id, or why it was refused. */
export type BulkResult = { readonly id: number } | { readonly faults: readonly Fault[] };

export interface BulkOptions {
  /** Checks one; raises its faults. */
  readonly check: (posted: unknown) => VoucherPost;
  readonly post: (post: VoucherPost) => Promise<Written>;
}

/** Vouchers written at a time: enough for the log to share its commits. */
const AT_ONCE = 32;

/**
 * Posts each of several vouchers by itself, gives a result for each in their order, and what has been written
 * (`docs/decisions.md#v17`). Of those with one `sourceId` in one program only the last usable one is written.
 */
export async function postAll(
  posted: readonly unknown[],
  { check, post }: BulkOptions,
): Promise<{ readonly results: readonly BulkResult[]; readonly written: readonly Written[] }> {
  const checked = posted.map((one) => judged(() => check(one)));
  const wanted = new Map<string | number, VoucherPost>();
  checked.forEach((one, at) => {
    if (!('faults' in one)) wanted.set(keyOf(one, at), one);
  });
  const written = new Map<string | number, Written>();
  const left = wanted.entries();
  const writeOn = async (): Promise<void> => {
    for (const [key, one] of left) written.set(key, await post(one));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, writeOn));
  const results = checked.map((one, at): BulkResult => {
    if ('faults' in one) return one;
    return { id: written.get(keyOf(one, at))?.id ?? NaN };
  });
  return { results, written: [...written.values()] };
}

function judged(check: () => VoucherPost): VoucherPost | { readonly faults: readonly Fault[] } {
  try {
    return check();
  } catch (error) {
    if (error instanceof Faults) return { faults: error.faults };
    if (error instanceof Fault) return { faults: [error] };
    throw error;
  }
}

/** Without a `sourceId` each is one of its own. */
function keyOf({ programId, sourceId }: VoucherPost, at: number): string | number {
  return sourceId === undefined ? at : `${programId}:${sourceId}`;
}
