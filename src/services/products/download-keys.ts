import { BOOLEAN, INTEGER, type Keys, type KeyTable, oneOf } from '../../wire/keys/keys';
import { atLeast } from '../../wire/keys/pages';
import { csvKeys } from './csv-keys';
import { SINCE } from './download/since';
import { productFaults as fault } from './faults';
import { DATE_FORMAT } from './search-keys';

/** Document 1, Bulk download of a feed; beyond it `docs/decisions.md#p10`, `#p16`, `#p17`, `#p28`. */
export const downloadKeys = {
  fid: { type: INTEGER, required: true, description: 'Feed to download' },
  sourceproducturl: {
    type: BOOLEAN,
    description: 'Adds the advertiser’s URL without tracking, for publishers',
  },
  page: { type: INTEGER, description: 'Page of the feed, from 1' },
  pageSize: { type: INTEGER, description: 'Products on a page, 100 if not given' },
  priceHistory: { type: BOOLEAN, description: 'Adds all earlier prices' },
  dateOutputFormat: { type: DATE_FORMAT, description: 'Dates as ISO 8601 instead of milliseconds' },
  compress: { type: oneOf('gz'), description: 'Compresses the answer even without Accept-Encoding' },
  since: {
    type: SINCE,
    description: 'Only what has changed since: a date, or the X-Next-Since of the last answer',
  },
  ...csvKeys,
} as const satisfies KeyTable;

export type DownloadKeys = Keys<typeof downloadKeys>;

/** Products on a page whose size is not given. */
const PAGE_SIZE = 100;

/**
 * The page asked for, from 1, and how many products it has (`docs/decisions.md#p17`, `#x50`); undefined for the
 * whole feed. Raises PF_430.
 */
export function pageOf({ page, pageSize, since }: DownloadKeys): { page: number; size: number } | undefined {
  for (const [name, value] of Object.entries({ page, pageSize })) {
    if (value === undefined) continue;
    const hint = name === 'page' ? ', pages start at 1' : '';
    atLeast(1, name, value, (message) => fault.illegalValue(`${message}${hint}`));
    if (since !== undefined) throw fault.illegalValue(`${name}=${value}: cannot be combined with since`);
  }
  if (page === undefined && pageSize === undefined) return undefined;
  return { page: page ?? 1, size: pageSize ?? PAGE_SIZE };
}
