import { allOf, filtersOn } from '../src/kernel/filters';
import { type Filter } from '../src/kernel/query';
import { type ClaimBatchField } from './claim-batches';
import { type ClaimField } from './claims';

const { between } = filtersOn<ClaimField>();
const ofBatches = filtersOn<ClaimBatchField>();

/** Claims that the system approves at `now` (epoch ms). */
export function approvalsDueBy(now: number): Filter {
  return allOf(between('autoApproveAt', { max: now }));
}

/** Claims that could not be validated. */
export function unscreened(): Filter {
  return allOf(between('unscreened', { min: 0 }));
}

/** Approved claims that have not become transactions yet. */
export function untracked(): Filter {
  return allOf(between('untracked', { min: 0 }));
}

/** How long the request that has accepted a batch may take to file it (ms). */
const TIME_TO_FILE = 5_000;

/** Batches that another request should have filed by `now` (epoch ms). */
export function batchesUnfinishedBy(now: number): Filter {
  return allOf(ofBatches.between('accepted', { max: now - TIME_TO_FILE }));
}
