import { CLAIM_BATCH, type ClaimBatchEvent } from '../src/domain/claims/claim-batch';
import { type ParsedEvent } from '../src/kernel/decider';
import { type FieldType } from '../src/kernel/read-store';
import { type Projection } from '../src/projector/projection';

const FIELDS = {
  /** Epoch ms. */
  accepted: 'number',
} as const satisfies Readonly<Record<string, FieldType>>;

export type ClaimBatchField = keyof typeof FIELDS;

type BatchChange = Extract<ClaimBatchEvent, { readonly type: 'ClaimBatchAccepted' | 'ClaimBatchFinished' }>;

/** The posts of several claims that are accepted and not filed yet (`docs/decisions.md#c3`). */
export const claimBatches: Projection<{ readonly accepted: number }, BatchChange> = {
  collection: { name: 'claim-batches', version: 1, fields: FIELDS, sorts: ['accepted'] },
  streams: [`${CLAIM_BATCH}-`],
  handles: ['ClaimBatchAccepted', 'ClaimBatchFinished'],
  replaces: ['ClaimBatchAccepted', 'ClaimBatchFinished'],
  idOf: ({ stream }: ParsedEvent<BatchChange>) => stream.slice(CLAIM_BATCH.length + 1),
  fold: (_, { type, data }) =>
    type === 'ClaimBatchAccepted' ? { accepted: Date.parse(data.at) } : undefined,
  describe: (document) => ({ document, fields: { accepted: document.accepted } }),
};
